"""When a ring was done in each iteration, from the samples of all its members, and how well samples tell it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.streams import Bool, Float, Int
from reconstruct.sampled.robust import median, quantile, running_medians, slope

# Fewer points draw no line; more than so many for a line, and for the rest, are not needed in an iteration.
FEWEST_POINTS, LINE_POINTS, MOST_POINTS = 4, 48, 256
# Samples whose span is so many times as wide as the median one's were held into the pause behind a burst.
DOUBTFUL = 2.0
# Iterations whose paces lie apart by more than this factor from the next slower one's moved their bytes differently.
SAME_PACE = 1.5
FEWEST_ALIKE = 5
# A pace is taken from so many iterations around.
STEADY = 7
# The shape of a burst is a running median over so many samples at least, and over this share of them.
SHAPE_POINTS, SHAPE_SHARE = 9, 1 / 32
# Line, shape and ends are fitted in turns.
ROUNDS = 3
# Samples further off than so many deviations were held back, or are of another message.
OUTLYING = 3.0
# Scatter about line and shape is that of this share of the samples, those that are dated best.
BEST_DATED = 0.1
# This share of a normal error lies within its standard deviation.
WITHIN_DEVIATION = 0.683
# A median scatters so many times as much as a mean.
MEDIAN_ERROR = 1.2533
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
    rows = [np.flatnonzero(points.row == row) for row in range(count)]
    points = _let_go(points.take(np.concatenate([_spread(points.left, row, MOST_POINTS) for row in rows])), count)
    ends, moving = _lines(points, count)
    for alike in _like_paces(_steady(moving)):
        own = points.take(np.isin(points.row, alike))
        pace = float(np.nanmedian(moving[alike]))
        ends[alike], found.error_ns[alike], found.shared_ns[alike], found.moving_ns[alike] = _together(
            own, ends, pace, alike
        )
    found.time_ns[:] = ends
    return found


def _let_go(points: Burst, count: int) -> Burst:
    """Points without those that their agent held for long, into the pause behind the burst.

    All that is known of them is that they were taken before it. Where an iteration has few others they stay, dated as
    early as they can be.
    """
    widths = [points.doubt_ns[points.row == row] for row in range(count)]
    usual = _usual(np.array([np.median(width) if len(width) else np.nan for width in widths]))
    held = points.doubt_ns > DOUBTFUL * usual[points.row]
    others = np.bincount(points.row[~held], minlength=count)
    early = replace(points, time_ns=np.where(held, points.earliest_ns, points.time_ns))
    return early.take(~held | (others[points.row] < FEWEST_POINTS))


def _spread(left: Float, rows: Int, most: int) -> Int:
    """At most so many of some points, evenly by what was left."""
    if len(rows) <= most:
        return rows
    order = rows[np.argsort(left[rows], kind="stable")]
    return order[np.linspace(0, len(order) - 1, most).astype(np.int64)]


def _lines(points: Burst, count: int) -> tuple[Float, Float]:
    """(count,) end and time for all bytes by each iteration's own line; nan where it has too few samples."""
    ends, moving = np.full(count, np.nan), np.full(count, np.nan)
    for row in range(count):
        here = _spread(points.left, np.flatnonzero(points.row == row), LINE_POINTS)
        left, time_ns = points.left[here], points.time_ns[here]
        steep = slope(left, time_ns, 0.1 * float(np.ptp(left))) if len(left) >= FEWEST_POINTS else np.nan
        if not np.isnan(steep):
            moving[row] = max(-steep, 0.0)
            ends[row] = median(time_ns + moving[row] * left)
    return ends, moving


def _steady(moving: Float) -> Float:
    """Median over neighbouring iterations: one iteration's few samples may mislead, or tell none; nan where all do."""
    return _medians(_around(moving))


def _usual(widths: Float) -> Float:
    """Median of those around; where they change suddenly, of an iteration's own, of those before and those after it.

    The latter is right on both sides of a step, the former scatters less.
    """
    around = _around(widths)
    before, after = _medians(around[:, : STEADY // 2]), _medians(around[:, STEADY // 2 + 1 :])
    sides = np.where(np.isnan(before), after, before), np.where(np.isnan(after), before, after)
    sudden = np.fmax(*sides) > DOUBTFUL * np.fmin(*sides)
    return np.where(sudden, _medians(np.stack([widths, *sides], axis=1)), _medians(around))


def _around(values: Float) -> Float:
    """(n, STEADY) each value among its neighbours; nan where there is none."""
    padded = np.pad(values, STEADY // 2, constant_values=np.nan)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, STEADY), np.float64)


def _medians(rows: Float) -> Float:
    """Median of each row without its nan; nan where all are."""
    known = np.isfinite(rows).any(axis=1)
    medians = np.full(len(rows), np.nan)
    medians[known] = np.nanmedian(rows[known], axis=1)
    return medians


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
    for row in alike[np.isnan(ends[alike])].tolist():
        here = points.row == row  # too few for a line of their own
        ends[row] = np.median((points.time_ns + pace * points.left)[here]) if here.any() else np.nan
    best = points.doubt_ns <= np.quantile(points.doubt_ns, BEST_DATED)
    weight, shape = 1 / (points.doubt_ns + 1.0), np.zeros(len(points.row))
    for _ in range(ROUNDS):
        off = points.time_ns - ends[points.row]
        pace = _pace(points.left, off + pace * points.left, weight, pace)
        shape = _shapes(points, off + pace * points.left)
        left = off + pace * points.left - shape
        scale = _deviation(np.abs(left[best]))
        weight = 1 / (scale**2 + (points.doubt_ns / UNIFORM) ** 2 + 1.0)
        ends[alike] += _centres(left, weight, points.row, alike)
    off = points.time_ns - ends[points.row] + pace * points.left
    last, last_error = _last(points, off, weight)
    # a datagram's samples are dated evenly, whatever came when: all may err alike by as much as that leaves open
    shared = float(np.hypot(last_error, np.median(points.doubt_ns) / UNIFORM))
    return ends[alike] + last, _errors(points, off - shape, weight, alike), shared, pace


def _pace(left: Float, off: Float, weight: Float, pace: float) -> float:
    """The pace at which samples of all iterations lie best on one line, without outlying ones."""
    away = np.abs(off - median(off))
    near = away <= OUTLYING * _deviation(away)
    x, y, w = left[near], off[near], weight[near]
    x, y = x - np.average(x, weights=w), y - np.average(y, weights=w)
    return pace - float((w * x * y).sum() / max((w * x * x).sum(), 1e-30))


def _shapes(points: Burst, off: Float) -> Float:
    """How far each sample's place in the burst is usually off the line: running median of its member, or of all."""
    shape = _running(points.left, off)
    for member in np.unique(points.member).tolist():
        own = np.flatnonzero(points.member == member)
        if len(own) >= 2 * SHAPE_POINTS:
            shape[own] = _running(points.left[own], off[own])
    return shape


def _running(left: Float, off: Float) -> Float:
    window = max(SHAPE_POINTS, round(SHAPE_SHARE * len(off))) | 1
    if len(off) < window:
        return np.full(len(off), np.median(off) if len(off) else 0.0)
    order = np.argsort(left, kind="stable")
    medians = running_medians(off[order], window)
    smooth = np.empty(len(off))
    smooth[order] = np.pad(medians, window // 2, mode="edge")
    return smooth


def _last(points: Burst, off: Float, weight: Float) -> tuple[float, float]:
    """(how much later than the line the last member ends, by its own line; the standard error of that)."""
    best = 0.0, 0.0
    for member in np.unique(points.member).tolist():
        own = np.flatnonzero(points.member == member)
        if len(own) >= 2 * SHAPE_POINTS:
            left, late, heavy = points.left[own], off[own], weight[own]
            straight = late + _pace(left, late, heavy, 0.0) * left
            middle = median(straight)
            scatter = _deviation(np.abs(straight - middle))
            best = max(best, (middle, EXTRAPOLATED * MEDIAN_ERROR * scatter / np.sqrt(len(own))))
    return best


def _centres(off: Float, weight: Float, row: Int, rows: Int) -> Float:
    """Weighted mean of each iteration's samples, without outlying ones; 0 where it has none."""
    return np.array([_centre(off[row == n], weight[row == n]) for n in rows.tolist()])


def _centre(off: Float, weight: Float) -> float:
    if weight.sum() <= 0:  # no sample, or none that is dated at all
        return 0.0
    order = np.argsort(off, kind="stable")
    running = np.cumsum(weight[order])
    middle = float(off[order][np.searchsorted(running, running[-1] / 2)])
    near = np.abs(off - middle) * np.sqrt(weight) <= OUTLYING
    return float(np.average(off[near], weights=weight[near]))


def _errors(points: Burst, left: Float, weight: Float, alike: Int) -> Float:
    """Standard error of each end: by what it rests on, in units of what halves of iterations show."""
    held = np.array([weight[points.row == row].sum() for row in alike.tolist()])
    middle = float(np.median(np.unique(points.member))) if len(points.member) else 0.0
    by_time, by_member, by_agent = [], [], []
    for here in (np.flatnonzero(points.row == row) for row in alike.tolist()):
        order = np.unique(points.earliest_ns[here], return_inverse=True)[1]
        by_time.append(_halves(left[here], weight[here], order % 2 == 0))
        by_member.append(_halves(left[here], weight[here], points.member[here] % 2 == 0))
        by_agent.append(_halves(left[here], weight[here], points.member[here] < middle))
    units = [_deviation(told) for told in map(_known, (by_time, by_member, by_agent)) if len(told) >= FEWEST_ALIKE]
    return np.asarray(max(units, default=np.nan) / np.sqrt(np.where(held > 0, held, np.nan)), np.float64)


def _known(values: list[float]) -> Float:
    every = np.array(values)
    return np.asarray(every[np.isfinite(every)], np.float64)


def _halves(off: Float, weight: Float, first: Bool) -> float:
    """How far two halves of an iteration's samples are apart, in units of what they rest on; nan where one is empty."""
    one, other = float(weight[first].sum()), float(weight[~first].sum())
    if min(one, other) <= 0:
        return float("nan")
    apart = _centre(off[first], weight[first]) - _centre(off[~first], weight[~first])
    return abs(apart) / float(np.sqrt(1 / one + 1 / other))


def _deviation(sizes: Float) -> float:
    """Standard deviation of errors of these sizes, by the share that lies within it."""
    return quantile(sizes, WITHIN_DEVIATION)
