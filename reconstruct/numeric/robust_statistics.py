"""Robust slopes, medians and quantiles, compiled: every connection needs them in every iteration."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled

# So many values in one of as many stretches as there are values are more than chance puts there.
MOST_CROWDED = 32
# Processors handle so many values at once.
LANES = 16
# Exchanging one value in a window of more takes longer than counting by rank.
WIDE = 1000


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


def peaks_apart(height: Float, least: float, distance: int) -> Int:
    """Places of the local maxima from `least` on, the highest of any that lie closer together than `distance`."""
    from scipy.signal import find_peaks  # noqa: PLC0415 - takes a quarter of a start, and few commands see samples

    return np.asarray(find_peaks(height, height=least, distance=distance)[0], np.int64)


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
    if window > WIDE:
        return _wide_medians(values, window)
    medians = np.empty(max(len(values) - window + 1, 0))
    ranked, spare = _ranked(values, window)
    for k in range(len(medians)):
        if k:
            _exchange(ranked, spare, values[k - 1], values[k + window - 1])
        medians[k] = (ranked[(window - 1) // 2] + ranked[window // 2]) / 2
    return medians


@compiled
def _wide_medians(values: Float, window: int) -> Float:
    """The same in steps that hardly grow with the window: values are counted by rank, in a tree of sums (Fenwick)."""
    medians, order = np.empty(max(len(values) - window + 1, 0)), np.argsort(values, kind="mergesort")
    rank, top = np.empty(len(values), np.int64), 1
    for place in range(len(values)):
        rank[order[place]] = place
    while 2 * top <= len(values):
        top *= 2
    counts = np.zeros(len(values) + 1, np.int64)
    for n in range(len(values)):
        _count(counts, rank[n], 1)
        if n >= window:
            _count(counts, rank[n - window], -1)
        if n + 1 >= window:
            low, high = _nth(counts, top, (window - 1) // 2), _nth(counts, top, window // 2)
            medians[n + 1 - window] = (values[order[low]] + values[order[high]]) / 2
    return medians


@compiled
def _count(counts: Int, rank: int, more: int) -> None:
    at = rank + 1
    while at < len(counts):
        counts[at] += more
        at += at & -at


@compiled
def _nth(counts: Int, top: int, n: int) -> int:
    """The rank of the nth of those that are counted, from 0 on."""
    at, step = 0, top
    while step:
        if at + step < len(counts) and counts[at + step] <= n:
            at += step
            n -= counts[at]
        step //= 2
    return at


@compiled
def calm_medians(values: Float, window: int, most: float) -> tuple[Float, bool]:
    """(the same; whether the median of their median distances from values is surely no more than so much).

    It is where in most of them that half of the values which stands in the middle lies so near: no half lies nearer
    than the nearest one.
    """
    medians, calm = np.empty(max(len(values) - window + 1, 0)), 0
    ranked, spare = _ranked(values, window)
    first = (window - window // 2 - 1) // 2
    last = first + window // 2
    for k in range(len(medians)):
        if k:
            _exchange(ranked, spare, values[k - 1], values[k + window - 1])
        medians[k] = (ranked[(window - 1) // 2] + ranked[window // 2]) / 2
        calm += max(medians[k] - ranked[first], ranked[last] - medians[k]) <= most
    return medians, 2 * calm > len(medians)


@compiled
def running_deviations(values: Float, window: int) -> Float:
    """(n - window + 1,) the median distance of every `window` values in a row from their median."""
    found = np.empty(max(len(values) - window + 1, 0))
    ranked, spare = _ranked(values, window)
    for k in range(len(found)):
        if k:
            _exchange(ranked, spare, values[k - 1], values[k + window - 1])
        found[k] = _median_distance(ranked[:window], (ranked[(window - 1) // 2] + ranked[window // 2]) / 2)
    return found


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
def _ranked(values: Float, window: int) -> tuple[Float, Float]:
    """(the first values of a window, ascending, and infinity behind them; room to exchange one, infinity around it)."""
    size = -(-window // LANES) * LANES + 1
    ranked, spare = np.full(size, np.inf), np.full(size, np.inf)
    first = np.sort(values[:window])
    ranked[: len(first)] = first
    spare[0] = -np.inf
    return ranked, spare


@compiled
def _exchange(ranked: Float, spare: Float, old: float, new: float) -> None:
    """Put one value in another one's stead into ascending values: all move, or not, at once, and no branch is amiss."""
    last = len(ranked) - 1
    for n in range(last):
        spare[n + 1] = ranked[n] if ranked[n] < old else ranked[n + 1]
    for n in range(last):
        before = max(new, spare[n])
        ranked[n] = min(spare[n + 1], before)
