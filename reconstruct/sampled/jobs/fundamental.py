"""The fundamental of a spectrum: how many cycles a window holds when peaks may show their multiples only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainccinv

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.robust_statistics import peaks_apart
from reconstruct.sampled.jobs.dwell_spectrum import STEPS_A_CYCLE, Spectrum

FEWEST_CYCLES = 3.0
# The chance that noise makes any peak of a window significant.
FALSE_PEAKS = 0.01
# Main lobe of the Hann window, in cycles from its centre; nothing within it is a peak of its own.
LOBE_CYCLES = 2.0
# A peak is a multiple of the fundamental when off by no more than so many cycles, or this share of the fundamental.
OFF_CYCLES, OFF_SHARE = 0.5, 0.15
# The fundamental is the greatest that explains this share of the significant power.
EXPLAINED = 0.85
MOST_HARMONICS = 24


@dataclass(frozen=True, slots=True)
class Fundamental:
    """What a set of connections shares.

    Attributes:
        cycles: in the window; not a whole number where the window cuts the last one.
        peaks: (p,) steps of the spectrum where its harmonics stand out.
    """

    cycles: float
    peaks: Int


def fundamental(found: Spectrum) -> Fundamental | None:
    """The greatest number of cycles of which the significant peaks are whole multiples; None without peaks.

    Sharded training repeats by the layer: its pauses show the fourth, fifth and ninth multiple of the iteration and
    next to nothing of the first. A pipeline shows its micro-batches, the gradient groups beside it the iteration.
    """
    peaks = _significant(found)
    if not len(peaks):
        return None
    place, height = peaks / STEPS_A_CYCLE, found.power[peaks] - 1.0
    strongest = float(place[np.argmax(height)])
    for divisor in range(1, MOST_HARMONICS + 1):
        cycles = strongest / divisor
        if cycles < FEWEST_CYCLES:
            return None
        sharpened, fits = _multiples(place, height, cycles)
        if height[fits].sum() >= EXPLAINED * height.sum():
            return Fundamental(sharpened, peaks[fits])
    return None


def _significant(found: Spectrum) -> Int:
    """Steps of the peaks that noise of the background's height, exponential in each connection, does not make."""
    independent = len(found.power) / STEPS_A_CYCLE
    shape = found.connections
    threshold = float(gammainccinv(shape, FALSE_PEAKS / independent) / shape)
    lobe = int(LOBE_CYCLES * STEPS_A_CYCLE)
    peaks = peaks_apart(found.power, threshold, lobe)
    return peaks[peaks >= FEWEST_CYCLES * STEPS_A_CYCLE]


def _multiples(place: Float, height: Float, cycles: float) -> tuple[float, Bool]:
    """(fundamental, which peaks are multiples of it), sharpened from the lowest one on.

    A peak is known to a step of the spectrum; an error in the first one grows with the multiple, so each peak that fits
    sharpens what the next one is measured by.
    """
    fits = np.zeros(len(place), np.bool_)
    for n in np.argsort(place, kind="stable").tolist():
        times = max(round(place[n] / cycles), 1)
        if abs(place[n] - times * cycles) <= min(OFF_CYCLES, OFF_SHARE * cycles):
            fits[n] = True
            cycles = _sharpened(place[fits], height[fits], cycles)
    return cycles, fits


def _sharpened(place: Float, height: Float, cycles: float) -> float:
    """Least squares over the peaks, each weighted by its height: higher multiples tell the fundamental closer."""
    times = np.maximum(np.rint(place / cycles), 1.0)
    return float((height * times * place).sum() / (height * times * times).sum())
