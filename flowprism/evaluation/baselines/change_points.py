"""Bayesian online change-point detection, which both published methods are said to use.

Source: Adams and MacKay, arXiv 0710.3742 (2007): run lengths under a constant hazard, Student-t predictions of a
normal-gamma model. A change is reported where the likeliest run length falls: under a constant hazard the probability
of a run of none alone is pinned near the hazard. Hazard and prior are in neither publication; these find a long gap
after every few short ones, and a step of a few per cent between iteration times that jitter by one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import gammaln

from capture.jit import jit
from datamodel.reconstructed.streams import Float, Int

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
# Longer runs are not distinguished: their predictions hardly differ.
LONGEST_RUN = 64
HAZARD = 1 / 20
# The normal-gamma prior, on values scaled to zero mean and unit spread.
_KAPPA, _ALPHA, _BETA = 0.1, 1.0, 0.02


def change_points(values: Float, first: Int) -> Bools:
    """Where a new run begins in each of several sequences.

    Args:
        values: (n,) sequences one after the other.
        first: (sequences + 1,) where each begins.

    Returns:
        (n,) true for the first value of each new run that was noticed.
    """
    found = np.zeros(len(values), np.uint8)
    runs = np.arange(LONGEST_RUN)
    alpha = np.float64(_ALPHA) + runs.astype(np.float64) / 2
    kappa = _KAPPA + runs
    constant = gammaln(alpha + 0.5) - gammaln(alpha) - 0.5 * np.log(2 * np.pi)
    scratch = np.zeros((6, LONGEST_RUN))
    _scan(_scaled(values, first), first.astype(np.int64), constant, alpha, kappa.astype(np.float64), scratch, found)
    return found.astype(bool)


def _scaled(values: Float, first: Int) -> Float:
    """Each sequence with its median taken off, in units of its spread."""
    scaled = np.array(values, dtype=float)
    for a, b in pairwise(first):
        own = scaled[a:b]
        if len(own):
            own -= np.median(own)
            own /= max(float(own.std()), 1e-9)
    return scaled


@jit
def _scan(
    values: Float, first: Int, constant: Float, alpha: Float, kappa: Float, scratch: Float, found: np.ndarray
) -> None:  # fmt: skip
    """Mark in `found` where runs begin; `scratch` holds (6, runs): log weights, means and sums, old and new."""
    weight, mean, beta = scratch[0], scratch[1], scratch[2]
    grown, means, betas = scratch[3], scratch[4], scratch[5]
    runs = len(constant)
    stay, leave = np.log(1 - HAZARD), np.log(HAZARD)
    for s in range(len(first) - 1):
        weight[0], mean[0], beta[0] = 0.0, 0.0, _BETA
        held, before = 1, 0
        for n in range(first[s], first[s + 1]):
            x = values[n]
            fresh = -1e300
            for r in range(held):
                scale = beta[r] * (kappa[r] + 1) / kappa[r]
                off = (x - mean[r]) * (x - mean[r])
                density = constant[r] - 0.5 * np.log(scale) - (alpha[r] + 0.5) * np.log1p(off / (2 * scale))
                likely = weight[r] + density
                fresh = max(fresh, likely) + np.log1p(np.exp(-abs(fresh - likely)))
                to = min(r + 1, runs - 1)
                if r + 1 <= runs - 1 or likely + stay > grown[to]:
                    grown[to] = likely + stay
                    means[to] = (kappa[r] * mean[r] + x) / (kappa[r] + 1)
                    betas[to] = beta[r] + kappa[r] * off / (2 * (kappa[r] + 1))
            grown[0], means[0], betas[0] = fresh + leave, 0.0, _BETA
            held = min(held + 1, runs)
            best = 0
            for r in range(held):
                if grown[r] > grown[best]:
                    best = r
            top = grown[best]
            for r in range(held):
                weight[r], mean[r], beta[r] = grown[r] - top, means[r], betas[r]
            found[n] = 1 if best < before else 0
            before = best
