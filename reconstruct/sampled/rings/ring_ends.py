"""When a ring was done in each iteration, from the samples of all its members, and how well samples tell it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.medians import MEDIAN_ERROR, row_medians
from reconstruct.numeric.robust_statistics import median, quantile
from reconstruct.numeric.row_runs import run_starts
from reconstruct.sampled.rings.ring_fits import (
    FEWEST_POINTS,
    centres,
    deviation,
    ends_of_members,
    halves,
    lines,
    pace_of,
    shapes,
)

# More points are not needed in an iteration.
MOST_POINTS = 256
# Samples whose span is so many times as wide as the median one's were held into the pause behind a burst.
DOUBTFUL = 2.0
# Iterations whose paces lie apart by more than this factor from the next slower one's moved their bytes differently.
SAME_PACE = 1.5
FEWEST_ALIKE = 5
# A pace is taken from so many iterations around.
STEADY = 7
# Line, shape and ends are fitted in turns.
ROUNDS = 3
# Scatter about line and shape is that of this share of the samples, those that are dated best.
BEST_DATED = 0.1
# Drawing a line on to its end doubles its error.
EXTRAPOLATED = 2.0
# A uniform span's standard deviation is its width over this.
UNIFORM = float(np.sqrt(12.0))


@dataclass(frozen=True, slots=True)
class Burst:
    """Samples of a ring's members near the end of each iteration; (n,) each.

    Attributes:
        row: of the iteration, from 0.
        member: place of the connection in the ring.
        left: share of the iteration's bytes that its connection had still to send.
        time_ns: likeliest time.
        earliest_ns: before when it cannot have been; samples for which it is the same were dated together.
        doubt_ns: width of the span it may lie in, from there on.
    """

    row: Int
    member: Int
    left: Float
    time_ns: Float
    earliest_ns: Float
    doubt_ns: Float

    def take(self, chosen: Int | Bool) -> Burst:
        """Some of them."""
        own = self.row[chosen], self.member[chosen]
        return Burst(*own, *(c[chosen] for c in (self.left, self.time_ns, self.earliest_ns, self.doubt_ns)))


@dataclass(frozen=True, slots=True)
class RingEnds:
    """A ring in each iteration; (k,) each, nan where nothing is known.

    Attributes:
        time_ns: when it ended.
        error_ns: standard error of that.
        shared_ns: standard error that it shares with all iterations of the same `moving_ns`.
        moving_ns: how long it takes for all bytes of an iteration at its pace then.
    """

    time_ns: Float
    error_ns: Float
    shared_ns: Float
    moving_ns: Float


def ring_ends(points: Burst, count: int) -> RingEnds:
    """Estimate when a ring ended in each of `count` iterations.

    1. A ring moves the same bytes through all its members at a time: what is left, against time, is one line for all.
       Its robust fit (Theil and Sen) in each iteration tells the pace; iterations of like pace are taken together.
    2. In these every member has the same shape about that line, whatever made it: steps of the ring, a slow link for
       which the others wait at every step. Running medians over all iterations show it; what is left of the samples of
       one iteration after line and shape says how far it is off as a whole.
    3. The member that ends last ends the ring.
    4. Datagrams of an iteration, divided into halves, tell its end twice; so do every other member, and the first half
       of the members, whose agents mostly differ from those of the second. How far these differ, over all iterations of
       like pace, is the error: what samples of a datagram, a member or an agent have in common is in it.
    """
    found = RingEnds(*(np.full(count, np.nan) for _ in range(4)))
    points = _let_go(_by_row(points, count), count)
    ends, moving = lines(points.left, points.time_ns, _bounds(points, np.arange(count)))
    for alike in _like_paces(_steady(moving)):
        own = points.take(np.isin(points.row, alike))
        pace = float(np.nanmedian(moving[alike]))
        ends[alike], found.error_ns[alike], found.shared_ns[alike], found.moving_ns[alike] = _together(
            own, ends, pace, alike
        )
    found.time_ns[:] = ends
    return found


def _by_row(points: Burst, count: int) -> Burst:
    """The points by iteration, of each at most so many as are needed, evenly by what was left."""
    row = points.row.astype(np.uint16) if count <= 1 << 16 else points.row  # numpy sorts so short ones by counting
    order = np.argsort(row, kind="stable")
    rows = np.split(order, np.searchsorted(row[order], np.arange(1, count)))
    return points.take(np.concatenate([_spread(points.left, own) for own in rows]))


def _bounds(points: Burst, rows: Int) -> Int:
    """Where the points of some ascending iterations begin, of points of no others, and where the last ones end."""
    return np.append(np.searchsorted(points.row, rows), len(points.row))


def _let_go(points: Burst, count: int) -> Burst:
    """Points without those that their agent held for long, into the pause behind the burst.

    All that is known of them is that they were taken before it. Where an iteration has few others they stay, dated as
    early as they can be.
    """
    bounds = _bounds(points, np.arange(count))
    usual = _usual(np.array([median(width) for width in np.split(points.doubt_ns, bounds[1:-1])]))
    held = points.doubt_ns > DOUBTFUL * usual[points.row]
    others = np.bincount(points.row[~held], minlength=count)
    early = replace(points, time_ns=np.where(held, points.earliest_ns, points.time_ns))
    return early.take(~held | (others[points.row] < FEWEST_POINTS))


def _spread(left: Float, rows: Int) -> Int:
    """Some points, or as many as are needed of them, evenly by what was left."""
    if len(rows) <= MOST_POINTS:
        return rows
    order = rows[np.argsort(left[rows], kind="stable")]
    return order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(np.int64)]


def _steady(moving: Float) -> Float:
    """Median over neighbouring iterations: one iteration's few samples may mislead, or tell none; nan where all do."""
    return row_medians(_around(moving))


def _usual(widths: Float) -> Float:
    """Median of those around; where they change suddenly, of an iteration's own, of those before and those after it.

    The latter is right on both sides of a step, the former scatters less.
    """
    around = _around(widths)
    before, after = row_medians(around[:, : STEADY // 2]), row_medians(around[:, STEADY // 2 + 1 :])
    sides = np.where(np.isnan(before), after, before), np.where(np.isnan(after), before, after)
    sudden = np.fmax(*sides) > DOUBTFUL * np.fmin(*sides)
    return np.where(sudden, row_medians(np.stack([widths, *sides], axis=1)), row_medians(around))


def _around(values: Float) -> Float:
    """(n, STEADY) each value among its neighbours; nan where there is none."""
    padded = np.pad(values, STEADY // 2, constant_values=np.nan)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, STEADY), np.float64)


def _like_paces(moving: Float) -> list[Int]:
    """Iterations by pace: neighbours in order of pace are alike; a few that are like no others go with the nearest."""
    known = np.flatnonzero(np.isfinite(moving))
    order = known[np.argsort(moving[known], kind="stable")]
    pace = np.maximum(moving[order], 1.0)
    steps = pace[1:] / pace[:-1]
    cuts = np.flatnonzero(steps > SAME_PACE)
    while len(cuts) and len(few := np.flatnonzero(np.diff([-1, *cuts, len(order) - 1]) < FEWEST_ALIKE)):
        beside = cuts[max(int(few[0]) - 1, 0) : int(few[0]) + 1]
        cuts = np.setdiff1d(cuts, beside[np.argmin(steps[beside])])
    return [np.sort(part) for part in np.split(order, cuts + 1) if len(part)]


def _together(points: Burst, ends: Float, pace: float, alike: Int) -> tuple[Float, Float, float, float]:
    """(ends, errors, error that all of them share, pace) of iterations that moved their bytes alike."""
    ends = ends.copy()
    bounds = _bounds(points, alike)
    for n in np.flatnonzero(np.isnan(ends[alike])).tolist():  # too few for a line of their own
        here = slice(bounds[n], bounds[n + 1])
        ends[alike[n]] = median(points.time_ns[here] + pace * points.left[here])
    by_left = np.argsort(points.left, kind="stable")
    by_member, members = _by_member(points.member, by_left)
    best = points.doubt_ns <= quantile(points.doubt_ns, BEST_DATED)
    weight, shape = 1 / (points.doubt_ns + 1.0), np.zeros(len(points.row))
    for _ in range(ROUNDS):
        off = points.time_ns - ends[points.row]
        pace = pace_of(points.left, off + pace * points.left, weight, pace)
        shape = shapes(by_left, by_member, members, off + pace * points.left)
        left = off + pace * points.left - shape
        scale = deviation(np.abs(left[best]))
        weight = 1 / (scale**2 + (points.doubt_ns / UNIFORM) ** 2 + 1.0)
        ends[alike] += centres(left, weight, bounds)
    off = points.time_ns - ends[points.row] + pace * points.left
    last, last_error = _last(*ends_of_members(points.left, off, weight, by_member, members))
    # a datagram's samples are dated evenly, whatever came when: all may err alike by as much as that leaves open
    shared = float(np.hypot(last_error, median(points.doubt_ns) / UNIFORM))
    return ends[alike] + last, _errors(points, off - shape, weight, bounds), shared, pace


def _by_member(member: Int, order: Int) -> tuple[Int, Int]:
    """(points by member, those of each in the given order; where those of each member begin, and the last ones end)."""
    order = order[np.argsort(member[order], kind="stable")]
    return order, np.append(np.flatnonzero(run_starts(member[order])), len(order))


def _last(middle: Float, scatter: Float) -> tuple[float, float]:
    """(how much later than the line the last member ends, by its own line; the standard error of that).

    Of many members that end alike chance makes some seem late: the last is later by more than it makes the latest.
    """
    error = EXTRAPOLATED * MEDIAN_ERROR * scatter
    surely = middle - np.sqrt(2 * np.log(max(len(middle), 1))) * error  # the greatest of so many errors, at most
    if not len(middle) or surely.max() <= 0:
        return 0.0, 0.0
    last = np.argmax(surely)
    return float(middle[last]), float(error[last])


def _errors(points: Burst, left: Float, weight: Float, bounds: Int) -> Float:
    """Standard error of each end: by what it rests on, in units of what halves of iterations show."""
    middle = median(np.unique(points.member).astype(np.float64))
    held, *told = halves(points.earliest_ns, points.member, middle, left, weight, bounds)
    known = [some[np.isfinite(some)] for some in told]
    units = [deviation(some) for some in known if len(some) >= FEWEST_ALIKE]
    return np.asarray(max(units, default=np.nan) / np.sqrt(np.where(held > 0, held, np.nan)), np.float64)
