"""Medians of rows by their owner."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled


def medians(values: Float, owner: Int, owners: int) -> Float:
    """(owners,) median of each owner's values, the lower of two middle ones; nan where it has none.

    Args:
        values: (n,) finite.
        owner: (n,) whose each is, in [0, owners).
        owners: how many there are.
    """
    end = np.cumsum(np.bincount(owner, minlength=owners)).astype(np.int64)
    return _medians(np.asarray(values, np.float64), np.asarray(owner, np.int64), end)


@compiled
def _medians(values: Float, owner: Int, end: Int) -> Float:
    """`medians` where the values of each owner, put one after the other, end before `end`."""
    found = np.full(len(end), np.nan)
    grouped, cursor = np.empty(len(values)), end.copy()
    for k in range(len(values)):
        cursor[owner[k]] -= 1
        grouped[cursor[owner[k]]] = values[k]
    for n in range(len(end)):
        own = np.sort(grouped[cursor[n] : end[n]])
        if len(own):
            found[n] = own[(len(own) - 1) // 2]
    return found
