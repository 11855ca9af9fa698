"""Streams that follow a job without a rhythm of their own: they keep its beat in time, or carry what its members do.

Micro-batches of varying length and an evaluation between leave a stream its times. Where a link is busy all through the
iteration, the pauses are gone that times are known by, and bytes are left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.numeric.ragged_arrays import select_rows
from reconstruct.periods.byte_period import pause_threshold_ns
from reconstruct.periods.cycles import CONTROL_SHARE, SHORTEST_PAUSE_SHARE
from reconstruct.periods.folding import RECURRENCE

# So many iterations of a part of the life show that a stream keeps the job's beat.
FEWEST_ITERATIONS = 3
# Bytes of two iterations, or of two streams in one, are as many where they differ by less than this share.
AS_MUCH = 1e-3


@dataclass(frozen=True, slots=True)
class TimeAlignedStream:
    """One stream cut into bursts by a job's iterations.

    Attributes:
        stream: its number.
        rows: (m,) row numbers that carry data.
        low, high: (bursts,) bounds of each burst among them.
        iteration: (bursts,) iteration in which it began; -1 after the last complete one.
        slot: (bursts,) its place among the bursts of that iteration.
    """

    stream: int
    rows: Int
    low: Int
    high: Int
    iteration: Int
    slot: Int

    @property
    def bursts_per_iteration(self) -> int:
        """Median number of bursts of a complete iteration."""
        return int(np.median(np.bincount(self.iteration[self.iteration >= 0]))) if (self.iteration >= 0).any() else 0


def align_in_time(streams: Streams, candidates: Iterable[int], edges_ns: Int) -> tuple[TimeAlignedStream, ...]:
    """Cut the candidates by a job's iterations; those that send as often in most of them follow it.

    The last stage to end is not always the one that the edges are known from. What is sent about an edge, sometimes
    before it and sometimes behind it, is counted from the place of the iteration at which the candidate pauses longest.

    Args:
        streams: data rows by connection.
        candidates: stream numbers.
        edges_ns: (iterations,) end of each iteration.
    """
    found = (_on_beat(streams, n, edges_ns) for n in candidates)
    return tuple(f for f in found if f is not None)


def align_for_life(
    streams: Streams, some: Int, edges_ns: Int, fewest: int = FEWEST_ITERATIONS
) -> list[TimeAlignedStream]:
    """Cut streams that live for some of a job's iterations, but not for all, if they keep its beat in these.

    A connection that was replaced, or one of an endpoint that left or joined, is one. What is sent once is none: a copy
    of state lies between two iterations.

    Args:
        streams: data rows by connection.
        some: stream numbers.
        edges_ns: (iterations,) end of each iteration of the job, which iterations are counted by.
        fewest: iterations that a stream has to live for.
    """
    spans = _part_time(streams, some, edges_ns, fewest)
    return [f for n, own in spans if (f := _aligned(streams, n, edges_ns, own)) is not None]


def _part_time(streams: Streams, some: Int, edges_ns: Int, fewest: int) -> list[tuple[int, slice]]:
    """Streams that live for some iterations but not for all, and the iterations that each lives for."""
    if not len(some):
        return []
    half = int(np.median(np.diff(edges_ns))) // 2
    offsets, rows = select_rows(streams.offsets, some)
    until_ns = np.maximum.reduceat(streams.end_ns[rows], offsets[:-1])
    first = np.searchsorted(edges_ns, streams.start_ns[streams.offsets[some]], side="right")
    last = np.searchsorted(edges_ns, until_ns + half, side="right")
    own = np.flatnonzero((last - first >= fewest) & (last - first < len(edges_ns)))
    return [(int(some[n]), slice(int(first[n]), int(last[n]))) for n in own.tolist()]


def _aligned(streams: Streams, stream: int, edges_ns: Int, own: slice) -> TimeAlignedStream | None:
    """A stream that keeps the beat in its `own` iterations, on all iterations of the job."""
    found = align_in_time(streams, [stream], edges_ns[own])
    if not found:
        return None
    iteration = np.where(found[0].iteration >= 0, found[0].iteration + own.start, -1)
    return replace(found[0], iteration=iteration.astype(np.int64))


def _on_beat(streams: Streams, stream: int, edges_ns: Int) -> TimeAlignedStream | None:
    found = _follower(streams, stream, edges_ns)
    if found is None:
        return None
    start_ns = streams.start_ns[found.rows[found.low]]
    for own_ns in (edges_ns, edges_ns + longest_pause_ns(start_ns, edges_ns)):
        counted = _count_bursts(found, start_ns, own_ns)
        if _keeps_beat(counted, len(edges_ns)):
            return counted
    return None


def longest_pause_ns(start_ns: Int, edges_ns: Int) -> int:
    """How far from the edge the middle of the longest time in an iteration is in which no burst begins.

    Only iterations no longer than the median one count: what makes others long shifts what is sent in them.
    """
    length = np.diff(edges_ns)
    within = np.searchsorted(edges_ns, start_ns) - 1
    inside = (within >= 0) & (within < len(length))
    within, start_ns = within[inside], start_ns[inside]
    usual = length[within] <= np.median(length)
    phase = np.sort((start_ns - edges_ns[within])[usual] / length[within][usual])
    if not len(phase):
        return 0
    pause = np.diff(phase, append=phase[0] + 1)
    longest = int(np.argmax(pause))
    middle = (phase[longest] + pause[longest] / 2 + 0.5) % 1 - 0.5
    return int(middle * np.median(length))


def _follower(streams: Streams, stream: int, edges_ns: Int) -> TimeAlignedStream | None:
    rows = _data_rows(streams, stream, len(edges_ns))
    if len(rows) < max(len(edges_ns) // 2, 3):
        return None
    start = streams.start_ns[rows]
    pause = np.maximum(start[1:] - np.maximum.accumulate(streams.end_ns[rows])[:-1], 0)
    cut = np.flatnonzero(pause >= _shortest_pause_ns(pause, bool(streams.trains[stream]), edges_ns)) + 1
    low, high = np.concatenate([[0], cut]), np.concatenate([cut, [len(rows)]])
    none = np.full(len(low), -1)
    return TimeAlignedStream(stream, rows, low, high, none, none)


def _data_rows(streams: Streams, stream: int, iterations: int) -> Int:
    """Row numbers of a stream without remarks, which are small beside what it carries in an iteration."""
    own = streams.rows(stream)
    size = streams.bytes[own]
    rows: Int = np.arange(own.start, own.stop)[size >= size.sum() / iterations * CONTROL_SHARE]
    return rows


def _count_bursts(found: TimeAlignedStream, start_ns: Int, edges_ns: Int) -> TimeAlignedStream:
    iteration = np.searchsorted(edges_ns, start_ns)
    slot = np.arange(len(iteration)) - np.searchsorted(iteration, iteration)
    iteration = np.where(iteration < len(edges_ns), iteration, -1)
    return replace(found, iteration=iteration.astype(np.int64), slot=slot.astype(np.int64))


def _shortest_pause_ns(pause_ns: Int, trains: bool, edges_ns: Int) -> float:
    """The shortest pause between bursts: pauses fall into kinds, parted at the widest ratio of successive lengths.

    At least one pause an iteration parts bursts, and none that is short beside the iteration.
    """
    floor = SHORTEST_PAUSE_SHARE * float(np.median(np.diff(edges_ns)))
    floor = max(floor, 0.6 * pause_threshold_ns(pause_ns.astype(np.float64), trains))
    length = np.sort(pause_ns[pause_ns > floor])[::-1].astype(np.float64)
    least = min(len(edges_ns) // 2, len(length) - 1)
    if least < 0:
        return floor
    ratio = length / np.concatenate([length[1:], [max(floor, 1.0)]])
    return float(length[least + int(np.argmax(ratio[least:]))])


def _keeps_beat(follower: TimeAlignedStream, iterations: int) -> bool:
    inside = follower.iteration[follower.iteration >= 0]
    often = np.bincount(inside, minlength=iterations)
    usual = int(np.bincount(often).argmax())
    return usual > 0 and float(np.mean(often == usual)) >= RECURRENCE


def align_in_bytes(
    streams: Streams, candidates: Iterable[int], edges_ns: Int, members: Int, quanta_bytes: Float
) -> tuple[TimeAlignedStream, ...]:
    """Cut the candidates by a job's iterations; those that carry in most of them what a member does are its own.

    The member has an end in common with the candidate: a rank of a ring sends as much as it receives. A flow of
    constant rate carries as much in each iteration, too, while all take as long, but not what a rank sends.

    Args:
        streams: data rows by connection.
        candidates: stream numbers.
        edges_ns: (iterations,) end of each iteration.
        members: (n,) stream numbers of the job's members.
        quanta_bytes: (n,) what each carries in an iteration.
    """
    found = (_as_members_do(streams, n, edges_ns, members, quanta_bytes) for n in candidates)
    return tuple(f for f in found if f is not None)


def _as_members_do(
    streams: Streams, stream: int, edges_ns: Int, members: Int, quanta_bytes: Float
) -> TimeAlignedStream | None:
    rows = _data_rows(streams, stream, len(edges_ns))
    bounds = np.concatenate([[0], np.searchsorted(streams.start_ns[rows], edges_ns, side="right"), [len(rows)]])
    moved = np.diff(np.append(0, np.cumsum(streams.bytes[rows]))[bounds[:-1]])[1:]
    if not len(moved) or np.mean(np.abs(moved - np.median(moved)) <= AS_MUCH * np.median(moved)) < RECURRENCE:
        return None
    alike = members[np.abs(quanta_bytes - np.median(moved)) <= AS_MUCH * quanta_bytes]
    ends = streams.src[stream], streams.dst[stream]
    if not (np.isin(streams.src[alike], ends) | np.isin(streams.dst[alike], ends)).any():
        return None
    iteration = np.append(np.arange(len(edges_ns)), -1)
    some = np.flatnonzero(np.diff(bounds) > 0)
    slot = np.zeros(len(some), np.int64)
    return TimeAlignedStream(stream, rows, bounds[some], bounds[some + 1], iteration[some], slot)
