"""Values of which few differ -> which they are: by a table of hashes, which needs no order among all of them."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.jit import compiled, to_contiguous

# A table holds half as many values as it has slots; where it is full, one so many times as large is tried.
SLOTS, GROWTH = 1 << 10, 8


def factorize(values: Int) -> tuple[Int, Int]:
    """(the different values, ascending; the place among them of each)."""
    column, slots = to_contiguous(values.astype(np.int64, copy=False)), SLOTS
    different, place = _told_apart(column, slots)
    while len(different) > slots // 2:
        slots *= GROWTH
        different, place = _told_apart(column, slots)
    order = np.argsort(different)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return different[order], rank[place]


def factorize_rows(*columns: Int) -> tuple[Int, Int]:
    """Number rows by kind: those of one kind have equal values in several columns.

    Args:
        columns: at least one, (rows,) each, of whole numbers.

    Returns:
        (the first row of each kind, kinds in the ascending order of their values; the kind of each row).
    """
    kind = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        different, own = factorize(column)
        if len(different) > 1:
            kind = factorize(kind * len(different) + own)[1]
    first = np.empty(int(kind.max(initial=-1)) + 1, np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return first, kind


@compiled
def _told_apart(values: Int, slots: int) -> tuple[Int, Int]:
    """(the different values, as they come, up to one more than half the slots; the place among them of each)."""
    held, different, count = np.full(slots, -1), np.empty(slots // 2 + 1, np.int64), 0
    place = np.empty(len(values), np.int64)
    for n in range(len(values)):
        value = values[n]
        slot = (value + (value >> 32) * 1297 ^ value >> 11) & slots - 1
        while held[slot] >= 0 and different[held[slot]] != value:
            slot = (slot + 1) & slots - 1
        if held[slot] < 0:
            held[slot], different[count] = count, value
            count += 1
            if count > slots // 2:
                break
        place[n] = held[slot]
    return different[:count], place
