"""Flow records to files: Parquet, CSV and JSON lines, addresses as text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import zstandard

from datamodel.errors import InputError
from datamodel.flows import ADDRESS_COLUMNS, FLOWS, Flows

BATCH_ROWS = 1 << 16
FORMS = (".parquet", ".csv", ".jsonl", ".csv.gz", ".csv.zst", ".jsonl.gz", ".jsonl.zst")


def write_records(flows: Flows, path: Path) -> None:
    """Write flow records; the name's ending chooses the form, `.gz` and `.zst` behind it compress.

    Columns that hold their default in every row are left out, unless they are required. The same records give the
    same bytes.

    Raises:
        InputError: the ending is none of `FORMS`, or the file cannot be written.
    """
    form = next((form for form in sorted(FORMS, key=len, reverse=True) if path.name.endswith(form)), None)
    if form is None:
        raise InputError(f"{path}: no form of flow records has such a name; known are {', '.join(FORMS)}")
    table = _table(flows)
    try:
        if form == ".parquet":
            pq.write_table(table, path, compression="zstd")
            return
        with compressing(path) as file:
            if form.startswith(".csv"):
                pa_csv.write_csv(table, file)
            else:
                for lines in json_lines(flows):
                    file.write(lines)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _table(flows: Flows) -> pa.Table:
    """The records as Arrow columns, addresses as text; an address that is not known is null."""
    columns: dict[str, pa.Array] = {}
    book = np.array([*flows.addresses, None], object)
    for column in FLOWS:
        values = flows.frame[column.name]
        if not column.required and (values == column.default).all():
            continue
        columns[column.name] = (
            pa.array(book[values], pa.string()) if column.name in ADDRESS_COLUMNS else pa.array(values)
        )
    return pa.table(columns)


@contextmanager
def compressing(path: Path) -> Iterator[BinaryIO]:
    """A new file for bytes; a name that ends in `.gz` or `.zst` compresses them."""
    with path.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:  # no name or time, so that equal is equal
                yield packed  # type: ignore[misc]  # a GzipFile writes like any binary file
        elif path.suffix == ".zst":
            with zstandard.ZstdCompressor().stream_writer(file) as packed:
                yield packed
        else:
            yield file


def json_lines(flows: Flows) -> Iterator[bytes]:
    """Flow records as JSON lines, some thousand at a time."""
    return map(_json_lines, _table(flows).to_batches(BATCH_ROWS))


def _json_lines(batch: pa.RecordBatch) -> bytes:
    """One JSON object a row; null values are left out."""
    parts = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        text = _json_strings(column) if pa.types.is_string(column.type) else pc.cast(column, pa.string())
        parts.append(pc.binary_join_element_wise(json.dumps(name), text, ":"))
    rows = pc.binary_join_element_wise(*parts, ",", null_handling="skip")
    lines = pc.binary_join_element_wise("{", rows, "}\n", "")
    return "".join(lines.to_pylist()).encode()


def _json_strings(column: pa.Array) -> pa.Array:
    encoded = column.dictionary_encode()
    quoted = pa.array([json.dumps(text.as_py()) for text in encoded.dictionary], pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, quoted).dictionary_decode()
