"""What most of some values share: the median of which half may be due to a fault."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Float


def lesser_half(values: Float) -> float:
    """The lower median; 0 of none."""
    return float(np.sort(values)[(len(values) - 1) // 2]) if len(values) else 0.0


def lesser_halves(values: Float) -> Float:
    """(n,) of each column of (rows, n) values those that are known; nan where none is."""
    ranked, known = np.sort(values, axis=0), np.isfinite(values).sum(axis=0)
    found = ranked[np.maximum(known - 1, 0) // 2, np.arange(values.shape[1])]
    return np.where(known > 0, found, np.nan)
