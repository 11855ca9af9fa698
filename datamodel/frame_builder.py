"""Rows that come in parts, gathered into one frame without ever holding them twice."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from datamodel.frame import Array, Column, Frame, Schema, constant


class FrameBuilder:
    """A frame in the making.

    A column that holds one value so far is a view of it, like one that was left out, but for required ones. It takes
    memory from the first part on that holds another, and room for `expected_rows` at once: memory that is never written
    to costs nothing. Where more rows come, the room doubles.
    """

    def __init__(self, schema: Schema, expected_rows: int = 0) -> None:
        self._schema = schema
        self._expected_rows = expected_rows
        self._columns: dict[str, Array] = {}
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, rows: int, columns: Mapping[str, Array]) -> None:
        """Take in a part: columns of `rows` values each; those left out hold their default."""
        if not rows:
            return
        for column in self._schema:
            given = columns.get(column.name)
            if given is None and column.name not in self._columns:
                continue
            value = column.default if given is None else _single(given)
            if not column.required and value is not None and self._holds_only(column, value):
                self._columns[column.name] = constant(value, column.dtype, self._rows + rows)
                continue
            room = self._room(column, self._rows + rows)
            room[self._rows : self._rows + rows] = column.default if given is None else given
        self._rows += rows

    def _holds_only(self, column: Column, value: npt.ArrayLike) -> bool:
        """Whether all rows of a column so far hold one value."""
        room = self._columns.get(column.name)
        if room is None:
            return not self._rows or bool(value == column.default)
        return room.strides == (0,) and bool(room[0] == value)

    def frame(self) -> Frame:
        """All rows, in the order they came."""
        missing = {c.name: np.empty(0, c.dtype) for c in self._schema if c.required and not self._rows}
        return Frame(self._schema, missing | {name: room[: self._rows] for name, room in self._columns.items()})

    def _room(self, column: Column, rows: int) -> Array:
        """The column's memory, with place for `rows`."""
        room = self._columns.get(column.name)
        if room is not None and len(room) >= rows and room.strides != (0,):
            return room
        doubled = 0 if room is None or room.strides == (0,) else 2 * len(room)
        larger = np.empty(max(rows, self._expected_rows, doubled), column.dtype)
        larger[: self._rows] = column.default if room is None else room[: self._rows]
        self._columns[column.name] = larger
        return larger


def _single(values: Array) -> npt.ArrayLike | None:
    """The value that all of some values have; None where they differ, or there are none."""
    same = len(values) > 0 and values[0] == values[-1] and bool((values == values[0]).all())
    return values[0] if same else None
