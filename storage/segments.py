"""Segments: Parquet files of flow records, counters or drops, addresses as dictionary-encoded text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from datamodel.flows import ADDRESS_COLUMNS
from datamodel.frame import Array, Column, Frame, Schema

# Times and running numbers are closer to the row before than to any other: their differences are small. Everything else
# of a feed repeats few values. Statistics are worth their time only where a reader selects by them.
_RUNNING = (
    "time_received_ns", "time_flow_start_ns", "time_flow_end_ns", "time_uncertainty_ns", "time_acknowledged_ns",
    "time_ns", "dst_qp", "src_qp", "psn_first", "psn_last", "in_bytes", "out_bytes", "in_packets", "out_packets",
)  # fmt: skip
_SELECTED = ("time_flow_start_ns", "time_flow_end_ns", "time_ns")


def write_segment(path: Path, frame: Frame, addresses: Sequence[str]) -> int:
    """Write records to a new file and make its content durable; the answer is its size in bytes.

    Columns that hold their default in every row are left out, unless they are required. The caller makes the file's
    name durable (`storage.layout.sync_folder`), once for several files.

    Args:
        path: a file that does not exist.
        frame: rows of any schema of `storage.layout.KINDS`.
        addresses: text of every address code in the frame.

    Raises:
        OSError: it cannot be written.
    """
    table = _table(frame, addresses)
    running = [name for name in table.column_names if name in _RUNNING]
    with path.open("xb") as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in table.column_names if name not in running],
            column_encoding=dict.fromkeys(running, "DELTA_BINARY_PACKED"),
            write_statistics=[name for name in table.column_names if name in _SELECTED],
        )
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def read_segment(path: Path, schema: Schema, codes: dict[str, int]) -> Frame:
    """The records of a segment.

    Args:
        path: the file.
        schema: of its records.
        codes: code of every address met so far; those that are new get the next codes.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged or lacks a required column (pyarrow's errors are ValueErrors too).
    """
    table = pq.read_table(path)
    columns: dict[str, Array] = {}
    for column in schema:
        if column.name in table.column_names:
            data = table[column.name].combine_chunks()
            columns[column.name] = (
                _codes(data, codes) if column.name in ADDRESS_COLUMNS else data.to_numpy(zero_copy_only=False)
            )
    return Frame(schema, columns)


def _table(frame: Frame, addresses: Sequence[str]) -> pa.Table:
    book = np.array(addresses, object)
    columns: dict[str, pa.Array] = {}
    for column in frame.schema:
        values = frame[column.name]
        if column.required or not _is_default(values, column):
            columns[column.name] = _texts(values, book) if column.name in ADDRESS_COLUMNS else pa.array(values)
    return pa.table(columns)


def _is_default(values: Array, column: Column) -> bool:
    return len(values) == 0 or (values[0] == column.default and bool((values == column.default).all()))


def _texts(values: npt.NDArray[np.int64], book: npt.NDArray[np.object_]) -> pa.DictionaryArray:
    """Address codes as text: a dictionary of only those in use; -1 becomes null."""
    used = np.zeros(len(book) + 1, np.bool_)  # the last one serves the code -1
    used[values] = True
    used[-1] = False
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    indices = pa.array(place[values], mask=values < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(book[used[:-1]], pa.string()))


def _codes(data: pa.Array, codes: dict[str, int]) -> npt.NDArray[np.int32]:
    """Address codes of a column of text; null becomes -1."""
    encoded = data if pa.types.is_dictionary(data.type) else data.dictionary_encode()
    book = [codes.setdefault(text.as_py(), len(codes)) for text in encoded.dictionary]
    table = np.array([*book, -1], np.int32)
    return table[np.asarray(encoded.indices.fill_null(len(book)).to_numpy(zero_copy_only=False), np.int64)]
