"""Columnar tables whose columns are declared once, with dtype, unit and meaning."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from datamodel.errors import SchemaError
from datamodel.row_order import sorted_order

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
    """A table's name and its columns, in order.

    Attributes:
        types: dtype of every column, for frames that are made every millisecond.
        required: the columns that cannot be left out.
    """

    name: str
    columns: tuple[Column, ...]
    types: dict[str, np.dtype[np.generic]] = field(init=False, repr=False, compare=False)
    required: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", {c.name: np.dtype(c.dtype) for c in self.columns})
        object.__setattr__(self, "required", frozenset(c.name for c in self.columns if c.required))

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(c.name for c in self.columns)


class Frame:
    """Equally long NumPy columns of one schema. Immutable by convention: every operation returns a new frame.

    A column that was left out is a read-only view of its default, whatever its length: it costs no memory, and stays
    so when rows are taken or frames are joined. It is made when it is asked for: decoders make a frame of a dozen
    columns out of sixty every millisecond.
    """

    __slots__ = ("_columns", "_rows", "schema")

    def __init__(self, schema: Schema, columns: Mapping[str, npt.ArrayLike]) -> None:
        """Check and complete `columns` against `schema`.

        Raises:
            SchemaError: a column is unknown, a required one is missing, or lengths differ.
        """
        self.schema = schema
        self._rows = len(np.asarray(next(iter(columns.values())))) if columns else 0
        self._columns = {name: self._checked(name, given) for name, given in columns.items()}
        if not schema.required <= columns.keys():
            missing = next(c.name for c in schema if c.required and c.name not in columns)
            raise SchemaError(f"{schema.name}: required column {missing!r} is missing")

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> npt.NDArray[np.int64]:
        """The column `name`. Typed as int64 for the checker; the dtype is the one the schema declares."""
        if name not in self._columns:
            self._columns[name] = _default(self.schema, name, self._rows)
        return self._columns[name]  # type: ignore[return-value]

    def _checked(self, name: str, given: npt.ArrayLike) -> Array:
        declared = self.schema.types.get(name)
        if declared is None:
            raise SchemaError(f"{self.schema.name}: unknown column {name!r}")
        values = np.asarray(given)
        if values.shape != (self._rows,):
            expected = f"has shape {values.shape}, expected ({self._rows},)"
            raise SchemaError(f"{self.schema.name}: column {name!r} {expected}")
        return values if values.dtype is declared else values.astype(declared, copy=False)

    def __repr__(self) -> str:
        return f"<{self.schema.name}: {len(self)} rows>"

    def take(self, index: npt.ArrayLike) -> Frame:
        """The rows of an integer index or a boolean mask, in that order."""
        selector = np.asarray(index)
        rows = int(np.count_nonzero(selector)) if selector.dtype == np.bool_ else len(selector)
        return Frame(self.schema, {k: _taken(v, selector, rows) for k, v in self._columns.items()})

    def sort(self, *keys: str) -> Frame:
        """Rows in ascending order of the given columns, first key first; stable."""
        columns = [self[key] for key in keys]
        whole = all(column.dtype.kind in "iub" for column in columns)
        return self.take(sorted_order(columns) if whole else np.lexsort(columns[::-1]))

    def replace(self, **columns: npt.ArrayLike) -> Frame:
        """The same rows with some columns exchanged."""
        return Frame(self.schema, {**self._columns, **columns})

    def without(self, names: Collection[str]) -> Frame:
        """Reset some columns to their default, to free a large frame's memory."""
        return Frame(self.schema, {name: values for name, values in self._columns.items() if name not in names})

    def recoded(self, table: Array, names: Iterable[str]) -> Frame:
        """The same rows with the codes of some columns exchanged: code n becomes `table[n]`."""
        return self.replace(**{name: _recoded(self[name], table) for name in names})

    def columns(self) -> dict[str, Array]:
        """All columns by name, in the schema's order."""
        return {c.name: self[c.name] for c in self.schema}


def concat(schema: Schema, frames: Iterable[Frame]) -> Frame:
    """Rows of several frames of one schema, one after the other."""
    parts = list(frames)
    if not parts:
        return empty(schema)
    if len(parts) == 1:
        return parts[0]
    return Frame(schema, {c.name: joined([p[c.name] for p in parts]) for c in schema})


def joined(parts: Sequence[Array]) -> Array:
    """Columns one after the other, at least one; those of one constant become a longer one."""
    filled = [part for part in parts if len(part)] or [parts[0]]
    first = filled[0][:1]
    if all(_is_constant(part) and part[0] == first for part in filled):
        return constant(first[0], first.dtype, sum(len(part) for part in filled))
    return np.concatenate(filled)


def constant(value: npt.ArrayLike, dtype: npt.DTypeLike, rows: int) -> Array:
    """A read-only column of `rows` times the same value that takes the memory of one."""
    one = np.asarray(value, dtype)
    column = np.ndarray((rows,), one.dtype, one, strides=(0,))  # a third of what np.broadcast_to takes
    column.flags.writeable = False
    return column


def empty(schema: Schema) -> Frame:
    """A frame without rows."""
    return Frame(schema, {c.name: np.empty(0, c.dtype) for c in schema})


def _is_constant(column: Array) -> bool:
    """Whether a column holds one value only, in one row or as a view of it."""
    return len(column) == 1 or (len(column) > 1 and column.strides == (0,))


def _recoded(column: Array, table: Array) -> Array:
    if _is_constant(column):
        return constant(table[column[0]], table.dtype, len(column))
    return np.asarray(table[column])


def _taken(column: Array, selector: Array, rows: int) -> Array:
    if _is_constant(column):
        return constant(column[0], column.dtype, rows)
    return np.asarray(column[selector])


def _default(schema: Schema, name: str, rows: int) -> Array:
    for column in schema:
        if column.name == name:
            return constant(column.default, column.dtype, rows)
    raise KeyError(name)
