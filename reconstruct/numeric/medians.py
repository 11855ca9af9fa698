"""Medians of rows with gaps, for tables of millions of cells."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int

# Of normally distributed values: the standard deviation over the median absolute deviation, and the standard error of
# the median over that of the mean.
MAD_TO_SIGMA, MEDIAN_ERROR = 1.4826, 1.2533


def row_medians(values: Float) -> Float:
    """Median over the last axis; nan counts as not seen, and is the answer where nothing was."""
    *shape, width = values.shape
    if not width:
        return np.full(shape, np.nan)
    ranked = np.sort(values, axis=-1).reshape(-1, width)  # nan comes last
    seen = np.isfinite(ranked).sum(axis=1)
    row = np.arange(len(ranked))
    low, high = ranked[row, np.maximum(seen - 1, 0) // 2], ranked[row, np.minimum(seen // 2, width - 1)]
    return np.where(seen > 0, (low + high) / 2, np.nan).reshape(shape)


def median_over(values: Float, iterations: Int) -> Float:
    """(rows,) median of each row of (rows, iterations) over some iterations; nan where none was seen."""
    return row_medians(values[:, iterations])


def typical_over(values: Float, iterations: Int) -> Float:
    """The same, nan too where less than half of the iterations were seen."""
    chosen = values[:, iterations]
    often = np.isfinite(chosen).sum(axis=1) * 2 >= chosen.shape[1]
    return np.where(often, row_medians(chosen), np.nan)


def medians_of_own_group(values: Float, group: Int) -> Float:
    """(n,) median of each value's group, all of (n,) values; groups are numbered from 0. As `group_medians`."""
    return group_medians(values, group, int(group.max(initial=-1)) + 1)[group]


def group_medians(values: Float, group: Int, groups: int) -> Float:
    """(groups,) median of the finite values of each group; nan where there are none.

    Args:
        values: (n,).
        group: (n,) number of each value's group.
        groups: how many there are.
    """
    seen = np.isfinite(values)
    values, group = values[seen], group[seen]
    order = np.lexsort([values, group])
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    ranked = np.append(values[order], np.nan)
    low = np.where(count > 0, first + (count - 1) // 2, len(values))
    high = np.where(count > 0, first + count // 2, len(values))
    return np.asarray((ranked[low] + ranked[high]) / 2)
