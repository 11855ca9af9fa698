"""The order of rows by several columns of integers, in time linear in practice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]
_Key = npt.NDArray[np.uint64]

_KEY_BITS = 63  # of an int64 that is not negative
_ALL_64 = (1 << 64) - 1


def sorted_order(columns: Sequence[npt.NDArray[Any]]) -> Index:
    """Stable ascending order of rows by several columns of integers, the first one first.

    As many leading bits of the columns as fit are packed into one integer with the row's position, and plain integers
    are sorted, which is several times faster than sorting indices column by column. Only rows that agree in those bits,
    usually few, are sorted by the bits that are left.

    Args:
        columns: at least one, (rows,) each.
    """
    rows = len(columns[0])
    if rows < 2:
        return np.arange(rows, dtype=np.int64)
    place_bits = (rows - 1).bit_length()
    key, rest = _leading_bits(columns, _KEY_BITS - place_bits)
    if key is None:
        return np.arange(rows, dtype=np.int64)
    packed: Index = (key << np.uint64(place_bits)).view(np.int64)
    packed |= np.arange(rows)
    packed.sort()
    order: Index = packed & ((1 << place_bits) - 1)
    if rest:
        packed >>= place_bits
        _sort_ties(order, packed[1:] == packed[:-1], rest)
    return order


def _leading_bits(columns: Sequence[npt.NDArray[Any]], room: int) -> tuple[_Key | None, list[_Key]]:
    """The first bits of the columns, up to `room`, as one number for each row, None where all rows agree; the rest."""
    key: _Key | None = None
    rest: list[_Key] = []
    for values in columns:
        least, most = int(values.min()), int(values.max())
        bits = (most - least).bit_length()
        if not bits:
            continue
        above = values.astype(np.uint64) - np.uint64(least & _ALL_64)
        taken = min(bits, room)
        left = bits - taken
        room -= taken
        if left:
            rest.append(above & np.uint64((1 << left) - 1))
        if taken:
            above >>= np.uint64(left)
            key = above if key is None else key << np.uint64(taken) | above
    return key, rest


def _sort_ties(order: Index, agree: npt.NDArray[np.bool_], rest: Sequence[_Key]) -> None:
    """Sort runs of rows that agree so far by what is left of their columns, in place.

    Rows of one run are near one another in other columns too, as starts and ends are: less the least of the run these
    take few bits, or none where all agree.

    Args:
        order: (rows,) row numbers.
        agree: (rows - 1,) whether each agrees with the one before it.
        rest: columns by row number.
    """
    tied = np.append(agree, False)
    tied[1:] |= agree
    places = np.flatnonzero(tied)
    if not len(places):
        return
    some = order[places]
    begins = np.append(True, ~agree)[places]
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    left = [own - np.minimum.reduceat(own, first)[run] for own in (values[some] for values in rest)]
    order[places] = some[sorted_order([run, *left])]
