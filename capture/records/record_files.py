"""Flow-record files: Parquet, CSV and JSON lines, in columns named as GoFlow2 names them, and what collectors write.

Dumps of GoFlow2 (JSON, protobuf), pmacct (JSON) and nfdump (CSV) load as they are. Start, end, source, destination
and bytes are required; all else may be missing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from capture.files.decompression import Progress, ahead, read_blocks
from capture.goflow2.dump_reader import begins_with_message, read_dump
from capture.goflow2.message_scanner import LONGEST_MESSAGE_BYTES
from capture.ingest_log import IngestLog
from capture.records.record_columns import FlowRowBuilder
from capture.records.record_text import OWN, check_columns, text_tables
from capture.records.record_writer import write_records
from datamodel.errors import InputError
from datamodel.telemetry.flows import ADDRESS_COLUMNS, Flows, mark_metered

__all__ = ["PARQUET_MAGIC", "iter_parquet", "iter_text", "read_parquet", "read_records", "read_text", "write_records"]

PARQUET_MAGIC = b"PAR1"
BATCH_ROWS = 1 << 18
EXPECTED_ROWS = 1 << 26  # a file may claim any number of rows; room for more is made as they come


def read_records(path: Path, ingest_log: IngestLog, progress: Progress | None = None) -> Flows:
    """The flow records of a file, in its order, what cannot be used left out and counted.

    Args:
        path: a Parquet file, or CSV, JSON lines or a GoFlow2 dump, these also compressed with gzip or Zstandard.
        ingest_log: receives what was rejected, why, and what was guessed or ignored.
        progress: called with (bytes of the file read, bytes of the file).

    Raises:
        InputError: the file is no table of flow records, lacks a required column, or is damaged beyond reading.
    """
    content = read_blocks(path, ingest_log, progress)
    head = next(content, b"")
    if head[:4] == PARQUET_MAGIC:
        return read_parquet(path, ingest_log, progress)
    return read_text(path, head, content, ingest_log)


def iter_parquet(path: Path, ingest_log: IngestLog, progress: Progress | None, piece_rows: int) -> Iterator[Flows]:
    """The flow records of a Parquet file in pieces of about `piece_rows`; see `read_records`."""
    with _damage_named(path):
        yield from FlowRowBuilder(ingest_log).pieces(_batches(path, ingest_log, progress, piece_rows), piece_rows)


def read_parquet(path: Path, ingest_log: IngestLog, progress: Progress | None = None) -> Flows:
    """The flow records of a Parquet file; see `read_records`."""
    with _damage_named(path):
        rows = FlowRowBuilder(ingest_log, min(pq.read_metadata(path).num_rows, EXPECTED_ROWS))
        for table in _batches(path, ingest_log, progress, BATCH_ROWS):
            rows.add(table)
    pa.default_memory_pool().release_unused()  # it would keep a large file's batches for another file
    return rows.flows()


def _batches(path: Path, ingest_log: IngestLog, progress: Progress | None, batch_rows: int) -> Iterator[pa.Table]:
    """The columns of flow records in a Parquet file, batch by batch."""
    schema = pq.read_schema(path)
    known = check_columns(path, schema.names, ingest_log)
    texts = [name for name in ADDRESS_COLUMNS if name in known and pa.types.is_string(schema.field(name).type)]
    # what is read ahead of all row groups is kept until the last one
    with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
        size, total = path.stat().st_size, max(file.metadata.num_rows, 1)
        done = 0
        for batch in ahead(file.iter_batches(batch_rows, columns=known)):
            yield pa.Table.from_batches([batch])
            done += batch.num_rows
            if progress is not None:
                progress(size * done // total, size)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: damaged Parquet file: {one_line(error)}") from None


def read_text(path: Path, head: bytes, content: Iterator[bytes], ingest_log: IngestLog) -> Flows:
    """The flow records of CSV, JSON lines or a GoFlow2 dump whose first block is `head`; see `read_records`."""
    (flows,) = iter_text(path, head, content, ingest_log, sys.maxsize)
    return flows


def iter_text(
    path: Path, head: bytes, content: Iterator[bytes], ingest_log: IngestLog, piece_rows: int
) -> Iterator[Flows]:
    """The flow records of such a file in pieces of about `piece_rows`; a GoFlow2 dump is one piece."""
    while len(head) < LONGEST_MESSAGE_BYTES and (more := next(content, b"")):
        head += more
    if begins_with_message(head):
        dump = read_dump(chain([head], content), path.name, ingest_log)
        yield Flows(mark_metered(dump.frame), dump.addresses)
        return
    try:
        dialect, tables = text_tables(path, chain([head], content), ingest_log)
        for flows in FlowRowBuilder(ingest_log).pieces(tables, piece_rows):
            yield flows if dialect is OWN else Flows(mark_metered(flows.frame), flows.addresses)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path}: damaged flow records: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]
