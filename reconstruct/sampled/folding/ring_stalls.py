"""Stalls inside a ring: whose connection sends all the time, and whose waits for it at the end of every step.

Where one link of a ring is slow, all members move their bytes at its pace, so no rate tells it apart. But only the slow
link is busy all the time; the others pass each chunk quickly and then rest until the next one comes round. Steps lie
at the same places of the bytes in every iteration (a ring of n moves its bytes in 2 (n - 1) steps a bucket), so these
rests add up to waves along the bytes where samples of single iterations show nothing.

Samples of a datagram are dated evenly between two moments that are known. Of a wave whose period is no longer than the
span between these that leaves nothing (linear interpolation passes sin^2 x / x^2 of it, which is 0 there); what seems
to be left is how datagrams happen to lie among the steps, and takes a member that stalls for one that does not. So a
wave is told only by samples that are dated within its period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.medians import MAD_TO_SIGMA
from reconstruct.sampled.folding.folded_samples import Points

# Before this share of the bytes members stall for one that arrived late, whatever the links do.
AFTER_ARRIVAL = 0.15
# Waves of fewer cycles an iteration are the curve's own bend; with fewer samples a cycle none can be told, and of fewer
# waves no noise.
LOWEST, HIGHEST, SAMPLES_A_CYCLE, FEWEST_WAVES = 3, 48, 2, 8
FEWEST_POINTS = 40
# Further off than so many deviations are samples that were held back for long.
HELD_BACK = 4.0
# By chance some wave of a ring is as high this often.
CHANCE = 0.0001
_ROUNDS = 3
# The median of a chi-squared variable of two degrees of freedom is this many times half its mean.
_MEDIAN_POWER = 2 * float(np.log(2))
_Complex = np.typing.NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Stalls:
    """How far each member's samples swing about an even pace, ns: (members,) each.

    Attributes:
        swing_ns: along the wave that the ring shows; 0 for who sends without rest.
        error_ns: its standard error.
    """

    swing_ns: Float
    error_ns: Float


def stalls(members: Sequence[Points], iterations: Int, moving_ns: float) -> Stalls | None:
    """Measure how far each member of a ring stalls between steps; None where no wave stands out.

    1. What is left of each member's times after a smooth curve over the bytes and each iteration's own offset is
       resolved into waves, each by the samples dated within its period; the median over all of them is the noise.
    2. Waves count in which the power of all members together is more than chance makes.
    3. Members stall at the same places, so they swing together: the common form is the leading singular vector, and
       what each has of it is its swing.

    Args:
        members: samples of each.
        iterations: those to look at.
        moving_ns: how long the ring takes for all bytes of one.
    """
    if 2 * (len(members) - 1) > HIGHEST:
        return None  # its steps are finer than any wave that is looked for
    waves = np.arange(LOWEST, HIGHEST + 1)
    found, dated = (np.array(c) for c in zip(*(_waves(m, iterations, waves, moving_ns) for m in members), strict=True))
    told = (dated >= np.maximum(SAMPLES_A_CYCLE * waves, FEWEST_POINTS)).all(axis=0)
    if told.sum() < FEWEST_WAVES:
        return None
    found, dated, power = found[:, told], dated[:, told], np.abs(found[:, told]) ** 2
    error = np.sqrt(np.median(power * dated, axis=1, keepdims=True) / _MEDIAN_POWER / dated)
    common = (power / error**2).sum(axis=0) > chdtri(2 * len(members), CHANCE / told.sum())
    if not common.any():
        return None
    own = error[:, common].mean(axis=1)
    return Stalls(_along(found[:, common], own), own)


def _along(found: _Complex, error: Float) -> Float:
    """(members,) what each has of the form that all share."""
    _, _, form = np.linalg.svd(found / error[:, None], full_matrices=False)
    own = found @ form[0].conj()
    turn = np.sum(own * np.abs(own))
    return np.asarray((own * np.conj(turn / np.abs(turn))).real, np.float64)


def _waves(own: Points, iterations: Int, waves: Int, moving_ns: float) -> tuple[_Complex, Int]:
    """(amplitude of each wave, how many samples tell it); nothing of one that none tells."""
    x, y, doubt_ns = _uneven(own, iterations)
    told = doubt_ns[None, :] <= moving_ns / waves[:, None]
    turns = np.where(told, np.exp(-2j * np.pi * waves[:, None] * x[None, :]), 0.0)
    dated = told.sum(axis=1)
    return 2 * (turns @ y) / np.maximum(dated, 1), dated


def _uneven(own: Points, iterations: Int) -> tuple[Float, Float, Float]:
    """(phase, time beyond an even pace, doubt) of the samples after everybody has arrived."""
    chosen = np.isin(own.iteration, iterations) & (own.phase > AFTER_ARRIVAL)
    x, y, doubt_ns = own.phase[chosen], own.after_ns[chosen], own.doubt_ns[chosen]
    which, left = own.iteration[chosen], np.zeros(len(x))
    kept: Bool = np.ones(len(x), np.bool_)
    for _ in range(_ROUNDS):
        if kept.sum() < FEWEST_POINTS:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        curve = np.polynomial.Polynomial.fit(x[kept], y[kept], 2)(x)
        left = y - curve
        offset = np.zeros(len(x))
        for i in np.unique(which).tolist():
            offset[which == i] = np.median(left[which == i])
        left, y = left - offset, y - offset
        kept = np.abs(left) <= HELD_BACK * MAD_TO_SIGMA * float(np.median(np.abs(left)))
    return x[kept], left[kept], doubt_ns[kept]
