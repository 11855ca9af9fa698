"""Robust slopes and running medians, compiled: every connection needs them in every iteration."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Float, Int
from reconstruct.compiled import compiled


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
def running_deviations(values: Float, window: int) -> Float:
    """(n - window + 1,) the median distance of every `window` values in a row from their median."""
    found = np.empty(max(len(values) - window + 1, 0))
    ranked = np.sort(values[:window])
    for k in range(len(found)):
        if k:
            _exchange(ranked, values[k - 1], values[k + window - 1])
        found[k] = _median_distance(ranked, (ranked[(window - 1) // 2] + ranked[window // 2]) / 2)
    return found


@compiled
def _median_distance(ranked: Float, middle: float) -> float:
    """The median distance of ascending values from their median: the nearest lie on both sides of it, step by step."""
    above = len(ranked) // 2
    below = above - 1
    last = before = 0.0
    for _ in range(len(ranked) // 2 + 1):
        before = last
        if below < 0 or (above < len(ranked) and ranked[above] - middle <= middle - ranked[below]):
            last = ranked[above] - middle
            above += 1
        else:
            last = middle - ranked[below]
            below -= 1
    return last if len(ranked) % 2 else (before + last) / 2


@compiled
def _exchange(ranked: Float, old: float, new: float) -> None:
    """Put one value in another one's stead into ascending values."""
    at = np.searchsorted(ranked, old)
    while at + 1 < len(ranked) and ranked[at + 1] < new:
        ranked[at] = ranked[at + 1]
        at += 1
    while at > 0 and ranked[at - 1] > new:
        ranked[at] = ranked[at - 1]
        at -= 1
    ranked[at] = new
