"""Statistics of runs of rows that belong together: medians by owner, and which values are alike."""

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


def runs(values: Float, step_share: float | Float, step: float = 0.0) -> Int:
    """(n,) number of the run each value is in: the next larger one exceeds it by at most `step` and `step_share`."""
    order = np.argsort(values, kind="stable")
    ascending, share = values[order], np.broadcast_to(step_share, len(values))[order]
    found = np.empty(len(values), np.int64)
    found[order] = np.cumsum(np.diff(ascending, prepend=ascending[:1]) > step + share * np.abs(ascending))
    return found
