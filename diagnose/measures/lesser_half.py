"""The lower median of values, half of which a fault may have raised: what most of them have in common."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float


def lesser_half(values: Float) -> float:
    """Lower median of (n,) known values; 0 of none."""
    return float(np.sort(values)[(len(values) - 1) // 2]) if len(values) else 0.0


def lesser_halves(values: Float) -> Float:
    """(n,) lower median of the known values of each column of (rows, n); nan where none is known."""
    if not len(values):
        return np.full(values.shape[1], np.nan)
    ranked, known = np.sort(values, axis=0), np.isfinite(values).sum(axis=0)
    found = ranked[np.maximum(known - 1, 0) // 2, np.arange(values.shape[1])]
    return np.where(known > 0, found, np.nan)
