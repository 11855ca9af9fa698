"""Dwell times: how long a connection stayed at each place of its byte axis, and what repeats there.

On the clock a rhythm blurs as soon as iterations differ in length; on the axis of bytes sent, the pauses of every
iteration lie where those of the one before did, however slow it was. Connections of one job go through equally many
cycles, so their spectra over cycles per window add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int
from reconstruct.compiled import compiled
from reconstruct.sampled.progress import Progress

FEWEST_BINS, MOST_BINS = 256, 1 << 15
BINS_A_POINT = 4
# Spectra are sampled so many times a cycle.
STEPS_A_CYCLE = 4
# Pauses are clipped at the length which, with the longer ones, holds this share of all time: a checkpoint shall not
# outweigh the rhythm.
LONGEST_SHARE = 0.4
# The background of a spectrum is its median over stretches of so many cycles.
BACKGROUND_CYCLES = 50


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
    gap = np.diff(time_ns)
    longest = np.sort(gap)[::-1]
    running = np.cumsum(longest)
    cap = longest[min(int(np.searchsorted(running, LONGEST_SHARE * running[-1])), len(longest) - 1)]
    clock = np.concatenate([[0.0], np.cumsum(np.minimum(gap, cap))])
    # points of equal position would hide the pause between them
    apart = position + np.arange(len(position)) * 1e-9 * max(float(position[-1]), 1.0)
    return np.asarray(np.diff(np.interp(np.linspace(apart[0], apart[-1], bins + 1), apart, clock)), np.float64)


def bins_for(points: int) -> int:
    """How finely a curve of so many points is worth resolving: a power of two."""
    return int(np.clip(1 << int(np.ceil(np.log2(BINS_A_POINT * max(points, 1)))), FEWEST_BINS, MOST_BINS))


def spectrum(progress: Progress, connection: int) -> Float:
    """(steps,) power of one connection's dwell times over cycles per window, in units of its background."""
    time_ns, position = progress.curve(connection)
    bins = bins_for(len(time_ns))
    uneven = dwell_ns(time_ns, position, bins)
    uneven = (uneven - uneven.mean()) * np.hanning(bins)
    power = np.abs(np.fft.rfft(uneven, bins * STEPS_A_CYCLE)) ** 2
    power = power[: len(time_ns) * STEPS_A_CYCLE]  # more cycles than points cannot be told apart
    return flattened(power)


def flattened(power: Float) -> Float:
    """Power in units of its own background."""
    return np.asarray(power / _background(power), np.float64)


def pooled(spectra: list[Float]) -> Spectrum:
    """The mean of several connections' spectra; where a connection is too coarse to be resolved, the others count."""
    total, count = np.zeros(max(len(s) for s in spectra)), np.zeros(max(len(s) for s in spectra))
    for one in spectra:
        total[: len(one)] += one
        count[: len(one)] += 1
    mean = total / count
    return Spectrum(mean / _background(mean), len(spectra))


def _background(power: Float) -> Float:
    """The local median as a smooth curve; never 0."""
    stretch = min(BACKGROUND_CYCLES * STEPS_A_CYCLE, len(power))
    centres = np.arange(stretch // 2, len(power), max(stretch // 4, 1))
    medians = _medians(power, centres, stretch // 2)
    # the mean of exponentially distributed power is its median over ln 2
    level = np.interp(np.arange(len(power)), centres, medians) / np.log(2)
    return np.asarray(np.maximum(level, 1e-300), np.float64)


@compiled
def _medians(values: Float, centres: Int, reach: int) -> Float:
    """The median within reach of each centre."""
    found = np.empty(len(centres))
    for n in range(len(centres)):
        found[n] = np.median(values[max(centres[n] - reach, 0) : centres[n] + reach + 1])
    return found
