"""Autocorrelation of a few spikes, or many, on an axis of bins: what comes back after how far."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import always_compiled

Complex = npt.NDArray[np.complex128]

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
            raw[np.uint64(place[k] - here)] += own * weight[k]  # unsigned: nobody asks whether it counts from the end
    return raw


@always_compiled
def _by_fourier(place: Int, weight: Float, bins: int) -> Float:
    """The same from the power spectrum (Wiener-Khinchin), with as many empty bins behind so that nothing wraps."""
    signal = np.zeros(2 * bins, np.complex128)
    for k in range(len(place)):
        signal[place[k]] += weight[k]
    _transform(signal)
    for k in range(2 * bins):
        signal[k] = signal[k].real ** 2 + signal[k].imag ** 2
    _transform(signal)
    return signal.real[:bins] / (2 * bins)


@always_compiled
def _transform(signal: Complex) -> None:
    """Discrete Fourier transform in place (Cooley-Tukey, radix 2); the length is a power of two."""
    size, target = len(signal), 0
    for k in range(1, size):
        bit = size >> 1
        while target & bit:
            target ^= bit
            bit >>= 1
        target |= bit
        if k < target:
            signal[k], signal[target] = signal[target], signal[k]
    turn = np.exp(-2j * np.pi * np.arange(size // 2) / size)
    half = 1
    while half < size:
        step = size // (2 * half)
        for begin in range(0, size, 2 * half):
            for k in range(half):
                a, b = signal[begin + k], signal[begin + k + half] * turn[k * step]
                signal[begin + k], signal[begin + k + half] = a + b, a - b
        half *= 2
