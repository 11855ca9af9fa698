"""Columnar tables whose columns are declared once, with dtype, unit and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.errors import SchemaError

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column: its dtype, its unit ("" where it has none) and what it means.

    A column that is not `required` may be left out when a frame is built; it is then filled with `default`.
    """

    name: str
    dtype: str
    unit: str
    meaning: str
    required: bool = True
    default: int = 0


@dataclass(frozen=True, slots=True)
class Schema:
    """A table's name and its columns, in order."""

    name: str
    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(c.name for c in self.columns)


class Frame:
    """Equally long NumPy columns of one schema. Immutable by convention: every operation returns a new frame."""

    __slots__ = ("_columns", "schema")

    def __init__(self, schema: Schema, columns: Mapping[str, npt.ArrayLike]) -> None:
        """Check and complete `columns` against `schema`.

        Raises:
            SchemaError: a column is unknown, a required one is missing, or lengths differ.
        """
        unknown = set(columns) - set(schema.names)
        if unknown:
            raise SchemaError(f"{schema.name}: unknown column {min(unknown)!r}")
        rows = len(np.asarray(next(iter(columns.values())))) if columns else 0
        self.schema = schema
        self._columns = {c.name: _column(schema, c, columns, rows) for c in schema}

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name: str) -> npt.NDArray[np.int64]:
        """The column `name`. Typed as int64 for the checker; the dtype is the one the schema declares."""
        return self._columns[name]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<{self.schema.name}: {len(self)} rows>"

    def take(self, index: npt.ArrayLike) -> Frame:
        """The rows of an integer index or a boolean mask, in that order."""
        selector = np.asarray(index)
        return Frame(self.schema, {k: v[selector] for k, v in self._columns.items()})

    def sort(self, *keys: str) -> Frame:
        """Rows in ascending order of the given columns, first key first; stable."""
        return self.take(np.lexsort([self._columns[k] for k in reversed(keys)]))

    def replace(self, **columns: npt.ArrayLike) -> Frame:
        """The same rows with some columns exchanged."""
        return Frame(self.schema, {**self._columns, **columns})

    def columns(self) -> dict[str, Array]:
        """All columns by name, in the schema's order."""
        return dict(self._columns)


def concat(schema: Schema, frames: Iterable[Frame]) -> Frame:
    """Rows of several frames of one schema, one after the other."""
    parts = list(frames)
    if not parts:
        return empty(schema)
    if len(parts) == 1:
        return parts[0]
    return Frame(schema, {c.name: np.concatenate([p[c.name] for p in parts]) for c in schema})


def empty(schema: Schema) -> Frame:
    """A frame without rows."""
    return Frame(schema, {c.name: np.empty(0, c.dtype) for c in schema})


def _column(schema: Schema, column: Column, given: Mapping[str, npt.ArrayLike], rows: int) -> Array:
    if column.name not in given:
        if column.required:
            raise SchemaError(f"{schema.name}: required column {column.name!r} is missing")
        return np.full(rows, column.default, column.dtype)
    values = np.asarray(given[column.name])
    if values.ndim != 1 or len(values) != rows:
        raise SchemaError(f"{schema.name}: column {column.name!r} has shape {values.shape}, expected ({rows},)")
    return values.astype(column.dtype, copy=False)
