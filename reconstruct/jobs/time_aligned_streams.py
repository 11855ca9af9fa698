"""Streams that keep a job's beat in time but not in bytes: micro-batches of varying length, an evaluation between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int, Streams
from reconstruct.periods.byte_period import pause_threshold_ns
from reconstruct.periods.cycles import CONTROL_SHARE, SHORTEST_PAUSE_SHARE
from reconstruct.periods.folding import RECURRENCE


@dataclass(frozen=True, slots=True)
class TimeAlignedStream:
    """One stream cut into bursts by time.

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

    Args:
        streams: data rows by connection.
        candidates: stream numbers.
        edges_ns: (iterations,) end of each iteration.
    """
    found = (_follower(streams, n, edges_ns) for n in candidates)
    return tuple(f for f in found if f is not None and _keeps_beat(f, len(edges_ns)))


def _follower(streams: Streams, stream: int, edges_ns: Int) -> TimeAlignedStream | None:
    bounds = streams.rows(stream)
    rows = np.arange(bounds.start, bounds.stop)
    size = streams.bytes[bounds]
    rows = rows[size >= size.sum() / len(edges_ns) * CONTROL_SHARE]
    if len(rows) < max(len(edges_ns) // 2, 3):
        return None
    start = streams.start_ns[rows]
    pause = np.maximum(start[1:] - np.maximum.accumulate(streams.end_ns[rows])[:-1], 0)
    cut = np.flatnonzero(pause >= _shortest_pause_ns(pause, bool(streams.trains[stream]), edges_ns)) + 1
    low, high = np.concatenate([[0], cut]), np.concatenate([cut, [len(rows)]])
    iteration = np.searchsorted(edges_ns, start[low])
    first = np.searchsorted(iteration, iteration)
    slot = np.arange(len(low)) - first
    iteration = np.where(iteration < len(edges_ns), iteration, -1)
    return TimeAlignedStream(stream, rows, low, high, iteration.astype(np.int64), slot.astype(np.int64))


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
