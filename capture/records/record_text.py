"""CSV and JSON lines as Arrow tables, block by block: bytes -> columns, without an opinion on what they mean."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from capture.dialects.dialect import RecordDialect
from capture.dialects.nfdump import NFDUMP
from capture.dialects.pmacct import PMACCT
from capture.goflow2.json_text import GOFLOW2
from capture.ingest_log import IngestLog
from datamodel.errors import InputError
from datamodel.telemetry.flows import FLOWS

DIALECTS = (GOFLOW2, PMACCT, NFDUMP)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OWN = RecordDialect(
    name="flow records",
    signature=(),
    columns=frozenset(FLOWS.names),
    required=tuple((c.name,) for c in FLOWS if c.required),
    translate=lambda table, _doubts: table,
)
_LISTED_COLUMNS = 12  # extra columns that a warning lists
_DECODER = json.JSONDecoder()
_PEEKED_LINES = 1000
_LONGEST_HEADER_BYTES = 1 << 16
_LONGEST_LINE_BYTES = 1 << 24  # a file without line ends is not gathered whole before it is refused


def check_columns(path: Path, names: Iterable[str], ingest_log: IngestLog, dialect: RecordDialect = OWN) -> list[str]:
    """Those of `names` that are columns of flow records in this dialect; a warning names the others.

    Raises:
        InputError: a required column is not among them.
    """
    present = list(dict.fromkeys(names))
    for group in dialect.required:
        if not set(group) & set(present):
            raise InputError(f"{path}: required column {' or '.join(map(repr, group))} is missing")
    extra = sorted(name for name in present if name not in dialect.columns)
    if extra:
        more = f" and {len(extra) - _LISTED_COLUMNS} more" if len(extra) > _LISTED_COLUMNS else ""
        ingest_log.warn(f"{path.name}: columns ignored: {', '.join(extra[:_LISTED_COLUMNS])}{more}")
    return [name for name in present if name in dialect.columns]


def text_tables(
    path: Path, content: Iterator[bytes], ingest_log: IngestLog
) -> tuple[RecordDialect, Iterator[pa.Table]]:
    """Detect the dialect of CSV or JSON lines and read their flow record columns in batches.

    Raises:
        InputError: the content is neither, or lacks a required column.
    """
    blocks = _whole_lines(content)
    first = next(blocks, b"")
    line = first.lstrip().split(b"\n", 1)[0]
    header = [] if b"\0" in line or len(line) > _LONGEST_HEADER_BYTES else _header(line)
    if line.startswith(b"{"):
        peeked = json_rows(first)
        dialect = dialect_of(name for row in peeked for name in row)
        lines = _json_tables(path, peeked, chain([first], blocks), dialect, ingest_log)
        return dialect, _translated(path, dialect, lines, ingest_log)
    dialect = dialect_of(header)
    if len(header) > 1 and set(header) & dialect.columns:
        rows = chain([first.lstrip()[len(line) + 1 :]], blocks)
        return dialect, _translated(path, dialect, _csv_tables(path, header, rows, dialect, ingest_log), ingest_log)
    raise InputError(f"{path}: neither a packet capture (pcap, pcapng) nor flow records (Parquet, CSV, JSON lines)")


def dialect_of(names: Iterable[str]) -> RecordDialect:
    """Whose columns these are."""
    present = frozenset(names)
    return next((d for d in DIALECTS if any(signature <= present for signature in d.signature)), OWN)


def _translated(
    path: Path, dialect: RecordDialect, tables: Iterator[pa.Table], ingest_log: IngestLog
) -> Iterator[pa.Table]:
    doubts = Counter[str]()
    for table in tables:
        yield dialect.translate(table, doubts)
    for doubt, rows in doubts.items():
        if rows:
            ingest_log.warn(f"{path.name}: {rows} rows {doubt}")


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
    """The names in a header line; none where it is no line of CSV, as with a carriage return inside it."""
    try:
        return [name.strip() for name in next(csv.reader([line.decode("utf-8", "replace")]), [])]
    except csv.Error:
        return []


def _csv_tables(
    path: Path, header: list[str], blocks: Iterator[bytes], dialect: RecordDialect, ingest_log: IngestLog
) -> Iterator[pa.Table]:
    known = check_columns(path, header, ingest_log, dialect)

    def skip(row: pa_csv.InvalidRow) -> str:
        if not dialect.is_framing(row.text):
            ingest_log.reject("row: wrong number of columns")
        return "skip"

    # Every value is read as text: what does not fit its column is then a row rejected, not a file lost.
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(known, pa.string()), include_columns=known, strings_can_be_null=True
    )
    parse = pa_csv.ParseOptions(invalid_row_handler=skip)
    for block in blocks:
        if block.strip():
            yield _csv_table(block, header, convert, parse)


def _csv_table(block: bytes, header: list[str], convert: pa_csv.ConvertOptions, parse: pa_csv.ParseOptions) -> pa.Table:
    content = _utf8(block)
    read = pa_csv.ReadOptions(column_names=header, block_size=len(content) + 1, use_threads=False)
    return pa_csv.read_csv(io.BytesIO(content), read, parse, convert)


def _utf8(block: bytes) -> bytes:
    """`block` with what is no UTF-8 replaced, so that it spoils its own value only."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return block.decode(errors="replace").encode()
    return block


def _json_tables(
    path: Path, peeked: list[dict[str, Any]], blocks: Iterable[bytes], dialect: RecordDialect, ingest_log: IngestLog
) -> Iterator[pa.Table]:
    check_columns(path, [name for row in peeked for name in row], ingest_log, dialect)
    schema = json_schema(peeked, dialect)
    for block in blocks:
        if block.strip():
            yield json_table(block, schema, ingest_log)


def json_rows(block: bytes) -> list[dict[str, Any]]:
    """Parse the objects of the first JSON lines, to detect columns and types; broken lines are skipped."""
    return [row for line in islice(block.splitlines(), _PEEKED_LINES) for row in _json_objects(line)]


def json_schema(peeked: list[dict[str, Any]], dialect: RecordDialect) -> pa.Schema:
    """Types that hold the first values of every column that is read."""
    return pa.schema([(name, _json_type([row.get(name) for row in peeked])) for name in sorted(dialect.columns)])


def json_table(block: bytes, schema: pa.Schema, ingest_log: IngestLog) -> pa.Table:
    """The columns of `schema` of a block of JSON lines; what is no object is left out and counted."""
    parse = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    content = _utf8(block)
    read = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    try:
        table = pa_json.read_json(io.BytesIO(content), read, parse)
    except pa.ArrowInvalid:  # a line that is no object, or a value of another type than its column's first ones
        table = _salvaged(block, schema, ingest_log)
    return table


def _salvaged(block: bytes, schema: pa.Schema, ingest_log: IngestLog) -> pa.Table:
    """The block's lines one by one, every value as text, so that only what is wrong is lost."""
    lines = [_json_objects(line) for line in block.splitlines() if line.strip()]
    rows = [row for line in lines for row in line]
    ingest_log.reject("row: not a JSON object", sum(not line for line in lines))
    columns = {name: [_text(row.get(name)) for row in rows] for name in schema.names}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _json_objects(line: bytes) -> list[dict[str, Any]]:
    """The objects of a line; several where a collector wrote them before their line ends. None if any is broken."""
    text = line.decode(errors="replace").strip()
    found, at = [], 0
    try:
        while at < len(text):
            value, at = _DECODER.raw_decode(text, at)
            found.append(value)
    except ValueError:
        return []
    return found if all(isinstance(value, dict) for value in found) else []


def _text(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def _json_type(values: list[object]) -> pa.DataType:
    """The Arrow type that holds a column's first values."""
    kinds = {type(value) for value in values} - {type(None)}
    for kind, arrow in ((str, pa.string()), (float, pa.float64()), (bool, pa.bool_())):
        if kind in kinds:
            return arrow
    return pa.int64()
