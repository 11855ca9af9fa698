"""Decoding from the command line: flow records, or what the wire said, to a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.records.record_writer import compressing, json_lines, write_pieces
from capture.wire_records import WireRecords
from datamodel.errors import InputError
from datamodel.telemetry.flows import Flows, IngestNotes
from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.cli.progress_bars import progress_bars
from flowprism.inputs.feed_files import input_pieces

STDOUT = Path("-")
_WIRE_FORMS = (".jsonl", ".jsonl.gz", ".jsonl.zst")


def write_flows(paths: Sequence[Path], out: Path, rates: Iterable[str]) -> None:
    """Write the flow records of all inputs, one after the other.

    Raises:
        InputError: an input cannot be used or the output cannot be written.
    """
    wanted, ingest_log = parse_sampling_rates(rates), IngestLog()
    with progress_bars() as progress:
        reading = None if progress is None else lambda d, t: progress("reading", d, t)
        pieces = input_pieces(paths, ingest_log, reading, wanted)
        written = _print(pieces) if out == STDOUT else write_pieces(pieces, out)
    _tell(f"{written} flow records written", ingest_log.notes())


def _print(pieces: Iterable[Flows]) -> int:
    """Write flow records to stdout as JSON lines; how many they were."""
    written = 0
    with _stdout() as file:
        for flows in pieces:
            file.writelines(json_lines(flows))
            written += len(flows)
    return written


def write_wire(paths: Sequence[Path], out: Path) -> None:
    """Write what the export datagrams of all inputs say, one JSON object a record.

    Raises:
        InputError: an input holds no export datagrams, or the output cannot be written.
    """
    ingest_log, written = IngestLog(), 0
    with _wire_file(out) as file:
        for record in _wire(paths, ingest_log):
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            written += 1
    _tell(f"{written} wire records written", ingest_log.notes())


def _wire(paths: Sequence[Path], ingest_log: IngestLog) -> Iterator[dict[str, object]]:
    records = WireRecords()
    for path in paths:
        for batch in read_datagrams(path, ingest_log):
            yield from records.of(batch)


@contextmanager
def _wire_file(out: Path) -> Iterator[BinaryIO]:
    if out == STDOUT:
        with _stdout() as file:
            yield file
        return
    if not out.name.endswith(_WIRE_FORMS):
        raise InputError(f"{out}: what the wire said is written as JSON lines; name it {', '.join(_WIRE_FORMS)}")
    try:
        with compressing(out) as file:
            yield file
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from None


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has seen enough (`... --out - | head`); nor may the flush at exit complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(done: str, notes: IngestNotes) -> None:
    """Say on stderr what was done and what was left out."""
    typer.echo(done, err=True)
    for reason, count in notes.rejected.items():
        typer.echo(f"left out: {count} {reason}", err=True)
    for warning in notes.warnings:
        typer.echo(f"warning: {warning}", err=True)
