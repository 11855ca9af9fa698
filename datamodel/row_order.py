"""The order of rows by several columns of integers, in time linear in practice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]

_KEY_BITS = 63  # of an int64 that is not negative


def sorted_order(columns: Sequence[npt.NDArray[Any]]) -> Index:
    """Stable ascending order of rows by several columns of integers, the first one first.

    Neighbouring columns and the row's position are packed into one integer as long as their ranges fit, and plain
    integers are sorted, which is several times faster than sorting indices column by column.

    Args:
        columns: at least one, (rows,) each.
    """
    rows = len(columns[0])
    order = np.arange(rows, dtype=np.int64)
    if rows < 2:
        return order
    place_bits = (rows - 1).bit_length()
    key, width = np.zeros(rows, np.int64), 0
    for values in reversed(columns):
        least, most = int(values.min()), int(values.max())
        bits = (most - least).bit_length()
        if not bits:
            continue
        if bits + place_bits > _KEY_BITS:
            order, key, width = _refined(order, key, width, place_bits), np.zeros(rows, np.int64), 0
            order = order[np.argsort(values[order], kind="stable")]
            continue
        if width + bits + place_bits > _KEY_BITS:
            order, key, width = _refined(order, key, width, place_bits), np.zeros(rows, np.int64), 0
        key |= (values.astype(np.int64) - least) << width
        width += bits
    return _refined(order, key, width, place_bits)


def _refined(order: Index, key: Index, width: int, place_bits: int) -> Index:
    """The order sorted by a key of `width` bits; equal keys stay as they were."""
    if width == 0:
        return order
    packed: Index = key[order] << place_bits | np.arange(len(order))
    packed.sort()
    found: Index = order[packed & ((1 << place_bits) - 1)]
    return found
