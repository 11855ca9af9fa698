"""A Parquet file of rows of a schema, written part by part; codes become text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datamodel.frame import Frame, Schema

ROWS_A_GROUP = 1 << 20


class TableFile:
    """The file while it is being written; closed when the context ends."""

    def __init__(
        self, path: Path, schema: Schema, names: tuple[str, ...], words: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Open `path`.

        Args:
            path: the file.
            schema: of the rows.
            names: columns to write.
            words: text of each code, of the columns that hold codes.

        Raises:
            OSError: it cannot be written.
        """
        self._words = words
        self._fields = pa.schema(
            [(c.name, pa.string() if c.name in words else _arrow(c.dtype)) for c in schema if c.name in names]
        )
        self._writer = pq.ParquetWriter(path, self._fields, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, frame: Frame) -> None:
        """Append rows."""
        columns = [self._column(frame, name) for name in self._fields.names]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._fields), row_group_size=ROWS_A_GROUP)

    def _column(self, frame: Frame, name: str) -> pa.Array:
        values = frame[name]
        if name not in self._words:
            return pa.array(values)
        indices = pa.array(values.astype(np.int32), mask=values < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(self._words[name], pa.string())).dictionary_decode()


def _arrow(dtype: str) -> pa.DataType:
    return pa.from_numpy_dtype(np.dtype(dtype))
