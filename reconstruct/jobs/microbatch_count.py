"""Micro-batches of a pipeline without anything beside it: messages that go alone tell where an iteration ends.

Two neighbouring stages send one forward and one backward at a time: from the second micro-batch on, activations leave
one stage when the gradients of the batch before leave the other. While the pipeline fills and drains they go alone.
Two replicas that exchange gradients never do, whatever pauses they make.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jit import compiled
from reconstruct.jobs.common_window import within
from reconstruct.periods.boundary_times import crossed
from reconstruct.periods.cycles import CycleTable, members

# A stream whose cycle is a single message; a part that is made of such pairs.
SINGLE_SHARE = 0.9
MOST_BYTES = 0.5
# Messages that begin within this share of a cycle of one another go together.
TOGETHER_SHARE = 0.25
# Lone messages come back after equally many in this share of the cases, of so many at least.
REGULAR_SHARE, FEWEST_TURNS = 0.8, 4


def count_microbatches(streams: Streams, part: CycleTable) -> int:
    """How many cycles of its streams make an iteration of a part; 1 where nothing tells that there are several.

    Args:
        streams: data rows by connection.
        part: streams whose cycles are of one length.
    """
    pairs = _exchanging(streams, part)
    if not len(pairs) or part.total_bytes[np.unique(pairs)].sum() < MOST_BYTES * part.total_bytes.sum():
        return 1
    some = np.unique(pairs)
    own = members(streams, part.take(some))
    met = crossed(streams, own, np.arange(len(some)), own.lattices.main)
    reach_ns = TOGETHER_SHARE * float(np.median(part.cycle_ns))
    seen = part.stream[some]
    watch_ns = np.stack([streams.watch_start_ns[seen], streams.watch_end_ns[seen]], axis=1)
    found = _turns_each(
        np.searchsorted(some, pairs), own.lattices.start_ns, met.offsets, met.begin_ns, watch_ns, reach_ns
    )
    times, votes = np.unique(found, return_counts=True)
    return int(times[votes.argmax()]) if 2 * votes.max() > len(found) else 1


def _exchanging(streams: Streams, part: CycleTable) -> Int:
    """(n, 2) places in the part of streams of single messages that run against one another, one pair of ends once."""
    single = np.flatnonzero(part.unit_bytes > SINGLE_SHARE * part.beat_bytes)
    src, dst = streams.src[part.stream[single]], streams.dst[part.stream[single]]
    width = len(streams.addresses)
    there, back = src * width + dst, dst * width + src
    first, at = np.unique(there, return_index=True)
    place = np.minimum(np.searchsorted(first, back), max(len(first) - 1, 0))
    forth = np.flatnonzero((first[place] == back) & (src < dst)) if len(first) else np.zeros(0, np.int64)
    return np.stack([single[forth], single[at[place[forth]]]], axis=1)


@compiled
def _turns_each(pairs: Int, start_ns: Int, offsets: Int, behind_ns: Int, watch_ns: Int, reach_ns: float) -> Int:
    """(n,) after how many messages one goes alone again, in both directions alike and regularly; 1 where none does so.

    Messages that were sent while the other direction could not be seen are left out: they only seem to go alone.

    Args:
        pairs: (n, 2) streams that run against one another.
        start_ns: (streams,) first byte of each.
        offsets: (streams + 1,) bounds of each stream's entries in the next.
        behind_ns: first byte behind each message; 0 behind the last.
        watch_ns: (streams, 2) from when until when each could be seen.
        reach_ns: messages that begin so near to one another go together.
    """
    found = np.ones(len(pairs), np.int64)
    for n in range(len(pairs)):
        a, b = pairs[n]
        since, until = max(watch_ns[a, 0], watch_ns[b, 0]), min(watch_ns[a, 1], watch_ns[b, 1])
        forth = within(_begins(start_ns[a], behind_ns[offsets[a] : offsets[a + 1]]), since, until)
        back = within(_begins(start_ns[b], behind_ns[offsets[b] : offsets[b + 1]]), since, until)
        if min(len(forth), len(back)) < FEWEST_TURNS:
            continue
        turns = _regular(_alone(forth, back, reach_ns))
        if turns == _regular(_alone(back, forth, reach_ns)):
            found[n] = turns
    return found


@compiled
def _begins(start_ns: int, behind_ns: Int) -> Int:
    """When each message of a stream begins."""
    begins = np.empty(len(behind_ns) + 1, np.int64)
    begins[0], n = start_ns, 1
    for begin_ns in behind_ns:
        if begin_ns > 0:
            begins[n] = begin_ns
            n += 1
    return begins[:n]


@compiled
def _alone(one: Int, other: Int, reach_ns: float) -> Bool:
    """(messages,) whether no message of the other direction begins with it."""
    alone = np.empty(len(one), np.bool_)
    after = 0
    for k in range(len(one)):
        while after < len(other) and other[after] < one[k]:
            after += 1
        nearest = abs(other[max(after - 1, 0)] - one[k])
        if after < len(other):
            nearest = min(nearest, other[after] - one[k])
        alone[k] = nearest > reach_ns
    return alone


@compiled
def _regular(alone: Bool) -> int:
    """The distance at which runs of lone messages begin; 1 where it is not one, or there are too few."""
    begins = np.empty(len(alone), np.int64)
    n = 0
    for k in range(len(alone)):
        if alone[k] and (k == 0 or not alone[k - 1]):
            begins[n] = k
            n += 1
    if n < FEWEST_TURNS or np.sum(alone) / len(alone) > 0.5:
        return 1
    apart = np.diff(begins[:n])
    usual = int(np.median(apart))
    return usual if np.sum(apart == usual) / len(apart) >= REGULAR_SHARE else 1
