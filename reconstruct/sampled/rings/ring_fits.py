"""Lines, shapes and centres of a ring's samples, compiled: each is asked for in every iteration, or of every member.

Samples are given with the bounds of those that belong together.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled
from reconstruct.numeric.robust_statistics import evenly, median, quantile, running_medians, slope

# Fewer points draw no line, and more than so many are not needed for one.
FEWEST_POINTS, LINE_POINTS = 4, 48
# The shape of a burst is a running median over so many samples at least, and over this share of them.
SHAPE_POINTS, SHAPE_SHARE = 9, 1 / 32
# Samples further off than so many deviations were held back, or are of another message.
OUTLYING = 3.0
# This share of a normal error lies within its standard deviation.
WITHIN_DEVIATION = 0.683


@compiled
def lines(left: Float, time_ns: Float, bounds: Int) -> tuple[Float, Float]:
    """End and time for all bytes by each iteration's own line; nan where it has too few samples."""
    ends, moving = np.full(len(bounds) - 1, np.nan), np.full(len(bounds) - 1, np.nan)
    for n in range(len(ends)):
        x, y = left[bounds[n] : bounds[n + 1]], time_ns[bounds[n] : bounds[n + 1]]
        if len(x) < FEWEST_POINTS:
            continue
        if len(x) > LINE_POINTS:
            some = np.argsort(x, kind="mergesort")[evenly(len(x), LINE_POINTS)]
            x, y = x[some], y[some]
        steep = slope(x, y, 0.1 * (x.max() - x.min()))
        if not np.isnan(steep):
            moving[n] = max(-steep, 0.0)
            ends[n] = median(y + moving[n] * x)
    return ends, moving


@compiled
def deviation(sizes: Float) -> float:
    """Standard deviation of errors of these sizes, by the share that lies within it."""
    return quantile(sizes, WITHIN_DEVIATION)


@compiled
def pace_of(left: Float, off: Float, weight: Float, pace: float) -> float:
    """The pace at which samples of all iterations lie best on one line, without outlying ones."""
    away = np.abs(off - median(off))
    near = away <= OUTLYING * deviation(away)
    x, y, w = left[near], off[near], weight[near]
    total = np.sum(w)
    x, y = x - np.sum(x * w) / total, y - np.sum(y * w) / total
    return pace - float(np.sum(w * x * y) / max(np.sum(w * x * x), 1e-30))


@compiled
def shapes(by_left: Int, by_member: Int, members: Int, off: Float) -> Float:
    """How far each sample's place in the burst is usually off the line: running median of its member, or of all.

    Args:
        by_left: samples by what was left.
        by_member: samples by member, those of each by what was left.
        members: where those of each member begin.
        off: how far each sample is off the line.
    """
    shape = np.empty(len(off))
    _smooth(by_left, off, shape)
    for n in range(len(members) - 1):
        own = by_member[members[n] : members[n + 1]]
        if len(own) >= 2 * SHAPE_POINTS:
            _smooth(own, off, shape)
    return shape


@compiled
def _smooth(order: Int, off: Float, shape: Float) -> None:
    """The running median of some samples into their shape; as it is nearest to the ends, up to these."""
    window = max(SHAPE_POINTS, round(SHAPE_SHARE * len(order))) | 1
    if len(order) < window:
        shape[order] = median(off[order])
        return
    medians = running_medians(off[order], window)
    for n in range(len(order)):
        shape[order[n]] = medians[min(max(n - window // 2, 0), len(medians) - 1)]


@compiled
def ends_of_members(left: Float, off: Float, weight: Float, by_member: Int, members: Int) -> tuple[Float, Float]:
    """(how much later than the line each member ends, by its own; the scatter of that over the root of its samples).

    Members of few samples are left out.
    """
    middle, error, found = np.empty(len(members)), np.empty(len(members)), 0
    for n in range(len(members) - 1):
        own = by_member[members[n] : members[n + 1]]
        if len(own) >= SHAPE_POINTS:
            straight = off[own] + pace_of(left[own], off[own], weight[own], 0.0) * left[own]
            middle[found] = median(straight)
            error[found] = deviation(np.abs(straight - middle[found])) / np.sqrt(len(own))
            found += 1
    return middle[:found], error[:found]


@compiled
def centres(off: Float, weight: Float, bounds: Int) -> Float:
    """Weighted mean of each iteration's samples, without outlying ones; 0 where it has none."""
    found = np.empty(len(bounds) - 1)
    for n in range(len(found)):
        found[n] = _centre(off[bounds[n] : bounds[n + 1]], weight[bounds[n] : bounds[n + 1]])
    return found


@compiled
def _centre(off: Float, weight: Float) -> float:
    if np.sum(weight) <= 0:  # no sample, or none that is dated at all
        return 0.0
    order = np.argsort(off)
    running = np.cumsum(weight[order])
    middle = off[order[np.searchsorted(running, running[-1] / 2)]]
    total = value = 0.0
    for n in range(len(off)):
        if abs(off[n] - middle) * np.sqrt(weight[n]) <= OUTLYING:
            total += weight[n]
            value += weight[n] * off[n]
    return value / total


@compiled
def halves(
    earliest_ns: Float, member: Int, middle: float, off: Float, weight: Float, bounds: Int
) -> tuple[Float, Float, Float, Float]:
    """What each iteration's end rests on, and how far its halves are apart in units of what these rest on.

    Halves are every other datagram, every other member, and the members before `middle`; nan where one is empty.
    """
    rows = len(bounds) - 1
    held, by_time, by_member, by_agent = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for n in range(rows):
        own = slice(bounds[n], bounds[n + 1])
        held[n] = np.sum(weight[own])
        by_time[n] = _apart(off[own], weight[own], _every_other(earliest_ns[own]))
        by_member[n] = _apart(off[own], weight[own], member[own] % 2 == 0)
        by_agent[n] = _apart(off[own], weight[own], member[own] < middle)
    return held, by_time, by_member, by_agent


@compiled
def _every_other(values: Float) -> Bool:
    """Which values are the first, third ... of the different ones among them."""
    order, chosen, even = np.argsort(values), np.ones(len(values), np.bool_), True
    for n in range(1, len(order)):
        even ^= values[order[n]] != values[order[n - 1]]
        chosen[order[n]] = even
    return chosen


@compiled
def _apart(off: Float, weight: Float, first: Bool) -> float:
    one, other = np.sum(weight[first]), np.sum(weight[~first])
    if min(one, other) <= 0:
        return np.nan
    apart = _centre(off[first], weight[first]) - _centre(off[~first], weight[~first])
    return float(abs(apart) / np.sqrt(1 / one + 1 / other))
