"""Rows of unequal length side by side in one column: their offsets, some of them, room for more."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled

Column = TypeVar("Column", Int, Float)


def offsets_of(counts: Int) -> Int:
    """(n + 1,) where each of n rows of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def select_rows(offsets: Int, numbers: Int) -> tuple[Int, Int]:
    """Some of the rows: their offsets side by side, and the place of each of their entries in the column."""
    counts = np.diff(offsets)[numbers]
    return offsets_of(counts), expanded(offsets[:-1][numbers], counts)[1]


def expanded(first: Int, count: Int) -> tuple[Int, Int]:
    """Rows of several ranges one after the other: (number of the range, row), both (sum of counts,)."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + np.repeat(first - (np.cumsum(count) - count), count)


def by_label(label: Int) -> list[Int]:
    """Places of each label, ascending, by label."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(label) else []


@compiled
def with_room(column: Column, size: int) -> Column:
    """The column, or a copy with room for at least `size` entries."""
    if size <= len(column):
        return column
    larger = np.empty(max(size, 2 * len(column)), column.dtype)
    larger[: len(column)] = column
    return larger
