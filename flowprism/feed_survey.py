"""What captures of export datagrams hold: who exports what, at which rates, and what of it is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from capture.export_reading import read_datagrams
from capture.exports import Exports
from capture.ledger import Ledger
from capture.reconcile import Direction, Disagreement, reconcile
from capture.sampling import SamplingRates
from capture.stream import Progress
from datamodel.exporters import ExporterNotes
from datamodel.flows import FeedNotes


@dataclass(frozen=True, slots=True)
class DoubtfulRate:
    """An interface whose counters contradict the sampling rate of its flow records.

    Attributes:
        exporter: agent address.
        domain: its observation domain or sub-agent.
        interface: interface index.
        direction: which of its counters.
        samples: flow records between the first and last reading of the counter.
        counted_bytes: by which the counter grew.
        estimated_bytes: what records and rate say.
        told_rate: N of 1 in N, as the records say.
        likely_rate: the rate with which the two would agree.
    """

    exporter: str
    domain: int
    interface: int
    direction: Direction
    samples: int
    counted_bytes: int
    estimated_bytes: float
    told_rate: float
    likely_rate: float


@dataclass(frozen=True, slots=True)
class Survey:
    """What came of reading files of export datagrams.

    Attributes:
        inputs: names of the files.
        datagrams: in all of them, duplicates included.
        exporters: the account of each, by protocol, agent and domain.
        doubtful_rates: interfaces whose counters contradict the flows' sampling rate.
        notes: what was left out, by reason, and warnings.
    """

    inputs: tuple[str, ...]
    datagrams: int
    exporters: tuple[ExporterNotes, ...]
    doubtful_rates: tuple[DoubtfulRate, ...]
    notes: FeedNotes


def survey(paths: Iterable[Path], rates: SamplingRates, progress: Progress | None = None) -> Survey:
    """Read files of export datagrams, one after the other, as one collector would have received them.

    Raises:
        InputError: a file cannot be used at all, or holds no export datagrams.
    """
    ledger, exports = Ledger(), Exports(rates)
    files = list(paths)
    for path in files:
        for batch in read_datagrams(path, ledger, progress):
            exports.feed(batch)
    exports.account(ledger)
    found = exports.take()
    doubtful = tuple(_doubtful(d, found.addresses) for d in reconcile(found.flows, found.counters))
    names = tuple(path.name for path in files)
    return Survey(names, exports.datagrams, exports.exporters(), doubtful, ledger.notes())


def _doubtful(found: Disagreement, addresses: tuple[str, ...]) -> DoubtfulRate:
    return DoubtfulRate(
        addresses[found.sampler_address], found.domain, found.interface, found.direction, found.samples,
        found.counted_bytes, found.estimated_bytes, found.told_rate, found.likely_rate,
    )  # fmt: skip
