"""Intervals that say how far a measured share, mean or rate may lie from what more cases would show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtri

_Z = 1.959964  # two-sided 95 %
_DRAWS, _SEED = 1000, 20260101


def wilson(hits: float, of: int) -> tuple[float, float]:
    """95 % interval of a share, by Wilson (J. Am. Stat. Assoc. 22, 1927).

    `hits` may be a sum of weights between 0 and 1: such a mean varies less than a share does, so the interval holds.
    """
    if not of:
        return 0.0, 1.0
    share, width = hits / of, _Z**2 / of
    middle = (share + width / 2) / (1 + width)
    reach = _Z * np.sqrt(share * (1 - share) / of + width / (4 * of)) / (1 + width)
    return max(float(middle - reach), 0.0), min(float(middle + reach), 1.0)


def bootstrap(values: Sequence[float], weights: Sequence[float] | None = None) -> tuple[float, float]:
    """95 % interval of a (weighted) mean: percentiles over resampled cases (Efron 1979), the same in every run."""
    if len(values) < 2:
        only = float(values[0]) if len(values) else 0.0
        return only, only
    each = np.asarray(values, dtype=float)
    heavy = np.ones(len(each)) if weights is None else np.asarray(weights, dtype=float)
    drawn = np.random.default_rng(_SEED).integers(0, len(each), (_DRAWS, len(each)))
    total = heavy[drawn].sum(axis=1)
    some = total > 0
    low, high = np.percentile((each * heavy)[drawn].sum(axis=1)[some] / total[some], (2.5, 97.5))
    return float(low), float(high)


def poisson_upper(count: int) -> float:
    """Most events that a count leaves likely: the one-sided 95 % bound, 3.0 for none (Garwood 1936)."""
    return float(chdtri(2 * (count + 1), 0.05) / 2)
