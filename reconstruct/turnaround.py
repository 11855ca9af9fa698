"""Micro-batches of a pipeline without anything beside it: messages that go alone tell where an iteration ends.

Two neighbouring stages send one forward and one backward at a time: from the second micro-batch on, activations leave
one stage when the gradients of the batch before leave the other. While the pipeline fills and drains they go alone.
Two replicas that exchange gradients never do, whatever pauses they make.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.streams import Bool, Int, Streams
from reconstruct.crossing import crossed
from reconstruct.cycles import Lattices, members

# A stream whose cycle is a single message; a part that is made of such pairs.
SINGLE_SHARE = 0.9
MOST_BYTES = 0.5
# Messages that begin within this share of a cycle of one another go together.
TOGETHER_SHARE = 0.25
# Lone messages come back after equally many in this share of the cases, of so many at least.
REGULAR_SHARE, FEWEST_TURNS = 0.8, 4


def micro_batches(streams: Streams, part: Lattices) -> int:
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
    begins = [
        _begins(int(own.lattices.start_ns[n]), met.begin_ns[met.offsets[n] : met.offsets[n + 1]])
        for n in range(len(some))
    ]
    cycle_ns = float(np.median(part.cycle_ns))
    found = [_turns(begins[a], begins[b], cycle_ns) for a, b in np.searchsorted(some, pairs).tolist()]
    times, votes = np.unique(found, return_counts=True)
    return int(times[votes.argmax()]) if 2 * votes.max() > len(found) else 1


def _exchanging(streams: Streams, part: Lattices) -> Int:
    """(n, 2) places in the part of streams of single messages that run against one another, one pair of ends once."""
    single = np.flatnonzero(part.unit_bytes > SINGLE_SHARE * part.beat_bytes)
    src, dst = streams.src[part.stream[single]], streams.dst[part.stream[single]]
    width = len(streams.addresses)
    there, back = src * width + dst, dst * width + src
    first, at = np.unique(there, return_index=True)
    place = np.minimum(np.searchsorted(first, back), max(len(first) - 1, 0))
    forth = np.flatnonzero((first[place] == back) & (src < dst)) if len(first) else np.zeros(0, np.int64)
    return np.stack([single[forth], single[at[place[forth]]]], axis=1)


def _begins(start_ns: int, behind_ns: Int) -> Int:
    """When each message of a stream begins."""
    return np.concatenate([[start_ns], behind_ns[behind_ns > 0]])


def _turns(a: Int, b: Int, cycle_ns: float) -> int:
    """After how many messages one goes alone again, in both directions alike; 1 where they do not, or not regularly."""
    turns = {_regular(_alone(a, b, cycle_ns)), _regular(_alone(b, a, cycle_ns))}
    return turns.pop() if len(turns) == 1 else 1


def _alone(one: Int, other: Int, cycle_ns: float) -> Bool:
    """(messages,) whether no message of the other direction begins with it."""
    after = np.clip(np.searchsorted(other, one), 1, len(other) - 1) if len(other) > 1 else np.zeros(len(one), np.int64)
    nearest = np.minimum(np.abs(other[after] - one), np.abs(other[after - 1] - one))
    return np.asarray(nearest > TOGETHER_SHARE * cycle_ns)


def _regular(alone: Sequence[bool] | Bool) -> int:
    """The distance at which runs of lone messages begin; 1 where it is not one, or there are too few."""
    begins = np.flatnonzero(np.diff(np.asarray(alone, np.int64), prepend=0) > 0)
    if len(begins) < FEWEST_TURNS or np.mean(alone) > 0.5:
        return 1
    apart = np.diff(begins)
    usual = int(np.median(apart))
    return usual if np.mean(apart == usual) >= REGULAR_SHARE else 1
