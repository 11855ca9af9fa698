"""Column names of a collector's flow record dumps and their translation to columns of `FLOWS`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from capture.dialects.time_text import EARLIEST_NS, Times

Mask = npt.NDArray[np.bool_]


def _is_row(_line: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RecordDialect:
    """One collector's table.

    Attributes:
        name: for messages.
        signature: sets of column names; a table that has all names of one of them is of this dialect.
        columns: columns that are read; the others are ignored, and named in a warning.
        required: groups of columns; of each at least one must be there.
        translate: turns a table with some of `columns` into one with columns of `FLOWS`, and counts the rows with
            a guessed or doubtful value. A null in a required column rejects the row.
        is_framing: whether a line that has not the header's number of fields belongs to the form, a trailer for
            example; any other is counted.
    """

    name: str
    signature: tuple[frozenset[str], ...]
    columns: frozenset[str]
    required: tuple[tuple[str, ...], ...]
    translate: Callable[[pa.Table, Counter[str]], pa.Table]
    is_framing: Callable[[str], bool] = _is_row


def text_column(table: pa.Table, *names: str) -> pa.Array:
    """The first of these columns that the table has, as one array of texts; nulls where it has none of them."""
    for name in names:
        if name in table.column_names:
            column = table[name].cast(pa.string()).combine_chunks()
            return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    return pa.nulls(table.num_rows, pa.string())


def numbers(values: npt.NDArray[np.int64], known: Mask) -> pa.Array:
    """An Arrow column of whole numbers, null where they are not known."""
    return pa.array(values, pa.int64(), mask=~known)


def dates_only(found: Times) -> Times:
    """`found` without what is no date but an uptime: exporters' times that a collector could not place."""
    return found._replace(known=found.known & (found.ns >= EARLIEST_NS))
