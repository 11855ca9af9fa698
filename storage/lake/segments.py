"""Segments: Parquet files of one kind of records, text as dictionaries.

Packed ones are sorted by exporter, pair and connection, then by time. Parquet then holds each pair once a run, and the
differences of times and sequence numbers, which are small: that is a dictionary of pairs without a second table,
and any Parquet reader can read it. Small row groups with statistics let readers pass over other jobs' pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from datamodel.frame import Array, Column, Frame, Schema
from storage.arrow_arrays import codes_to_numpy, texts_to_arrow, to_arrow, to_numpy
from storage.lake.kinds import KINDS, Kind

PACKED_GROUP_ROWS = 1 << 16  # a job of a cluster's thousandth part is a few of these
_LEVEL, _PACKED_LEVEL = 1, 3


def encode_segment(frame: Frame, book: Sequence[str], *, packed: bool = False) -> pa.Buffer:
    """Records as the content of a file.

    Columns that hold their default in every row are left out, unless they are required.

    Args:
        frame: rows of a schema of `storage.lake.kinds.KINDS`.
        book: text of every code in the frame.
        packed: whether the rows are sorted, and will be read for long.
    """
    kind = KINDS[frame.schema.name]
    names = [c.name for c in frame.schema if c.required or not _is_default(frame[c.name], c)]
    running = [name for name in names if name in kind.running and not (packed and name.endswith("_qp"))]
    texts = np.array(book, object)
    # What is read job by job comes in its order, so that small groups let a reader pass over the other jobs at once.
    stream, step = pa.BufferOutputStream(), PACKED_GROUP_ROWS if packed or kind.job else max(1, len(frame))
    # A row group is written with all texts of its table, used or not, so each one is a table of its own.
    first = _table(kind, frame, names, slice(0, step), texts)
    with pq.ParquetWriter(
        stream,
        first.schema,
        compression="zstd",
        compression_level=_PACKED_LEVEL if packed else _LEVEL,
        use_dictionary=[name for name in names if name not in running],
        column_encoding=dict.fromkeys(running, "DELTA_BINARY_PACKED"),
        write_statistics=[name for name in names if name in kind.selected],
    ) as writer:
        writer.write_table(first)
        for start in range(step, len(frame), step):
            writer.write_table(_table(kind, frame, names, slice(start, start + step), texts))
    return stream.getvalue()


def decode_columns(table: pa.Table, schema: Schema, texts: Sequence[str], codes: dict[str, int]) -> dict[str, Array]:
    """The columns of an Arrow table, as far as they are there.

    Args:
        table: columns of `schema`; those that are no part of it are passed over.
        schema: the columns wanted.
        texts: those of them that are text in the table.
        codes: code of every text met so far; those that are new get the next codes.

    Raises:
        ValueError: a value does not fit (pyarrow's errors are ValueErrors too).
    """
    there = set(table.column_names)
    return {
        column.name: _codes(table[column.name], codes)
        if column.name in texts
        else to_numpy(table[column.name]).astype(column.dtype, copy=False)
        for column in schema
        if column.name in there
    }


def _table(kind: Kind, frame: Frame, names: Sequence[str], rows: slice, texts: npt.NDArray[np.object_]) -> pa.Table:
    values = {name: frame[name][rows] for name in names}
    return pa.table({n: _texts(v, texts) if n in kind.texts else to_arrow(v) for n, v in values.items()})


def _is_default(values: Array, column: Column) -> bool:
    return len(values) == 0 or (values[0] == column.default and bool((values == column.default).all()))


def _texts(values: npt.NDArray[np.int64], book: npt.NDArray[np.object_]) -> pa.DictionaryArray:
    """Codes as text: a dictionary of only those in use; -1 becomes null."""
    used = np.zeros(len(book) + 1, np.bool_)  # the last one serves the code -1
    used[values] = True
    used[-1] = False
    store = np.cumsum(used, dtype=np.int32) - np.int32(1)
    indices = to_arrow(store[values], known=values >= 0)
    return pa.DictionaryArray.from_arrays(indices, texts_to_arrow(book[used[:-1]].tolist()))


def _codes(data: pa.ChunkedArray, codes: dict[str, int]) -> npt.NDArray[np.int32]:
    """Codes of a column of text; null becomes -1."""
    parts = [_chunk_codes(chunk, codes) for chunk in data.chunks]
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


def _chunk_codes(chunk: pa.Array, codes: dict[str, int]) -> npt.NDArray[np.int32]:
    encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    book = [codes.setdefault(text, len(codes)) for text in encoded.dictionary.to_pylist()]
    table = np.array([*book, -1], np.int32)
    return table[codes_to_numpy(encoded.indices, len(book))]
