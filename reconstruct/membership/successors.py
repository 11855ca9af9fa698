"""Connections that do on what others did which ended: cut by the bytes that these repeated, before they repeat any.

Three iterations show no rhythm of their own. But a rank that takes a place does the work of the one that had it, and
one that is restarted its own: between the same endpoints the same bytes come back, and elsewhere those of a connection
that ended. Where the number of replicas changes, a ring's bytes change by a known factor (`resized_jobs`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import to_contiguous
from reconstruct.jobs.common_window import cycles_within
from reconstruct.membership.connection_lives import ReplacedStreams
from reconstruct.membership.resized_jobs import resized_ring
from reconstruct.periods.byte_period import StreamPeriods
from reconstruct.periods.cycles import CycleTable, cut_cycles, joined
from reconstruct.streams.endpoint_sets import join_endpoints

# Headers and padding change the bytes of an iteration by less.
SAME_BYTES = 0.01
# So many of the new connections must go on with such work, or it is that of another job on the same endpoints; that job
# has a pace of its own, where the same work on the same machines takes about as long as before.
MOST = 0.8
SAME_PACE = 1.5
# Logarithms of bytes lie within this of one another.
APART = 100.0


class _Work(NamedTuple):
    """What connections that ended did in an iteration: (n,) each.

    Attributes:
        src, dst: address codes.
        bytes: of an iteration.
        beat_bytes, unit_bytes: what they are to be cut by.
    """

    src: Int
    dst: Int
    bytes: Float
    beat_bytes: Float
    unit_bytes: Float

    def resized(self, factor: float) -> _Work:
        """The work as it is and, where the factor is not 1, as it is in a ring of another size."""
        if factor == 1:
            return self
        larger = self.bytes * factor, self.beat_bytes * factor, self.unit_bytes * factor
        other = _Work(self.src, self.dst, *larger)
        return _Work(*(np.concatenate(both) for both in zip(self, other, strict=True)))


def with_successors(replaced: ReplacedStreams, usable: Bool, rhythmic: CycleTable) -> CycleTable:
    """Streams with a rhythm, and those that took the place of some of them.

    Args:
        replaced: all streams, and which ended and began.
        usable: (n,) streams that may belong to jobs.
        rhythmic: streams with a rhythm of their own.
    """
    streams = replaced.streams
    fresh = np.flatnonzero(replaced.new & usable)
    if not len(fresh) or not replaced.ended[rhythmic.stream].any():
        return rhythmic
    number = np.concatenate([rhythmic.stream, fresh])
    part = join_endpoints(streams, number)[streams.src]
    cuts = [_cut(replaced, fresh[part[fresh] == n], _of(part, n, rhythmic)) for n in np.unique(part[fresh]).tolist()]
    kept = ~np.isin(rhythmic.stream, np.concatenate([some.stream for some in cuts]))
    return joined([rhythmic.take(np.flatnonzero(kept)), *cuts])


def _of(part: Int, number: int, some: CycleTable) -> CycleTable:
    return some.take(np.flatnonzero(part[some.stream] == number))


def _cut(replaced: ReplacedStreams, fresh: Int, rhythmic: CycleTable) -> CycleTable:
    """Those of some new connections that go on with the work of one that ended at the same part of the fabric."""
    streams = replaced.streams
    old = rhythmic.take(np.flatnonzero(replaced.ended[rhythmic.stream]))
    nothing = old.take(np.zeros(0, np.int64))
    if not len(old):
        return nothing
    times = np.rint(old.count / old.count.min())
    src, dst = streams.src[old.stream], streams.dst[old.stream]
    work = _Work(src, dst, times * old.beat_bytes, old.beat_bytes, old.unit_bytes)
    begun = np.flatnonzero(replaced.new)
    begun = begun[np.isin(streams.src[begun], np.unique([streams.src[fresh], streams.dst[fresh]]))]
    ends = [np.unique([streams.src[some], streams.dst[some]]) for some in (old.stream, begun)]
    factor = resized_ring(len(ends[0]), len(ends[1]))
    going = rhythmic.take(np.flatnonzero(~(replaced.ended | replaced.new)[rhythmic.stream]))
    total = streams.total_bytes()[fresh].astype(np.float64)
    number = _iterations_going(streams, fresh, going) or _iterations_again(streams, fresh, total, work, factor)
    if number <= 0:
        return nothing
    chosen = work.resized(factor)
    nearest = _nearest(streams, fresh, total / number, chosen)
    known = np.flatnonzero(nearest >= 0)
    known = known[np.abs(total[known] / number / chosen.bytes[nearest[known]] - 1) * number < 1]
    by = nearest[known]
    found = cut_cycles(
        streams, fresh[known], StreamPeriods(chosen.beat_bytes[by], chosen.unit_bytes[by], np.ones(len(by)))
    )
    goes_on = len(found) >= max(MOST * len(fresh), 1) and is_as_fast(_iteration_ns(old), _iteration_ns(found))
    return found if goes_on else nothing


def is_as_fast(before_ns: float, after_ns: float) -> bool:
    """Whether iterations take about as long: the same work on as many machines does."""
    return bool(1 / SAME_PACE < after_ns / before_ns < SAME_PACE)


def _iteration_ns(some: CycleTable) -> float:
    """Time of an iteration of some streams, which is a cycle of those that hold fewest."""
    return float(np.median(some.cycle_ns * np.rint(some.count / some.count.min())))


def _iterations_going(streams: Streams, fresh: Int, going: CycleTable) -> float:
    """Iterations that connections which go on made since the new ones began; 0 without any."""
    since = int(streams.start_ns[streams.offsets[fresh]].min())
    rows = streams.offsets, to_contiguous(streams.start_ns), to_contiguous(streams.bytes)
    cycles = zip(going.stream.tolist(), going.quantum_bytes.tolist(), strict=True)
    made = np.array([cycles_within(n, q, *rows, since, np.iinfo(np.int64).max) for n, q in cycles])
    return float(np.median(made / np.rint(going.count / going.count.min()))) if len(made) else 0.0


def _iterations_again(streams: Streams, fresh: Int, total: Float, work: _Work, factor: float) -> float:
    """Iterations on new connections between endpoints that had others before; 0 without any.

    Where the number of replicas changed, some connections are a ring's: the number by which most have done whole
    iterations, of a ring or as before, some of a ring.
    """
    size = len(streams.addresses)
    again, before = streams.src[fresh] * size + streams.dst[fresh], work.src * size + work.dst
    pairs = np.intersect1d(again, before)
    if not len(pairs):
        return 0.0
    moved, at_a_time = (
        np.bincount(np.searchsorted(pairs, of[np.isin(of, pairs)]), volume[np.isin(of, pairs)], len(pairs))
        for of, volume in ((again, total), (before, work.bytes))
    )
    ratio = moved / at_a_time
    if factor == 1:
        return float(np.median(ratio))
    tried = np.unique(np.round(ratio / factor, 3))
    fits = [(np.abs(ratio / k - factor) < SAME_BYTES, np.abs(ratio / k - 1) < SAME_BYTES) for k in tried.tolist()]
    return float(tried[int(np.argmax([(ring.any() * (ring | same)).sum() for ring, same in fits]))])


def _nearest(streams: Streams, fresh: Int, each_bytes: Float, work: _Work) -> Int:
    """(fresh,) which work moves most nearly as many bytes: of the same pair, else the same sender, receiver, or any."""
    size = len(streams.addresses)
    src, dst = streams.src[fresh], streams.dst[fresh]
    keys = (
        (src * size + dst, work.src * size + work.dst), (src, work.src), (dst, work.dst),
        (np.zeros_like(src), np.zeros_like(work.src)),
    )  # fmt: skip
    found = np.full(len(fresh), -1)
    for own, other in keys:
        found = np.where(found < 0, _nearest_of_key(own, np.log(each_bytes), other, np.log(work.bytes)), found)
    return found


def _nearest_of_key(own: Int, size: Float, other: Int, other_size: Float) -> Int:
    """(own,) which of others with the same key is nearest in size; -1 where there is none."""
    _, key = np.unique(np.concatenate([own, other]), return_inverse=True)
    own, other = key[: len(own)], key[len(own) :]
    order = np.argsort(other * APART + other_size, kind="stable")
    ranked = (other * APART + other_size)[order]
    right = np.searchsorted(ranked, own * APART + size)
    best, away = np.full(len(own), -1), np.full(len(own), np.inf)
    for side in (right - 1, right):
        at = order[np.clip(side, 0, len(order) - 1)]
        distance = np.where(other[at] == own, np.abs(other_size[at] - size), np.inf)
        best, away = np.where(distance < away, at, best), np.minimum(distance, away)
    return best
