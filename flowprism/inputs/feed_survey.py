"""Surveys captures of export datagrams: exporters, protocols, rates and losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capture.configured_rates import SamplingRates
from capture.export_decoder import ExportDecoder
from capture.exporters.counter_check import CounterMismatch, Direction, Reconciliation
from capture.exporters.datagram import Datagrams
from capture.files.decompression import Progress
from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.piecewise_reader import decoded_pieces
from capture.transports import bytes_by_transport, few_ports
from capture.transports import warnings as not_understood
from datamodel.frame import Frame, concat
from datamodel.telemetry.counters import COUNTERS
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import IngestNotes


@dataclass(frozen=True, slots=True)
class InterfaceRateMismatch:
    """An interface whose counters contradict the sampling rate of its flow records.

    Attributes:
        exporter: agent address.
        domain: its observation domain or sub-agent.
        interface: interface index.
        direction: which of its counters.
        samples: flow records between the first and last reading of the counter.
        counted_bytes: by which the counter grew.
        estimated_bytes: what records and rate say.
        exported_rate: N of 1 in N, as the records say.
        likely_rate: the rate with which the two would agree.
    """

    exporter: str
    domain: int
    interface: int
    direction: Direction
    samples: int
    counted_bytes: int
    estimated_bytes: float
    exported_rate: float
    likely_rate: float


@dataclass(frozen=True, slots=True)
class Survey:
    """What came of reading files of export datagrams.

    Attributes:
        inputs: names of the files.
        datagrams: in all of them, duplicates included.
        exporters: the account of each, by protocol, agent and domain.
        doubtful_rates: interfaces whose counters contradict the flows' sampling rate.
        transports: bytes by transport, scaled by the sampling rate, most first.
        trimmed_packets: whose payload a congested switch cut off.
        notes: what was left out, by reason, and warnings.
    """

    inputs: tuple[str, ...]
    datagrams: int
    exporters: tuple[ExporterStats, ...]
    doubtful_rates: tuple[InterfaceRateMismatch, ...]
    transports: dict[str, int]
    trimmed_packets: int
    notes: IngestNotes


def survey(paths: Iterable[Path], rates: SamplingRates, progress: Progress | None = None) -> Survey:
    """Read files of export datagrams, one after the other, as one collector would have received them.

    Raises:
        InputError: a file cannot be used at all, or holds no export datagrams.
    """
    ingest_log, exports, agents = IngestLog(), ExportDecoder(rates), _Agents()
    files = list(paths)
    counters, transports, trimmed = [], Counter[str](), 0
    for piece in decoded_pieces(_batches(files, ingest_log, progress), exports):
        counters.append(agents.named(piece.counters, piece.addresses))
        transports.update(bytes_by_transport(piece.flows))
        trimmed += int(piece.flows["trimmed_packets"].sum())
    exports.account(ingest_log)
    volumes = few_ports(transports)
    for warning in not_understood(volumes):
        ingest_log.warn(warning)
    doubtful = _doubtful_rates(files, rates, concat(COUNTERS, counters), agents, progress)
    names = tuple(path.name for path in files)
    return Survey(names, exports.datagrams, exports.exporters(), doubtful, volumes, trimmed, ingest_log.notes())


class _Agents:
    """Exporters that tables of several pieces name, for the codes of each piece are its own."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def named(self, frame: Frame, addresses: Sequence[str]) -> Frame:
        """The same rows with codes of `texts` for their exporters."""
        table = np.full(len(addresses) + 1, -1, np.int32)  # the last entry serves the code -1
        for code in np.unique(frame["sampler_address"]).tolist():
            if code >= 0:
                table[code] = self._codes.setdefault(addresses[code], len(self._codes))
        return frame.recoded(table, ["sampler_address"])

    @property
    def texts(self) -> tuple[str, ...]:
        """Address of each code."""
        return tuple(self._codes)


def _batches(files: Iterable[Path], ingest_log: IngestLog, progress: Progress | None) -> Iterator[Datagrams]:
    for path in files:
        yield from read_datagrams(path, ingest_log, progress)


def _doubtful_rates(
    files: Sequence[Path], rates: SamplingRates, counters: Frame, agents: _Agents, progress: Progress | None
) -> tuple[InterfaceRateMismatch, ...]:
    """Interfaces whose counters contradict the sampled volume.

    The records between two readings precede the later one, so where there are counters the files are read once more
    instead of being held in memory.
    """
    if not len(counters):
        return ()
    reconciliation = Reconciliation(counters)
    for piece in decoded_pieces(_batches(files, IngestLog(), progress), ExportDecoder(rates)):
        reconciliation.add(agents.named(piece.flows, piece.addresses))
    return tuple(_doubtful(found, agents.texts) for found in reconciliation.disagreements())


def _doubtful(found: CounterMismatch, addresses: Sequence[str]) -> InterfaceRateMismatch:
    return InterfaceRateMismatch(
        addresses[found.sampler_address], found.domain, found.interface, found.direction, found.samples,
        found.counted_bytes, found.estimated_bytes, found.exported_rate, found.likely_rate,
    )  # fmt: skip
