"""Any input to flow records: recognises by content what a file is, and reads it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from capture.configured_rates import SamplingRates
from capture.export_decoder import ExportDecoder
from capture.exporters.counter_check import reconciled
from capture.files.decompression import Progress
from capture.files.input_file import ExportFile, MirrorFile, RecordFile, open_input
from capture.ingest_log import IngestLog
from capture.mirror.mirror_files import MirrorFiles
from datamodel.errors import InputError
from datamodel.frame import Frame, concat
from datamodel.telemetry.counters import NO_READINGS, PORT_COUNTERS, PortReadings
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import ADDRESS_COLUMNS, FLOWS, Flows, IngestNotes, recode
from datamodel.telemetry.ingest_result import IngestResult

_NO_NOTES = IngestNotes({}, ())


def read_flows(path: Path, progress: Progress | None = None, rates: SamplingRates | None = None) -> IngestResult:
    """The flow records of one file.

    A file is what its content says: a pcap or pcapng capture of mirrored packets or of export datagrams (sFlow,
    NetFlow, IPFIX), bare export datagrams, or flow records as Parquet, CSV or JSON lines; each but Parquet also
    compressed with gzip or Zstandard.

    Args:
        path: the file.
        progress: called with (bytes of the file read, bytes of the file), from a thread.
        rates: sampling rates of exporters that send none or a wrong one.

    Raises:
        InputError: the file cannot be used at all; the message names it and the cause, in one line.
    """
    return read_all([path], progress, rates)


def read_all(
    paths: Iterable[Path], progress: Progress | None = None, rates: SamplingRates | None = None
) -> IngestResult:
    """The flow records of several files, one after the other, as one collector would have received them.

    Templates, sampling rates, sequence numbers and connections of one file serve those that follow it.

    Args:
        paths: the files, at least one.
        progress: as for `read_flows`, with the sums over all files.
        rates: as for `read_flows`.

    Raises:
        InputError: there is no file, or one of them cannot be used at all.
    """
    files = list(paths)
    if not files:
        raise InputError("no input files given")
    sizes = [path.stat().st_size if path.is_file() else 0 for path in files]
    starts = accumulate(sizes, initial=0)
    ingest_log, exports, mirrors = IngestLog(), ExportDecoder(rates), MirrorFiles()
    readings = []
    for path, start in zip(files, starts, strict=False):
        seen = shifted(progress, start, sum(sizes))
        file = open_input(path, ingest_log, seen)
        if isinstance(file, MirrorFile):
            deque(mirrors.follow(file.packets), maxlen=0)
        elif isinstance(file, ExportFile):
            for part in file.datagrams:
                exports.feed(part)
        else:
            flows = read_records(path, file, ingest_log, seen)
            readings.append(_reading(flows, len(flows), _named(flows)))
    mirrors.account(ingest_log)
    readings += [_reading(mirror.flows(), mirror.packets, mirror.exporters) for mirror in mirrors.mirrors]
    if exports.datagrams or not readings:
        readings.append(_exported(exports, ingest_log))
    return replace(merged(readings), notes=ingest_log.notes())


def shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """`progress` of one file among several: `before` bytes precede it, all have `total`."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def merged(readings: Sequence[IngestResult]) -> IngestResult:
    """Several readings as one: rows one after the other, counts added, warnings in order and each once."""
    if len(readings) == 1:
        return readings[0]
    rejected: Counter[str] = Counter()
    for reading in readings:
        rejected.update(reading.notes.rejected)
    warnings = dict.fromkeys(w for reading in readings for w in reading.notes.warnings)
    notes = IngestNotes(dict(sorted(rejected.items())), tuple(warnings))
    exporters = sorted({exporter for reading in readings for exporter in reading.exporters})
    flows = _joined([reading.flows for reading in readings])
    accounts = tuple(account for reading in readings for account in reading.accounts)
    counters = _joined_counters([reading.counters for reading in readings])
    return _reading(flows, sum(reading.records for reading in readings), tuple(exporters), accounts, notes, counters)


def _joined(parts: Sequence[Flows]) -> Flows:
    frames: list[Frame] = []
    book: list[str] = []
    for part in parts:
        shifted = {c: np.where(part.frame[c] >= 0, part.frame[c] + len(book), -1) for c in ADDRESS_COLUMNS}
        frames.append(part.frame.replace(**shifted))
        book.extend(part.addresses)
    return recode(concat(FLOWS, frames), tuple(book))


def _joined_counters(parts: Sequence[PortReadings]) -> PortReadings:
    frames: list[Frame] = []
    book: list[str] = []
    for part in parts:
        frames.append(part.frame.replace(sampler_address=part.frame["sampler_address"] + len(book)))
        book.extend(part.addresses)
    return PortReadings(concat(PORT_COUNTERS, frames), tuple(book))


def _exported(exports: ExportDecoder, ingest_log: IngestLog) -> IngestResult:
    exports.account(ingest_log)
    decoded = exports.take()
    accounts = reconciled(exports.exporters(), decoded.flows, decoded.counters, decoded.addresses)
    agents = tuple(sorted({account.agent for account in accounts}))
    counters = PortReadings.of(decoded.counters, decoded.addresses)
    return _reading(decoded.canonical_flows(), exports.records, agents, accounts, counters=counters)


def read_records(path: Path, file: RecordFile, ingest_log: IngestLog, progress: Progress | None) -> Flows:
    """The flow records of a file of flow records."""
    from capture.records import record_files  # noqa: PLC0415 - importing pyarrow takes as long as reading a short capture

    if file.head.startswith(record_files.PARQUET_MAGIC):
        return record_files.read_parquet(path, ingest_log, progress)
    return record_files.read_text(path, file.head, file.rest, ingest_log)


def iter_records(
    path: Path, file: RecordFile, ingest_log: IngestLog, progress: Progress | None, piece_rows: int
) -> Iterator[Flows]:
    """The flow records of a file of flow records in pieces of about `piece_rows`."""
    from capture.records import record_files  # noqa: PLC0415 - importing pyarrow takes as long as reading a short capture

    if file.head.startswith(record_files.PARQUET_MAGIC):
        return record_files.iter_parquet(path, ingest_log, progress, piece_rows)
    return record_files.iter_text(path, file.head, file.rest, ingest_log, piece_rows)


def _named(flows: Flows) -> tuple[str, ...]:
    """The exporters that records name."""
    codes = flows.frame["sampler_address"]
    distinct = codes[:1] if codes.strides == (0,) else np.unique(codes)  # most files name none
    return tuple(flows.addresses[code] for code in distinct if code >= 0)


def _reading(
    flows: Flows,
    records: int,
    exporters: tuple[str, ...],
    accounts: tuple[ExporterStats, ...] = (),
    notes: IngestNotes = _NO_NOTES,
    counters: PortReadings = NO_READINGS,
) -> IngestResult:
    size = int(flows.frame["bytes"].sum())
    return IngestResult(flows, notes, records, size, exporters, accounts, counters=counters)
