"""Autocorrelation of a few spikes, or many, on an axis of bins: what comes back after how far."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import always_compiled

# Each spike is spread over its neighbours (1, 2, 3, 2, 1) / 3; spikes apart correlate by this kernel with itself.
SPREAD = (19 / 9, 16 / 9, 10 / 9, 4 / 9, 1 / 9)
SPREAD_SUM = 3.0
# Distances up to this share of the axis are looked at: beyond, too little overlaps.
FARTHEST_SHARE = 0.6
# Room behind the farthest distance for windows about it.
MARGIN = 24
# Pairs of spikes cost less than a Fourier transform, bin for bin, up to so many a bin.
PAIRS_PER_BIN = 60


@always_compiled
def autocorrelation(place: Int, weight: Float, bins: int) -> Float:
    """Autocorrelation of weighted spikes against distance in bins: 1 at distance 0, corrected for shrinking overlap.

    The mean is taken out first, as if every bin without a spike were a spike of weight 0.

    Args:
        place: (spikes,) bin of each, ascending, 0 <= place < bins.
        weight: (spikes,).
        bins: length of the axis, a power of two.

    Returns:
        (min(bins, 0.6 bins + 24),) values; all 0 where there is no variance.
    """
    lags = min(bins, int(FARTHEST_SHARE * bins) + MARGIN)
    if len(place) * len(place) < 2 * PAIRS_PER_BIN * bins:
        raw = _by_pairs(place, weight, lags)
    else:
        raw = _by_fourier(place, weight, bins)[:lags]
    values = _less_mean(_smoothed(raw), _running(place, weight, bins))
    if values[0] <= 0:
        return np.zeros(lags)
    scale = 1 / values[0]
    for lag in range(lags):
        values[lag] *= scale * bins / (bins - lag)
    return values


@always_compiled
def _smoothed(raw: Float) -> Float:
    """What spikes correlate like once they are spread over their neighbours."""
    lags = len(raw)
    padded = np.zeros(lags + 8)
    padded[4 : lags + 4] = raw
    for k in range(1, 5):
        padded[4 - k] = raw[k]
    values = np.empty(lags)
    for lag in range(lags):
        total = SPREAD[0] * padded[lag + 4] + SPREAD[1] * (padded[lag + 3] + padded[lag + 5])
        total += SPREAD[2] * (padded[lag + 2] + padded[lag + 6]) + SPREAD[3] * (padded[lag + 1] + padded[lag + 7])
        values[lag] = total + SPREAD[4] * (padded[lag] + padded[lag + 8])
    return values


@always_compiled
def _running(place: Int, weight: Float, bins: int) -> Float:
    """(bins + 1,) weight before each bin."""
    before = np.empty(bins + 1)
    total, b = 0.0, 0
    for k in range(len(place)):
        before[b : place[k] + 1] = total
        b = place[k] + 1
        total += SPREAD_SUM * weight[k]
    before[b:] = total
    return before


@always_compiled
def _less_mean(values: Float, before: Float) -> Float:
    """Take what the mean contributes out of the sums of products, in place."""
    bins = len(before) - 1
    whole = before[bins]
    mean = whole / bins
    for lag in range(len(values)):
        values[lag] += mean * (mean * (bins - lag) - (before[bins - lag] + whole - before[lag]))
    return values


@always_compiled
def _by_pairs(place: Int, weight: Float, lags: int) -> Float:
    """Sum over pairs of spikes at each distance; both orders of a pair of one bin."""
    raw = np.zeros(lags)
    until = 0
    for i in range(len(place)):
        here, own = place[i], weight[i]
        while until < len(place) and place[until] - here < lags:
            until += 1
        raw[0] += own * own
        j = i + 1
        while j < until and place[j] == here:
            raw[0] += 2.0 * own * weight[j]
            j += 1
        for k in range(j, until):
            raw[np.uint64(place[k] - here)] += own * weight[k]  # unsigned: no check whether it counts from the end
    return raw


@always_compiled
def _by_fourier(place: Int, weight: Float, bins: int) -> Float:
    """The same from the power spectrum (Wiener-Khinchin), with as many empty bins behind so that nothing wraps."""
    size = 2 * bins
    cosine, sine = _turns(size)
    mirrored = _mirrored(size)
    real, imaginary = np.zeros(size), np.zeros(size)
    for k in range(len(place)):
        real[mirrored[place[k]]] += weight[k]
    _transform(real, imaginary, cosine, sine)
    power = np.empty(size)
    for k in range(size):
        power[mirrored[k]] = real[k] ** 2 + imaginary[k] ** 2
    imaginary[:] = 0
    _transform(power, imaginary, cosine, sine)
    return power[:bins] / size


@always_compiled
def _turns(size: int) -> tuple[Float, Float]:
    """Cosine and sine of what each stage of a transform turns by: those of blocks of h values from h to 2 h."""
    turn = np.exp(-2j * np.pi * np.arange(size // 2) / size)
    cosine, sine = np.empty(size), np.empty(size)
    half = 1
    while half < size:
        step = size // (2 * half)
        for k in range(half):
            cosine[half + k], sine[half + k] = turn[k * step].real, turn[k * step].imag
        half *= 2
    return cosine, sine


@always_compiled
def _mirrored(size: int) -> Int:
    """(size,) each number with the bits of `size - 1` in reverse."""
    found = np.zeros(size, np.int64)
    half = 1
    while half < size:
        for k in range(half):
            found[k] *= 2
            found[half + k] = found[k] + 1
        half *= 2
    return found


@always_compiled
def _transform(real: Float, imaginary: Float, cosine: Float, sine: Float) -> None:
    """Discrete Fourier transform in place (Cooley-Tukey, radix 2) of values in mirrored order, four at least.

    Real and imaginary parts lie apart, and so do the turns of each stage: processors take several at a time then.
    """
    _begin(real, imaginary, cosine, sine)
    half = 4
    while half < len(real):
        for begin in range(0, len(real), 2 * half):
            for k in range(half):
                # unsigned: no check whether it counts from the end
                a, b, t = np.uint64(begin + k), np.uint64(begin + k + half), np.uint64(half + k)
                x = real[b] * cosine[t] - imaginary[b] * sine[t]
                y = real[b] * sine[t] + imaginary[b] * cosine[t]
                real[b], imaginary[b] = real[a] - x, imaginary[a] - y
                real[a], imaginary[a] = real[a] + x, imaginary[a] + y
        half *= 2


@always_compiled
def _begin(real: Float, imaginary: Float, cosine: Float, sine: Float) -> None:
    """The first two stages, four values at a time."""
    for n in range(0, len(real), 4):
        for first, half, t in ((n, 1, 1), (n + 2, 1, 1), (n, 2, 2), (n + 1, 2, 3)):
            other = first + half
            x = real[other] * cosine[t] - imaginary[other] * sine[t]
            y = real[other] * sine[t] + imaginary[other] * cosine[t]
            real[other], imaginary[other] = real[first] - x, imaginary[first] - y
            real[first], imaginary[first] = real[first] + x, imaginary[first] + y
