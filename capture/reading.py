"""Any input to flow records: recognises by content what a file is, and reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from capture.capture_file import Batch
from capture.datagram import Datagrams
from capture.exports import Exports
from capture.input_file import ExportFile, MirrorFile, RecordFile, opened
from capture.ledger import Ledger
from capture.mirror import Mirror
from capture.reconcile import reconciled
from capture.sampling import SamplingRates
from capture.stream import Progress
from datamodel.errors import InputError
from datamodel.exporters import ExporterNotes
from datamodel.flows import ADDRESS_COLUMNS, FLOWS, FeedNotes, Flows, recode
from datamodel.frame import Frame, concat
from datamodel.reading import Reading


def read_flows(path: Path, progress: Progress | None = None, rates: SamplingRates | None = None) -> Reading:
    """The flow records of one file.

    A file is what its content says: a pcap or pcapng capture of mirrored packets or of export datagrams (sFlow,
    NetFlow, IPFIX), bare export datagrams, or flow records as Parquet, CSV or JSON lines; each but Parquet also
    compressed with gzip or Zstandard.

    Args:
        path: the file.
        progress: called with (bytes of the file read, bytes of the file), from a thread.
        rates: sampling rates of exporters that tell none or a wrong one.

    Raises:
        InputError: the file cannot be used at all; the message names it and the cause, in one line.
    """
    ledger = Ledger()
    file = opened(path, ledger, progress)
    if isinstance(file, MirrorFile):
        return _read_mirror(file.packets, ledger)
    if isinstance(file, ExportFile):
        return _read_exports(file.datagrams, ledger, rates)
    flows = read_records(path, file, ledger, progress)
    return _reading(flows, ledger.notes(), len(flows), _named(flows))


def read_all(paths: Iterable[Path], progress: Progress | None = None, rates: SamplingRates | None = None) -> Reading:
    """The flow records of several files, one after the other, as if they were one.

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
    return merged(
        [
            read_flows(path, shifted(progress, start, sum(sizes)), rates)
            for path, start in zip(files, starts, strict=False)
        ]
    )


def shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """`progress` of one file among several: `before` bytes precede it, all have `total`."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def merged(readings: Sequence[Reading]) -> Reading:
    """Several readings as one: rows one after the other, counts added, warnings in order and each once."""
    if len(readings) == 1:
        return readings[0]
    rejected: Counter[str] = Counter()
    for reading in readings:
        rejected.update(reading.notes.rejected)
    warnings = dict.fromkeys(w for reading in readings for w in reading.notes.warnings)
    notes = FeedNotes(dict(sorted(rejected.items())), tuple(warnings))
    exporters = sorted({exporter for reading in readings for exporter in reading.exporters})
    flows = _joined([reading.flows for reading in readings])
    accounts = tuple(account for reading in readings for account in reading.accounts)
    return _reading(flows, notes, sum(reading.records for reading in readings), tuple(exporters), accounts)


def _joined(parts: Sequence[Flows]) -> Flows:
    frames: list[Frame] = []
    book: list[str] = []
    for part in parts:
        shifted = {c: np.where(part.frame[c] >= 0, part.frame[c] + len(book), -1) for c in ADDRESS_COLUMNS}
        frames.append(part.frame.replace(**shifted))
        book.extend(part.addresses)
    return recode(concat(FLOWS, frames), tuple(book))


def _read_mirror(parts: Iterator[Batch], ledger: Ledger) -> Reading:
    mirror = Mirror()
    for part in parts:
        mirror.feed(part.packets)
    mirror.account(ledger)
    return _reading(mirror.flows(), ledger.notes(), mirror.packets, mirror.exporters)


def _read_exports(parts: Iterable[Datagrams], ledger: Ledger, rates: SamplingRates | None) -> Reading:
    exports = Exports(rates)
    for part in parts:
        exports.feed(part)
    exports.account(ledger)
    decoded = exports.take()
    accounts = reconciled(exports.exporters(), decoded.flows, decoded.counters, decoded.addresses)
    agents = tuple(sorted({account.agent for account in accounts}))
    return _reading(decoded.canonical_flows(), ledger.notes(), exports.records, agents, accounts)


def read_records(path: Path, file: RecordFile, ledger: Ledger, progress: Progress | None) -> Flows:
    """The flow records of a file of flow records."""
    from capture import records  # noqa: PLC0415 - importing pyarrow takes as long as reading a short capture

    if file.head.startswith(records.PARQUET_MAGIC):
        return records.read_parquet(path, ledger, progress)
    return records.read_text(path, file.head, file.rest, ledger)


def _named(flows: Flows) -> tuple[str, ...]:
    """The exporters that records name."""
    codes = flows.frame["sampler_address"]
    distinct = codes[:1] if codes.strides == (0,) else np.unique(codes)  # most files name none
    return tuple(flows.addresses[code] for code in distinct if code >= 0)


def _reading(
    flows: Flows,
    notes: FeedNotes,
    records: int,
    exporters: tuple[str, ...],
    accounts: tuple[ExporterNotes, ...] = (),
) -> Reading:
    return Reading(flows, notes, records, int(flows.frame["bytes"].sum()), exporters, accounts)
