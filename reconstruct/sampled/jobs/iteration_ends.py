"""When iterations ended: the last burst of every ring, drawn through the samples of all its members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.connection_sets import components
from reconstruct.sampled.jobs.iteration_grid import IterationGrid
from reconstruct.sampled.rings.ring_ends import Burst, ring_ends
from reconstruct.sampled.rings.ring_fits import FEWEST_POINTS

_LastPoints = tuple[Int, Float, Float, Float, Float]

# The part of a cycle before its end that is looked at, in quanta: more where connections have few samples a cycle, so
# that each gives about so many.
LAST_SHARE, MOST_SHARE, LAST_POINTS = 0.25, 0.75, 3.0
# Members of a ring move the same bytes, to about this factor: rings need not divide them quite evenly.
SAME_BYTES = 1.05
# Members that end later than the last one less this share of the iteration may end it.
LATE_SHARE = 0.06
# Iterations that fewer members show at their end are not complete.
SHOWN = 0.5
# A ring ends last where it does so by this many standard errors; one of unknown error only where there is no other.
SURE, UNSURE_NS = 2.0, 1e15


@dataclass(frozen=True, slots=True)
class IterationEnds:
    """Ends of a part's iterations.

    Attributes:
        number: (k,) the lattice's number of each.
        time_ns: (k,) when the last ring ended.
        error_ns: (k,) standard error of that, nan where too few points tell it.
        shared_ns: (k,) standard error that all ends of the same `moving_ns` share.
        moving_ns: (k,) how long that ring takes for all bytes of an iteration.
    """

    number: Int
    time_ns: Float
    error_ns: Float
    shared_ns: Float
    moving_ns: Float


def edges(progress: ProgressCurves, found: IterationGrid) -> IterationEnds:
    """Estimate the end of every iteration.

    A ring moves the same bytes through all its members at a time, so the bytes left until the end of an iteration,
    against time, say when nothing was left (`reconstruct.sampled.rings.ring_ends`). The ring that ends last, beyond its
    error, ends the iteration.
    """
    share = _share(progress, found)
    rows = [_last_points(progress, m, (q, o), share) for m, q, o in _lines(found)]
    number = _complete(rows)
    rings = _rings(progress, found)
    drawn = [ring for ring in rings if sum(len(rows[m][0]) for m in ring) >= FEWEST_POINTS * len(number)] or rings
    late = _late(rows, found, number, np.concatenate(drawn))
    rings = [ring for ring in drawn if np.isin(ring, late).any()]
    told = [ring_ends(_burst([rows[m] for m in ring], number), len(number)) for ring in rings]
    columns = np.array([[one.time_ns, one.error_ns, one.shared_ns, one.moving_ns] for one in told])
    columns = columns.reshape(len(told), 4, len(number)).transpose(1, 0, 2)
    seen = ~np.isnan(columns[0]).all(axis=0)
    ends, errors, shared, moving = columns[:, :, seen]
    number = number[seen]
    surely = ends - np.where(np.isnan(errors), UNSURE_NS, SURE * errors)
    last = np.argmax(np.where(np.isnan(surely), -np.inf, surely), axis=0) if len(number) else np.zeros(0, np.int64)
    pick = last, np.arange(len(number))
    return IterationEnds(number, ends[pick], errors[pick], shared[pick], moving[pick])


def _rings(progress: ProgressCurves, found: IterationGrid) -> list[Int]:
    """Members by ring: connected, and of like bytes in an iteration, which a ring moves through all of it."""
    order = np.argsort(found.quantum_bytes, kind="stable")
    quantum = found.quantum_bytes[order]
    alike = np.split(order, np.flatnonzero(quantum[1:] > SAME_BYTES * quantum[:-1]) + 1)
    return [np.sort(own[ring]) for own in alike for ring in components(progress, found.members[own])]


def _burst(rows: list[_LastPoints], number: Int) -> Burst:
    """The points of a ring's members in the iterations that are looked at."""
    member = np.repeat(np.arange(len(rows)), [len(r[0]) for r in rows])
    which, *others = (np.concatenate(column) for column in zip(*rows, strict=True))
    row, inside = _rows(which, number)
    return Burst(row, member, *others).take(inside)


def _rows(which: Int, number: Int) -> tuple[Int, Bool]:
    """(place of each iteration among those that are looked at, which follow on each other; which of them are)."""
    row = which - (number[0] if len(number) else 0)
    return row, (row >= 0) & (row < len(number))


def _lines(found: IterationGrid) -> zip[tuple[int, float, float]]:
    return zip(found.members.tolist(), found.quantum_bytes.tolist(), found.origin_bytes.tolist(), strict=True)


def _share(progress: ProgressCurves, found: IterationGrid) -> float:
    """The part of a cycle in which connections usually have `LAST_POINTS` samples."""
    points = np.diff(progress.offsets)[found.members]
    cycles = progress.volume_bytes()[found.members] / found.quantum_bytes
    return float(np.clip(LAST_POINTS * np.median(cycles / points), LAST_SHARE, MOST_SHARE))


def _last_points(progress: ProgressCurves, member: int, line: tuple[float, float], share: float) -> _LastPoints:
    """(iteration, share of the quantum that was left, time, earliest, doubt) of points near each iteration's end."""
    time_ns, position = progress.curve(member)
    earliest_ns, doubt_ns = progress.spans(member)
    number = np.ceil((position - line[1]) / line[0])
    left = number - (position - line[1]) / line[0]
    near = left <= share
    return number[near].astype(np.int64), left[near], time_ns[near], earliest_ns[near], doubt_ns[near]


def _complete(rows: list[_LastPoints]) -> Int:
    """Numbers of the iterations from the first to the last of which enough members show the end."""
    shown = np.concatenate([np.unique(number) for number, *_ in rows])
    number, count = np.unique(shown, return_counts=True)
    enough = number[count >= SHOWN * len(rows)]
    return np.arange(enough.min(), enough.max() + 1) if len(enough) else enough


def _late(rows: list[_LastPoints], found: IterationGrid, number: Int, members: Int) -> Int:
    """Those of some members that are among the last of them to end, always or in one half of the window."""
    period = float(np.median(np.diff(found.quiet_ns)))
    ends = np.full((len(members), len(number)), -np.inf)
    for end, member in zip(ends, members.tolist(), strict=True):
        numbers, _, _, earliest_ns, _ = rows[member]
        row, inside = _rows(numbers, number)
        np.maximum.at(end, row[inside], earliest_ns[inside])
    seen = np.isfinite(ends).any(axis=0)
    behind = ends[:, seen].max(axis=0) - ends[:, seen]
    half = behind.shape[1] // 2
    often = [np.median(behind[:, some], axis=1) for some in (slice(None), slice(half), slice(half, None))]
    return np.asarray(members[np.min(often, axis=0) <= LATE_SHARE * period], np.int64)
