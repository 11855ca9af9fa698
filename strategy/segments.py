"""Statistics of runs of rows that belong together: medians by owner, and which values are alike."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Float, Int


def medians(values: Float, owner: Int, owners: int) -> Float:
    """(owners,) median of each owner's values, the lower of two middle ones; nan where it has none.

    Args:
        values: (n,) finite.
        owner: (n,) whose each is, in [0, owners).
        owners: how many there are.
    """
    order = np.lexsort([values, owner])
    count = np.bincount(owner, minlength=owners)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    middle = np.minimum(first + np.maximum(count - 1, 0) // 2, max(len(values) - 1, 0))
    if not len(values):
        return np.full(owners, np.nan)
    return np.where(count > 0, values[order][middle], np.nan)


def runs(values: Float, step_share: float) -> Int:
    """(n,) number of the run each value is in: in ascending order the next is at most `step_share` larger."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    found = np.empty(len(values), np.int64)
    found[order] = np.cumsum(np.diff(ascending, prepend=ascending[:1]) > step_share * np.abs(ascending))
    return found


def expanded(first: Int, count: Int) -> tuple[Int, Int]:
    """Rows of several ranges one after the other: (number of the range, row), both (sum of counts,)."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + first[which]
