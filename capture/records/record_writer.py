"""Flow records to files: Parquet, CSV and JSON lines, addresses as text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import zstandard

from datamodel.errors import InputError
from datamodel.frame import Array
from datamodel.telemetry.flows import ADDRESS_COLUMNS, FLOWS, Flows

BATCH_ROWS = 1 << 16
FORMS = (".parquet", ".csv", ".jsonl", ".csv.gz", ".csv.zst", ".jsonl.gz", ".jsonl.zst")

# Times and counts hardly repeat: a dictionary of them costs time and, being given up when full, a third of the file.
_REPEATING = [c.name for c in FLOWS if c.name in ADDRESS_COLUMNS or np.dtype(c.dtype).itemsize < 8]
_DEFAULTS = {c.name: None if c.name in ADDRESS_COLUMNS else c.default for c in FLOWS}
_SCHEMA = pa.schema(
    [(c.name, pa.string() if c.name in ADDRESS_COLUMNS else pa.from_numpy_dtype(np.dtype(c.dtype))) for c in FLOWS]
)


def write_records(flows: Flows, path: Path) -> None:
    """Write flow records; the name's ending chooses the form, `.gz` and `.zst` behind it compress.

    Columns that hold their default in every row are left out, unless they are required. The same records give the
    same bytes.

    Raises:
        InputError: the ending is none of `FORMS`, or the file cannot be written.
    """
    form = _form(path)
    names = _telling(flows)
    with _named(path), _writing(path, form, names) as write:
        write(_table(flows, names))


def write_pieces(pieces: Iterable[Flows], path: Path) -> int:
    """Write flow records that come in pieces as `write_records` would all at once; how many they were.

    One piece is in memory at a time. Which columns have values is known only at the end, so each piece is
    kept in a temporary file next to `path` until then.

    Raises:
        InputError: as `write_records`.
    """
    form = _form(path)
    with _named(path), TemporaryFile(dir=path.parent) as file:
        records, names = _keep(pieces, file)
        with _writing(path, form, names) as write:
            for batch in _kept(file):
                write(_completed(batch, names))
    return records


def _keep(pieces: Iterable[Flows], file: BinaryIO) -> tuple[int, list[str]]:
    """Write pieces to a file, a stream each; returns the number of records and the columns with values."""
    records, filled = 0, set[str]()
    # Read back once and thrown away: LZ4 costs half of what Zstandard does, for half as much again on disk.
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for flows in pieces:
        table = _table(flows, _telling(flows))
        with pa.ipc.new_stream(file, table.schema, options=options) as stream:
            stream.write_table(table)
        filled.update(table.column_names)
        records += len(flows)
    return records, [name for name in FLOWS.names if name in filled]


def _kept(file: BinaryIO) -> Iterator[pa.RecordBatch]:
    """What was written to a file, from its beginning on."""
    end = file.tell()
    file.seek(0)
    while file.tell() < end:
        with pa.ipc.open_stream(file) as stream:
            yield from stream


def _completed(batch: pa.RecordBatch, names: list[str]) -> pa.Table:
    """Add the missing ones of these columns to a piece, with their default."""
    present = set(batch.schema.names)
    columns = [
        batch[f.name] if f.name in present else pa.repeat(pa.scalar(_DEFAULTS[f.name]).cast(f.type), len(batch))
        for f in _schema(names)
    ]
    return pa.table(columns, _schema(names))


def _form(path: Path) -> str:
    form = next((form for form in sorted(FORMS, key=len, reverse=True) if path.name.endswith(form)), None)
    if form is None:
        raise InputError(f"{path}: no form of flow records has such a name; known are {', '.join(FORMS)}")
    return form


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


@contextmanager
def _writing(path: Path, form: str, names: list[str]) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes these columns of tables, one behind the other, to a new file."""
    schema = _schema(names)
    if form == ".parquet":
        with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=_REPEATING) as parquet:
            yield parquet.write_table
        return
    with compressing(path) as file:
        if form.startswith(".csv"):
            with pa_csv.CSVWriter(file, schema) as csv:
                yield csv.write_table
        else:
            yield lambda table: _write_lines(table, file)


def _write_lines(table: pa.Table, file: BinaryIO) -> None:
    for lines in _lines(table):  # noqa: FURB122 - what compresses to Zstandard has no `writelines`
        file.write(lines)


def _telling(flows: Flows) -> list[str]:
    """Columns that are required, or do not hold their default in every row."""
    return [c.name for c in FLOWS if c.required or (flows.frame[c.name] != c.default).any()]


def _table(flows: Flows, names: list[str]) -> pa.Table:
    """These columns of the records, addresses as text; an address that is not known is null."""
    book = pa.array(flows.addresses, pa.string())
    schema = _schema(names)
    columns = [_texts(flows.frame[f.name], book) if f.type == pa.string() else flows.frame[f.name] for f in schema]
    return pa.table(dict(zip(names, columns, strict=True)), schema)


def _schema(names: list[str]) -> pa.Schema:
    return pa.schema([_SCHEMA.field(name) for name in names])


def _texts(codes: Array, book: pa.StringArray) -> pa.StringArray:
    """The texts of codes; null where a code is -1."""
    places = pa.array(codes)
    return book.take(pc.if_else(pc.less(places, 0), None, places))


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
    return _lines(_table(flows, _telling(flows)))


def _lines(table: pa.Table) -> Iterator[bytes]:
    return map(_json_lines, table.to_batches(BATCH_ROWS))


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
