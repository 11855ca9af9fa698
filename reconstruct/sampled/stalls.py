"""Stalls inside a ring: whose connection sends all the time, and whose waits for it at the end of every step.

Where one link of a ring is slow, all members move their bytes at its pace, so no rate tells it apart. But only the slow
link is busy all the time; the others pass each chunk quickly and then rest until the next one comes round. Steps lie
at the same places of the bytes in every iteration (a ring of n moves its bytes in 2 (n - 1) steps a bucket), so these
rests add up to waves along the bytes where samples of single iterations show nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from datamodel.streams import Bool, Float, Int
from reconstruct.sampled.folded import MEDIAN_TO_SD, Points

# Before this share of the bytes members stall for one that arrived late, whatever the links do.
AFTER_ARRIVAL = 0.15
# Waves of fewer cycles an iteration are the curve's own bend; with fewer samples a cycle none can be told.
LOWEST, HIGHEST, SAMPLES_A_CYCLE = 3, 48, 2
FEWEST_POINTS = 40
# Further off than so many deviations are samples that were held back for long.
HELD_BACK = 4.0
# By chance some wave of a ring is as high this often.
CHANCE = 0.0001
_ROUNDS = 3
# The median of a chi-squared variable of two degrees of freedom is this many times half its mean.
_MEDIAN_POWER = 2 * float(np.log(2))


@dataclass(frozen=True, slots=True)
class Stalls:
    """How far each member's samples swing about an even pace, ns: (members,) each.

    Attributes:
        swing_ns: along the wave that the ring shows; 0 for who sends without rest.
        error_ns: its standard error.
    """

    swing_ns: Float
    error_ns: Float


def stalls(members: Sequence[Points], iterations: Int) -> Stalls | None:
    """Measure how far each member of a ring stalls between steps; None where no wave stands out.

    1. What is left of each member's times after a smooth curve over the bytes and each iteration's own offset is
       resolved into waves; the median over all of them is the noise.
    2. Waves count in which the power of all members together is more than chance makes.
    3. Members stall at the same places, so they swing together: the common form is the leading singular vector, and
       what each has of it is its swing.
    """
    if 2 * (len(members) - 1) > HIGHEST:
        return None  # its steps are finer than any wave that is looked for
    left = [_uneven(m, iterations) for m in members]
    if min(len(x) for x, _ in left) < FEWEST_POINTS:
        return None
    waves = np.arange(LOWEST, min(HIGHEST, min(len(x) for x, _ in left) // SAMPLES_A_CYCLE) + 1)
    found = np.array([_waves(x, y, waves) for x, y in left])
    error = np.sqrt(np.median(np.abs(found) ** 2, axis=1) / _MEDIAN_POWER)
    power = (np.abs(found / error[:, None]) ** 2).sum(axis=0)
    common = power > chi2.isf(CHANCE / len(waves), 2 * len(members))
    return Stalls(_along(found[:, common], error), error) if common.any() else None


def _along(found: np.typing.NDArray[np.complex128], error: Float) -> Float:
    """(members,) what each has of the form that all share."""
    _, _, form = np.linalg.svd(found / error[:, None], full_matrices=False)
    own = found @ form[0].conj()
    turn = np.sum(own * np.abs(own))
    return np.asarray((own * np.conj(turn / np.abs(turn))).real, np.float64)


def _waves(x: Float, y: Float, waves: Int) -> np.typing.NDArray[np.complex128]:
    turns = np.exp(-2j * np.pi * waves[:, None] * x[None, :])
    return np.asarray(2 * (turns @ y) / len(x), np.complex128)


def _uneven(own: Points, iterations: Int) -> tuple[Float, Float]:
    """(phase, time beyond an even pace) of the samples after everybody has arrived."""
    chosen = np.isin(own.iteration, iterations) & (own.phase > AFTER_ARRIVAL)
    x, y, which = own.phase[chosen], own.after_ns[chosen], own.iteration[chosen]
    left = np.zeros(len(x))
    kept: Bool = np.ones(len(x), np.bool_)
    for _ in range(_ROUNDS):
        if kept.sum() < FEWEST_POINTS:
            return np.zeros(0), np.zeros(0)
        curve = np.polynomial.Polynomial.fit(x[kept], y[kept], 2)(x)
        left = y - curve
        offset = np.zeros(len(x))
        for i in np.unique(which).tolist():
            offset[which == i] = np.median(left[which == i])
        left, y = left - offset, y - offset
        kept = np.abs(left) <= HELD_BACK * MEDIAN_TO_SD * float(np.median(np.abs(left)))
    return x[kept], left[kept]
