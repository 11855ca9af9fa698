"""Export datagrams of any protocol to flow records, counters and drops; keeps what decoding must remember.

Templates, sequence numbers and sampling rates live in the decoders. `state` and `restore` carry them over a restart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import NO_EXPORT, PROTOCOLS, SFLOW5, Datagrams
from capture.exporters.forgetting import FORGOTTEN
from capture.ingest_log import IngestLog
from capture.netflow.netflow_decoder import NetflowDecoder
from capture.sflow.sflow_decoder import SflowDecoder
from capture.states.netflow_states import join_netflow
from capture.states.sflow_states import join_sflow
from capture.states.state_parts import ProtocolPart, StatePart
from capture.tables.address_book import AddressBook
from datamodel.errors import InputError
from datamodel.frame import Frame, concat, empty
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import FLOWS, Flows, mark_metered, recode

_STATE_VERSION = 6
_NO_COUNTERS, _NO_DROPS = empty(COUNTERS), empty(DROPS)  # made once: most batches have none
_MOST_DOUBTED = 1000  # exporters whose warnings are reported by name: a fabric of 100,000 GPUs has that many switches
_MOST_ADDRESSES = 1 << 17  # kept between takes, so that their texts are made once; more than any fabric has


@dataclass(frozen=True, slots=True)
class Decoded:
    """What came out since the last time of asking; codes of all three frames point into `addresses`."""

    flows: Frame
    counters: Frame
    drops: Frame
    addresses: tuple[str, ...]

    def canonical_flows(self) -> Flows:
        """The flow records with an address book of their own, sorted, those of meters marked."""
        return recode(mark_metered(self.flows), self.addresses)


class ExportDecoder:
    """Decodes the export datagrams of many exporters.

    Memory: what was decoded since the last `take`, plus the templates and accounts of the exporters, which are
    bounded each.

    Attributes:
        datagrams: fed so far.
        records: flow records so far.
        samples: of these, flow samples of sFlow.
    """

    def __init__(self, rates: SamplingRates | None = None) -> None:
        self._book = AddressBook()
        self._sflow = SflowDecoder(self._book, rates or SamplingRates())
        self._netflow = NetflowDecoder(self._book, rates or SamplingRates())
        self._frames: list[Frame] = []
        self._unknown = 0
        self.datagrams = 0
        self.records = 0
        self.samples = 0

    @property
    def thinned(self) -> int:
        """Flow samples of sFlow that were left out since others stand for them; `samples` does not count them."""
        return self._sflow.thinned

    def thin(self, one_in: int) -> None:
        """From now on keep one in so many flow samples of sFlow, a power of two, and multiply their rates by it."""
        self._sflow.thin(one_in)

    def feed(self, batch: Datagrams) -> None:
        """Decode a batch, in order of arrival; its bytes are not needed afterwards."""
        self.datagrams += len(batch)
        seen = np.bincount(batch.index["protocol"], minlength=len(PROTOCOLS))
        self._unknown += int(seen[NO_EXPORT])
        # A decoder that is not needed need not be compiled either.
        frames = self._sflow.feed(batch) if seen[SFLOW5] else []
        self.samples += sum(map(len, frames))
        if len(batch) > seen[NO_EXPORT] + seen[SFLOW5]:
            frames += self._netflow.feed(batch)
        for frame in frames:
            self.records += len(frame)
            self._frames.append(frame)

    def take(self) -> Decoded:
        """What was decoded since the last time; afterwards the decoders hold none of it."""
        decoded = Decoded(
            concat(FLOWS, self._frames),
            concat(COUNTERS, counters) if (counters := self._sflow.take_counters()) else _NO_COUNTERS,
            concat(DROPS, drops) if (drops := self._sflow.take_drops()) else _NO_DROPS,
            self._book.texts(),
        )
        self._frames = []
        if len(self._book) > _MOST_ADDRESSES:
            self._book.clear()
        return decoded

    @property
    def exporters_known(self) -> int:
        """How many exporters were seen."""
        return self._sflow.exporters_known + self._netflow.exporters_known

    def lost(self) -> dict[str, int]:
        """What sequence numbers say is missing, by unit."""
        lost = self._sflow.lost
        lost.update(self._netflow.lost)
        return dict(lost)

    def exporters(self, most: int | None = None) -> tuple[ExporterStats, ...]:
        """The accounts of exporters, by protocol, agent and domain.

        Args:
            most: of each kind of protocol, so many with most records; None: all of them, which takes 0.1 ms each.
        """
        known = (*self._sflow.exporters(most), *self._netflow.exporters(most))
        return tuple(sorted(known, key=lambda e: (e.protocol, e.agent, e.domain)))

    def account(self, ingest_log: IngestLog) -> None:
        """Report what was rejected or guessed, over all exporters, to `ingest_log`."""
        ingest_log.reject("not an export datagram of a protocol that is decoded", self._unknown)
        ingest_log.reject("datagram of one exporter too many", self._sflow.refused + self._netflow.refused)
        ingest_log.reject(FORGOTTEN, self._sflow.forgotten + self._netflow.forgotten)
        rejected = self._sflow.rejected + self._netflow.rejected
        reported = self.exporters(_MOST_DOUBTED)
        for exporter in reported:
            for warning in exporter.warnings:
                ingest_log.warn(f"{exporter.protocol} {exporter.agent} domain {exporter.domain}: {warning}")
        if (more := self.exporters_known - len(reported)) > 0:
            ingest_log.warn(f"{more} more exporters, with fewer records, are not looked at for doubts")
        for reason, count in sorted(rejected.items()):
            ingest_log.reject(reason, count)

    def state(self) -> bytes:
        """Templates, sampling rates and sequence numbers, for `restore`."""
        parts = {"version": _STATE_VERSION, "sflow": self._sflow.state(), "netflow": self._netflow.state()}
        return json.dumps(parts).encode()

    def restore(self, state: bytes) -> None:
        """Go on where another decoder's `state` was taken.

        Raises:
            InputError: it is damaged or of another version.
        """
        said = _read(state)
        with _refusing_damage():
            self._sflow.restore(said["sflow"])
            self._netflow.restore(said["netflow"])

    def join(self, parts: Sequence[StatePart]) -> None:
        """Go on for the exporters that are taken from the states of several decoders; there must be one.

        Raises:
            InputError: a state is damaged or of another version.
        """
        said = [_read(part.state) for part in parts]
        with _refusing_damage():
            for name, join, decoder in (
                ("sflow", join_sflow, self._sflow),
                ("netflow", join_netflow, self._netflow),
            ):
                owned = zip(said, parts, strict=True)
                decoder.restore(join([ProtocolPart(one[name], part.owned, part.has_sums) for one, part in owned]))


def _read(state: bytes) -> dict[str, Any]:
    """The decoders' states in a state of the right version."""
    with _refusing_damage():
        said: dict[str, Any] = json.loads(state)
        if said["version"] != _STATE_VERSION:
            raise InputError(f"decoder state: version {said['version']}, expected {_STATE_VERSION}")
        return said


@contextmanager
def _refusing_damage() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"decoder state: damaged: {error}") from None
