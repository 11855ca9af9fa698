"""When iterations ended: the last burst of every ring, drawn through the samples of all its members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int
from reconstruct.sampled.lattice import Lattice
from reconstruct.sampled.parts import components
from reconstruct.sampled.progress import Progress

_LastPoints = tuple[Int, Float, Float, Float]

# The part of a cycle before its end that is looked at, in quanta: more where connections have few samples a cycle, so
# that each gives about so many; and how many points of a ring at most.
LAST_SHARE, MOST_SHARE, LAST_POINTS = 0.25, 0.75, 3.0
MOST_POINTS = 48
FEWEST_POINTS = 4
# Points whose time is known this many times worse than the median point's were held into the pause behind a burst.
DOUBTFUL = 2.0
# Members that end later than the last one less this share of the iteration may end it.
LATE_SHARE = 0.06
# Iterations that fewer members show at their end are not complete.
SHOWN = 0.5
# A ring ends last where it does so by this many standard errors; one of unknown error only where there is no other.
SURE, UNSURE_NS = 2.0, 1e15
# A median scatters 1.25 times as much as a mean; extrapolating a line to its end doubles that.
MEDIAN_TO_SD = 1.4826
EXTRAPOLATED = 2.5


@dataclass(frozen=True, slots=True)
class Edges:
    """Ends of a part's iterations.

    Attributes:
        number: (k,) the lattice's number of each.
        time_ns: (k,) when the last ring ended.
        error_ns: (k,) standard error of that, nan where too few points tell it.
    """

    number: Int
    time_ns: Float
    error_ns: Float


def edges(progress: Progress, found: Lattice) -> Edges:
    """Estimate the end of every iteration.

    A ring moves the same bytes through all its members at a time, so the bytes left until the end of an iteration,
    against time, are one line for all of them; its robust fit (Theil and Sen) over the members' last samples says when
    nothing was left. The ring that ends last, beyond its error, ends the iteration.
    """
    share = _share(progress, found)
    held_ns = DOUBTFUL * float(np.median(np.concatenate([progress.spans(int(m))[1] for m in found.members])))
    rows = [_last_points(progress, m, (q, o), share, held_ns) for m, q, o in _lines(found)]
    number = _complete(rows)
    late = _late(rows, found, number)
    rings = components(progress, found.members[late])
    ends, errors = np.full((len(rings), len(number)), np.nan), np.full((len(rings), len(number)), np.nan)
    for r, ring in enumerate(rings):
        points = [rows[late[m]] for m in ring]
        joined = [np.concatenate(column) for column in zip(*points, strict=True)]
        for k, n in enumerate(number.tolist()):
            here = joined[0] == n
            ends[r, k], errors[r, k] = _end_of_line(joined[1][here], joined[2][here], joined[3][here])
    seen = ~np.isnan(ends).all(axis=0)
    ends, errors, number = ends[:, seen], errors[:, seen], number[seen]
    surely = ends - np.where(np.isnan(errors), UNSURE_NS, SURE * errors)
    last = np.argmax(np.where(np.isnan(surely), -np.inf, surely), axis=0) if len(number) else np.zeros(0, np.int64)
    pick = last, np.arange(len(number))
    return Edges(number, ends[pick], errors[pick])


def _lines(found: Lattice) -> zip[tuple[int, float, float]]:
    return zip(found.members.tolist(), found.quantum_bytes.tolist(), found.origin_bytes.tolist(), strict=True)


def _share(progress: Progress, found: Lattice) -> float:
    """The part of a cycle in which connections usually have `LAST_POINTS` samples."""
    points = np.diff(progress.offsets)[found.members]
    cycles = progress.volume_bytes()[found.members] / found.quantum_bytes
    return float(np.clip(LAST_POINTS * np.median(cycles / points), LAST_SHARE, MOST_SHARE))


def _last_points(
    progress: Progress, member: int, line: tuple[float, float], share: float, held_ns: float
) -> _LastPoints:
    """(iteration, share of the quantum that was left, time, earliest) of the points near the end of each iteration.

    A sample that its agent held for long was taken before the pause that nothing came in: at the earliest that can be.
    """
    time_ns, position = progress.curve(member)
    earliest_ns, doubt_ns = progress.spans(member)
    time_ns = np.where(doubt_ns > held_ns, earliest_ns, time_ns)
    number = np.ceil((position - line[1]) / line[0])
    left = number - (position - line[1]) / line[0]
    near = left <= share
    return number[near].astype(np.int64), left[near], time_ns[near], earliest_ns[near]


def _complete(rows: list[_LastPoints]) -> Int:
    """Numbers of the iterations from the first to the last of which enough members show the end."""
    shown = np.concatenate([np.unique(number) for number, *_ in rows])
    number, count = np.unique(shown, return_counts=True)
    enough = number[count >= SHOWN * len(rows)]
    return np.arange(enough.min(), enough.max() + 1) if len(enough) else enough


def _late(rows: list[_LastPoints], found: Lattice, number: Int) -> Int:
    """Members that usually are among the last to end."""
    quiet = dict(zip(range(found.first, found.first + len(found.quiet_ns)), found.quiet_ns.tolist(), strict=True))
    period = float(np.median(np.diff(found.quiet_ns)))
    ends = []
    for numbers, _, time_ns, _ in rows:
        last = [(time_ns[numbers == n].max(), quiet[n]) for n in np.intersect1d(numbers, number).tolist() if n in quiet]
        ends.append(float(np.median([t - m for t, m in last])) if last else -np.inf)
    late = np.array(ends)
    return np.flatnonzero(late >= late.max() - LATE_SHARE * period)


def _end_of_line(left: Float, time_ns: Float, earliest_ns: Float) -> tuple[float, float]:
    """(time at which nothing was left, its standard error) of the robust line through points.

    Samples of one datagram are dated together and err together: as many count as there are datagrams.
    """
    nearest = np.argsort(left, kind="stable")[:MOST_POINTS]
    left, time_ns, earliest_ns = left[nearest], time_ns[nearest], earliest_ns[nearest]
    if len(left) < FEWEST_POINTS:
        return (float(time_ns.max()), float("nan")) if len(left) else (float("nan"), float("nan"))
    a, b = np.triu_indices(len(left), 1)
    apart = np.abs(left[a] - left[b]) > 0.1 * float(np.ptp(left))
    if not apart.any():
        return float(time_ns.max()), float("nan")
    slope = min(float(np.median((time_ns[a] - time_ns[b])[apart] / (left[a] - left[b])[apart])), 0.0)
    end = time_ns - slope * left
    spread = MEDIAN_TO_SD * float(np.median(np.abs(end - np.median(end))))
    return float(np.median(end)), EXTRAPOLATED * spread / np.sqrt(len(np.unique(earliest_ns)))
