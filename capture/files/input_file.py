"""Detects by content what a file holds: mirrored packets, export datagrams or flow records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from capture.exporters.datagram import PROTOCOLS, Datagrams
from capture.files.capture_file import Batch, batches, is_capture
from capture.files.decompression import Progress, read_blocks
from capture.files.export_capture import ExportPackets, holds_exports, outdated
from capture.files.payload_file import is_payload, payloads
from capture.files.resemblance import damaged_exports, resembles
from capture.ingest_log import IngestLog
from datamodel.errors import InputError

HEAD_BYTES = 64  # enough to detect the type of a file


@dataclass(frozen=True, slots=True)
class MirrorFile:
    """A capture of mirrored packets: its batches; each overwrites the one before."""

    packets: Iterator[Batch]


@dataclass(frozen=True, slots=True)
class ExportFile:
    """Export datagrams, bare or in a capture: their batches; each overwrites the one before."""

    datagrams: Iterator[Datagrams]


@dataclass(frozen=True, slots=True)
class RecordFile:
    """Flow records of whatever form: the first bytes, and those behind them."""

    head: bytes
    rest: Iterator[bytes]


def open_input(path: Path, ingest_log: IngestLog, progress: Progress | None) -> MirrorFile | ExportFile | RecordFile:
    """Open a file as what its content says.

    Args:
        path: the file, plain or compressed.
        ingest_log: receives damage and, at the end of a capture of exports, the packets that carry none.
        progress: called with (bytes of the file read, bytes of the file), from a thread.

    Raises:
        InputError: it cannot be read, or there is nothing in it.
    """
    content = read_blocks(path, ingest_log, progress)
    head = next(content, b"")
    while 0 < len(head) < HEAD_BYTES and (more := next(content, b"")):
        head += more
    if not head:
        cause = ingest_log.warnings[0].partition(": ")[2] if ingest_log.warnings else "holds nothing once unpacked"
        raise InputError(f"{path}: {cause}")
    if is_capture(head):
        return _capture(batches(chain([head], content), path.name, ingest_log), path.name, ingest_log)
    if is_payload(head):
        return ExportFile(payloads(chain([head], content), path.name, ingest_log))
    if protocol := resembles(head[:HEAD_BYTES]):
        raise InputError(f"{path}: resembles {PROTOCOLS[protocol]} datagrams, but the header of the first is damaged")
    return RecordFile(head, content)


def read_datagrams(path: Path, ingest_log: IngestLog, progress: Progress | None = None) -> Iterator[Datagrams]:
    """The export datagrams of a file, in batches; arguments and errors as for `open_input`.

    Raises:
        InputError: also where it holds none.
    """
    file = open_input(path, ingest_log, progress)
    if not isinstance(file, ExportFile):
        raise InputError(f"{path}: holds no export datagrams (sFlow, NetFlow v5 or v9, IPFIX)")
    return file.datagrams


def _capture(parts: Iterator[Batch], name: str, ingest_log: IngestLog) -> MirrorFile | ExportFile:
    """A capture as a mirror or as one of export datagrams, judged by its first packets."""
    first = next((part for part in parts if len(part.packets)), None)
    if first is None:
        return MirrorFile(iter(()))
    old = outdated(first)
    for protocol, count in sorted(old.items()):
        ingest_log.warn(
            f"{name}: {count} of the first {len(first.packets)} packets are {protocol}, which is not decoded"
        )
    whole = chain([first], parts)
    if holds_exports(first):
        return ExportFile(_picked(whole, ingest_log))
    damaged = Counter[int]() if old else damaged_exports(first)
    for kind, count in sorted(damaged.items()):
        ingest_log.warn(
            f"{name}: {count} of the first packets resemble {PROTOCOLS[kind]} datagrams with a damaged header"
        )
    return ExportFile(_picked(whole, ingest_log)) if damaged else MirrorFile(whole)


def _picked(parts: Iterator[Batch], ingest_log: IngestLog) -> Iterator[Datagrams]:
    """Select the export datagrams of a capture; the other packets are counted in `ingest_log` at the end."""
    packets = ExportPackets()
    for part in parts:
        yield packets.datagrams(part)
    yield packets.rest()
    for reason, count in packets.left_out.items():
        ingest_log.reject(reason, count)
