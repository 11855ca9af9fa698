"""Queue pairs of one connection that carry its messages by turns (NCCL_IB_QPS_PER_CONNECTION) -> one connection."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.jit import compiled

# Messages that keep the order of turns: a lost or late record breaks it once in a while.
IN_TURN_SHARE = 0.9
# Median messages of two queue pairs of one connection differ by no more than this.
SAME_SIZE = 0.05


@compiled
def merge_round_robin(ends: Int, name: Int, offsets: Int, start_ns: Int, volume: Int) -> Int:
    """(n,) the first queue pair of the connection that each one belongs to; itself where it stands alone.

    Queue pairs of one connection carry as many messages, but for one or 2 %, of the same median size, by turns.

    Args:
        ends: (n,) source and destination of each queue pair's stream, equal ones side by side.
        name: (n,) queue pair number; below 0 where there is none, and nothing takes turns.
        offsets: (n + 1,) row bounds.
        start_ns: (rows,) ascending in each stream.
        volume: (rows,) bytes.
    """
    first = np.arange(len(ends))
    low = 0
    while low < len(ends):
        high = low + 1
        while high < len(ends) and ends[high] == ends[low]:
            high += 1
        if high - low > 1:
            _by_size(low, high, name, offsets, start_ns, volume, first)
        low = high
    return first


@compiled
def _by_size(low: int, high: int, name: Int, offsets: Int, start_ns: Int, volume: Int, first: Int) -> None:
    """Look at the queue pairs `low` to `high` of one address pair in sets of like count and size."""
    own = np.arange(low, high)
    own = own[name[low:high] >= 0]
    count = offsets[own + 1] - offsets[own]
    size = np.empty(len(own))
    for k in range(len(own)):
        size[k] = np.median(volume[offsets[own[k]] : offsets[own[k] + 1]])
    turn = np.argsort(count, kind="mergesort")
    turn = turn[np.argsort(size[turn], kind="mergesort")]
    slack = 1 + (np.max(count) // 50 if len(own) else 0)
    begin = 0
    for k in range(1, len(own) + 1):
        a, b = turn[k - 1], turn[min(k, len(own) - 1)]
        if k == len(own) or size[b] - size[a] > SAME_SIZE * size[a] or abs(count[b] - count[a]) > slack:
            alike = np.sort(own[turn[begin:k]])
            if len(alike) > 1 and _by_turns(alike, name, offsets, start_ns):
                first[alike] = alike[0]
            begin = k


@compiled
def _by_turns(alike: Int, name: Int, offsets: Int, start_ns: Int) -> bool:
    """Whether each message goes to the queue pair that carried the one before all others' turns, and no sooner."""
    turns, rows = len(alike), 0
    for stream in alike:
        rows += offsets[stream + 1] - offsets[stream]
    if rows < 3 * turns:
        return False
    start, pair = np.empty(rows, np.int64), np.empty(rows, np.int64)
    at = 0
    for stream in alike[np.argsort(name[alike], kind="mergesort")]:
        count = offsets[stream + 1] - offsets[stream]
        start[at : at + count] = start_ns[offsets[stream] : offsets[stream + 1]]
        pair[at : at + count] = stream
        at += count
    pair = pair[np.argsort(start, kind="mergesort")]
    in_turn, twice = np.sum(pair[turns:] == pair[:-turns]), np.sum(pair[1:] == pair[:-1])
    return bool(in_turn >= IN_TURN_SHARE * (rows - turns) and twice <= (1 - IN_TURN_SHARE) * (rows - 1))
