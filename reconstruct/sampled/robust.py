"""Robust slopes, medians and quantiles, compiled: every connection needs them in every iteration."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Float, Int
from reconstruct.compiled import compiled

# So many values in one of as many stretches as there are values are more than chance puts there.
MOST_CROWDED = 32


@compiled
def median(values: Float) -> float:
    """The median of known values, nan of none; of a few, in a tenth of the time that numpy takes."""
    return float(np.median(values)) if len(values) else np.nan


@compiled
def quantile(values: Float, share: float) -> float:
    """What so large a share of known values lies below, between two of them as numpy has it; nan of none."""
    if not len(values):
        return np.nan
    at = (len(values) - 1) * share
    below = int(at)
    ranked = np.partition(values, below)
    low, part = ranked[below], at - below
    high = ranked[below + 1 :].min() if below + 1 < len(values) else low
    return float(high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part)


@compiled
def slope(x: Float, y: Float, least: float) -> float:
    """Median slope of all pairs of points further apart than `least` (Theil and Sen); nan where there are none."""
    slopes, n = np.empty(len(x) * (len(x) - 1) // 2), 0
    for a in range(len(x)):
        for b in range(a + 1, len(x)):
            if abs(x[a] - x[b]) > least:
                slopes[n] = (y[a] - y[b]) / (x[a] - x[b])
                n += 1
    return float(np.median(slopes[:n])) if n else np.nan


@compiled
def evenly(count: int, most: int) -> Int:
    """At most so many of `count` places, the first and the last among them."""
    places = np.arange(min(count, most))
    if len(places) > 1:
        step = (count - 1) / (len(places) - 1)
        for k in range(len(places)):
            places[k] = int(k * step)
        places[-1] = count - 1
    return places


@compiled
def in_order(places: Float, values: Float) -> tuple[Float, Float]:
    """Places from 0 to 1, ascending, and the values there; those of one place stay as they were.

    Samples lie evenly along the bytes of an iteration: each is put where as many as are before it would lie, and then
    only has to pass its neighbours. Where they crowd they are sorted as any others.
    """
    count = len(places)
    bounds = np.zeros(count + 1, np.int64)
    for place in places:
        bounds[min(max(int(place * count), 0), count - 1) + 1] += 1
    if not count or bounds.max() > MOST_CROWDED:
        order = np.argsort(places, kind="mergesort")
        return places[order], values[order]
    bounds = np.cumsum(bounds)
    ranked, ordered = np.empty(count), np.empty(count)
    for n in range(count):
        slot = min(max(int(places[n] * count), 0), count - 1)
        at, bounds[slot] = bounds[slot], bounds[slot] + 1
        ranked[at], ordered[at] = places[n], values[n]
    for n in range(1, count):
        place, value, at = ranked[n], ordered[n], n
        while at > 0 and ranked[at - 1] > place:
            ranked[at], ordered[at] = ranked[at - 1], ordered[at - 1]
            at -= 1
        ranked[at], ordered[at] = place, value
    return ranked, ordered


@compiled
def running_medians(values: Float, window: int) -> Float:
    """(n - window + 1,) the median of every `window` values in a row; none where there are fewer."""
    medians = np.empty(max(len(values) - window + 1, 0))
    ranked = np.sort(values[:window])
    for k in range(len(medians)):
        if k:
            _exchange(ranked, values[k - 1], values[k + window - 1])
        medians[k] = (ranked[(window - 1) // 2] + ranked[window // 2]) / 2
    return medians


@compiled
def running_deviations(values: Float, window: int) -> tuple[Float, Float]:
    """(the median of every `window` values in a row; their median distance from it), (n - window + 1,) each."""
    count = max(len(values) - window + 1, 0)
    medians, found = np.empty(count), np.empty(count)
    ranked = np.sort(values[:window])
    for k in range(count):
        if k:
            _exchange(ranked, values[k - 1], values[k + window - 1])
        medians[k] = (ranked[(window - 1) // 2] + ranked[window // 2]) / 2
        found[k] = _median_distance(ranked, medians[k])
    return medians, found


@compiled
def _median_distance(ranked: Float, middle: float) -> float:
    """The median distance of ascending values from their middle: the nearest half of them stands in a row."""
    half = len(ranked) // 2
    first, last = 0, len(ranked) - half - 1
    while first < last:
        between = (first + last) // 2
        if middle - ranked[between] > ranked[between + half + 1] - middle:
            first = between + 1
        else:
            last = between
    last = first + half
    below, above = middle - ranked[first], ranked[last] - middle
    if len(ranked) % 2:
        return float(max(below, above))
    before = max(middle - ranked[first + 1], above) if below > above else max(below, ranked[last - 1] - middle)
    return float((before + max(below, above)) / 2)


@compiled
def _exchange(ranked: Float, old: float, new: float) -> None:
    """Put one value in another one's stead into ascending values."""
    at = 0  # counted, not searched: no branch of that is taken amiss
    for value in ranked:
        at += value < old
    while at + 1 < len(ranked) and ranked[at + 1] < new:
        ranked[at] = ranked[at + 1]
        at += 1
    while at > 0 and ranked[at - 1] > new:
        ranked[at] = ranked[at - 1]
        at -= 1
    ranked[at] = new
