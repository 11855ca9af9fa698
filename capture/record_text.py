"""CSV and JSON lines as Arrow tables, block by block: bytes -> columns, without an opinion on what they mean."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from capture.ledger import Ledger
from datamodel.errors import InputError
from datamodel.flows import FLOWS

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
REQUIRED = tuple(c.name for c in FLOWS if c.required)
_LISTED_COLUMNS = 12  # extra columns that a warning lists
_PEEKED_LINES = 1000
_LONGEST_HEADER_BYTES = 1 << 16
_LONGEST_LINE_BYTES = 1 << 24  # a file without line ends is not gathered whole before it is refused


def check_columns(path: Path, names: Iterable[str], ledger: Ledger) -> list[str]:
    """Those of `names` that are flow record columns; a warning names the others.

    Raises:
        InputError: a required column is not among them.
    """
    present = list(dict.fromkeys(names))
    for required in REQUIRED:
        if required not in present:
            raise InputError(f"{path}: required column {required!r} is missing")
    extra = sorted(name for name in present if name not in FLOWS.names)
    if extra:
        more = f" and {len(extra) - _LISTED_COLUMNS} more" if len(extra) > _LISTED_COLUMNS else ""
        ledger.warn(f"{path.name}: columns ignored: {', '.join(extra[:_LISTED_COLUMNS])}{more}")
    return [name for name in present if name in FLOWS.names]


def text_tables(path: Path, content: Iterator[bytes], ledger: Ledger) -> Iterator[pa.Table]:
    """The known columns of CSV or JSON lines, in batches.

    Raises:
        InputError: the content is neither, or lacks a required column.
    """
    blocks = _whole_lines(content)
    first = next(blocks, b"")
    line = first.lstrip().split(b"\n", 1)[0]
    header = [] if b"\0" in line or len(line) > _LONGEST_HEADER_BYTES else _header(line)
    if line.startswith(b"{"):
        return _json_tables(path, first, blocks, ledger)
    if len(header) > 1 and set(header) & set(FLOWS.names):
        return _csv_tables(path, header, first.lstrip()[len(line) + 1 :], blocks, ledger)
    raise InputError(f"{path}: neither a packet capture (pcap, pcapng) nor flow records (Parquet, CSV, JSON lines)")


def _whole_lines(content: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end where a line ends, the byte order mark taken off."""
    rest, first = b"", True
    for block in content:
        text = rest + block
        if first:
            text, first = text.removeprefix(BYTE_ORDER_MARK), False
        cut = text.rfind(b"\n") + 1 or (len(text) if len(text) > _LONGEST_LINE_BYTES else 0)
        rest = text[cut:]
        if cut:
            yield text[:cut]
    if rest:
        yield rest


def _header(line: bytes) -> list[str]:
    return [name.strip() for name in next(csv.reader([line.decode("utf-8", "replace")]), [])]


def _csv_tables(
    path: Path, header: list[str], first: bytes, blocks: Iterator[bytes], ledger: Ledger
) -> Iterator[pa.Table]:
    known = check_columns(path, header, ledger)

    def skip(_row: pa_csv.InvalidRow) -> str:
        ledger.reject("row: wrong number of columns")
        return "skip"

    # Every value is read as text: what does not fit its column is then a row rejected, not a file lost.
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(known, pa.string()), include_columns=known, strings_can_be_null=True
    )
    parse = pa_csv.ParseOptions(invalid_row_handler=skip)
    for block in chain([first], blocks):
        if block.strip():
            yield _csv_table(block, header, convert, parse)


def _csv_table(block: bytes, header: list[str], convert: pa_csv.ConvertOptions, parse: pa_csv.ParseOptions) -> pa.Table:
    read = pa_csv.ReadOptions(column_names=header, block_size=len(block) + 1, use_threads=False)
    return pa_csv.read_csv(io.BytesIO(_utf8(block)), read, parse, convert)


def _utf8(block: bytes) -> bytes:
    """`block` with what is no UTF-8 replaced, so that it spoils its own value only."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return block.decode(errors="replace").encode()
    return block


def _json_tables(path: Path, first: bytes, blocks: Iterator[bytes], ledger: Ledger) -> Iterator[pa.Table]:
    peeked = [line for line in map(_json_object, islice(first.splitlines(), _PEEKED_LINES)) if line is not None]
    check_columns(path, [name for line in peeked for name in line], ledger)
    schema = pa.schema([(name, _json_type([line.get(name) for line in peeked])) for name in FLOWS.names])
    parse = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    for block in chain([first], blocks):
        if block.strip():
            yield _json_table(block, schema, parse, ledger)


def _json_table(block: bytes, schema: pa.Schema, parse: pa_json.ParseOptions, ledger: Ledger) -> pa.Table:
    read = pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        table = pa_json.read_json(io.BytesIO(block), read, parse)
    except pa.ArrowInvalid:  # a line that is no object, or a value of another type than its column's first ones
        table = _salvaged(block, schema, ledger)
    return table


def _salvaged(block: bytes, schema: pa.Schema, ledger: Ledger) -> pa.Table:
    """The block's lines one by one, every value as text, so that only what is wrong is lost."""
    lines = [_json_object(line) for line in block.splitlines() if line.strip()]
    rows = [line for line in lines if line is not None]
    ledger.reject("row: not a JSON object", len(lines) - len(rows))
    columns = {name: [_text(row.get(name)) for row in rows] for name in schema.names}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _json_object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def _json_type(values: list[object]) -> pa.DataType:
    """The Arrow type that holds a column's first values."""
    kinds = {type(value) for value in values} - {type(None)}
    for kind, arrow in ((str, pa.string()), (float, pa.float64()), (bool, pa.bool_())):
        if kind in kinds:
            return arrow
    return pa.int64()
