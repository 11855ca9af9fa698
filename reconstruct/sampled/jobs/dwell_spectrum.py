"""Dwell times: how long a connection stayed at each place of its byte axis, and what repeats there.

On the clock a rhythm blurs as soon as iterations differ in length; on the axis of bytes sent, the pauses of every
iteration lie where those of the one before did, however slow it was. Connections of one job go through equally many
cycles, so their spectra over cycles per window add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled
from reconstruct.sampled.curves.progress_curves import ProgressCurves

FEWEST_BINS, MOST_BINS = 256, 1 << 15
BINS_A_POINT = 4
# Spectra are sampled so many times a cycle.
STEPS_A_CYCLE = 4
# Pauses are clipped at the length which, with the longer ones, holds this share of all time: a checkpoint shall not
# outweigh the rhythm.
LONGEST_SHARE = 0.4
# The background of a spectrum is its median over stretches of so many cycles.
BACKGROUND_CYCLES = 50
# The median of one stretch is usually that of the one before, to this factor: they share three quarters. Else it is
# looked for in so many steps of that.
AS_USUAL, MOST_STEPS = 0.85, 6


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Power over cycles per window, mean over connections, in units of its own background.

    Attributes:
        power: (steps,) step k is `k / STEPS_A_CYCLE` cycles.
        connections: over how many it is the mean.
    """

    power: Float
    connections: int


def dwell_ns(time_ns: Float, position: Float, bins: int) -> Float:
    """(bins,) time spent in equal steps of position: spread evenly between two points, long pauses clipped."""
    return _spread(time_ns, position, np.sort(np.diff(time_ns)), bins)


@compiled
def _spread(time_ns: Float, position: Float, pauses: Float, bins: int) -> Float:
    """The same, of a curve and its pauses by length."""
    cap = _longest(pauses)
    apart, clock = position.copy(), np.zeros(len(position))
    for n in range(1, len(position)):
        # points of equal position would hide the pause between them
        apart[n] += n * 1e-9 * max(position[-1], 1.0)
        clock[n] = clock[n - 1] + min(time_ns[n] - time_ns[n - 1], cap)
    found, step = np.empty(bins), (apart[-1] - apart[0]) / bins
    point, steep, before = -1, 0.0, 0.0
    for k in range(bins):
        at = (k + 1) * step + apart[0]
        while point < 0 or (point + 2 < len(apart) and apart[point + 1] <= at):
            point += 1
            steep = (clock[point + 1] - clock[point]) / (apart[point + 1] - apart[point])
        now = steep * (at - apart[point]) + clock[point] if k + 1 < bins and at < apart[-1] else clock[-1]
        found[k], before = now - before, now
    return found


@compiled
def _longest(pauses: Float) -> float:
    """The pause, of ascending ones, which with the longer ones holds `LONGEST_SHARE` of all time."""
    total = running = 0.0
    for pause in pauses[::-1]:
        total += pause
    for pause in pauses[::-1]:
        running += pause
        if running >= LONGEST_SHARE * total:
            break
    return float(pause)


def bins_for(points: int) -> int:
    """How finely a curve of so many points is worth resolving: a power of two."""
    return min(max(1 << (BINS_A_POINT * max(points, 1) - 1).bit_length(), FEWEST_BINS), MOST_BINS)


def spectrum(progress: ProgressCurves, connection: int) -> Float:
    """(steps,) power of one connection's dwell times over cycles per window, in units of its background."""
    time_ns, position = progress.curve(connection)
    bins = bins_for(len(time_ns))
    uneven = dwell_ns(time_ns, position, bins)
    wave = np.fft.rfft((uneven - uneven.mean()) * _hann(bins), bins * STEPS_A_CYCLE)
    wave = wave[: len(time_ns) * STEPS_A_CYCLE]  # more cycles than points cannot be told apart
    return flattened(wave.real**2 + wave.imag**2)


@lru_cache(maxsize=8)
def _hann(bins: int) -> Float:
    return np.asarray(np.hanning(bins), np.float64)


def flattened(power: Float) -> Float:
    """Power in units of its own background: the local median as a smooth curve, never 0."""
    stretch = min(BACKGROUND_CYCLES * STEPS_A_CYCLE, len(power))
    centres = np.arange(stretch // 2, len(power), max(stretch // 4, 1))
    return _over(power, centres, _medians(power, centres, stretch // 2))


def pooled(spectra: list[Float]) -> Spectrum:
    """The mean of several connections' spectra; where a connection is too coarse to be resolved, the others count."""
    total, count = np.zeros(max(len(s) for s in spectra)), np.zeros(max(len(s) for s in spectra))
    for one in spectra:
        total[: len(one)] += one
        count[: len(one)] += 1
    return Spectrum(flattened(total / count), len(spectra))


@compiled
def _medians(values: Float, centres: Int, reach: int) -> Float:
    """The median within reach of each centre."""
    found = np.empty(len(centres))
    near, usual = np.empty(2 * reach + 1), 0.0
    for n in range(len(centres)):
        some = values[max(centres[n] - reach, 0) : centres[n] + reach + 1]
        usual = _middle(some, usual, near) if len(some) % 2 and usual > 0 else np.median(some)
        found[n] = usual
    return found


@compiled
def _middle(values: Float, usual: float, near: Float) -> float:
    """The median, looked for from the usual one on: counting what is smaller is quick, and few are as large."""
    low, high, half = usual * AS_USUAL, usual / AS_USUAL, len(values) // 2
    for _ in range(MOST_STEPS):
        below = upto = count = 0
        for n in range(len(values)):
            below += values[n] < low
            upto += values[n] <= high
        if below <= half < upto:
            for value in values:
                near[count] = value
                count += (value >= low) & (value <= high)
            return _ranked(near[:count], half - below)
        low, high = (low * AS_USUAL, low) if half < below else (high, high / AS_USUAL)
    return float(np.median(values))


@compiled
def _ranked(values: Float, rank: int) -> float:
    """The value that so many of a few are smaller than: these are counted, in less time than they are sorted in."""
    for one in values:
        less = same = 0
        for value in values:
            less += value < one
            same += value == one
        if less <= rank < less + same:
            return float(one)
    return np.nan


@compiled
def _over(power: Float, centres: Int, levels: Float) -> Float:
    """Power over the levels, straight from centre to centre, and even before the first and behind the last."""
    found = np.empty(len(power))
    _divided(power, 0, centres[0], levels[0], 0.0, found)
    for n in range(len(centres) - 1):
        steep = (levels[n + 1] - levels[n]) / (centres[n + 1] - centres[n])
        _divided(power, centres[n], centres[n + 1], levels[n], steep, found)
    _divided(power, centres[-1], len(power), levels[-1], 0.0, found)
    return found


@compiled
def _divided(power: Float, first: int, last: int, level: float, steep: float, found: Float) -> None:
    # the mean of exponentially distributed power is its median over ln 2
    for k in range(first, last):
        found[k] = power[k] / max((steep * (k - first) + level) / np.log(2), 1e-300)
