"""What the collector needs of a decoder; `capture.export_decoder.ExportDecoder` is the one in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import Datagrams
from capture.ingest_log import IngestLog
from datamodel.telemetry.exporter_stats import ExporterStats

if TYPE_CHECKING:
    from capture.export_decoder import Decoded  # brings all decoders with it; only the one that is named is loaded
    from capture.states.state_parts import StatePart


class Decoder(Protocol):
    """Datagrams in, records out; see `capture.export_decoder.ExportDecoder`, whose methods these are."""

    records: int
    samples: int

    @property
    def thinned(self) -> int:
        """Flow samples left out since others stand for them."""

    def thin(self, one_in: int) -> None:
        """From now on keep one in so many flow samples, and multiply their rates by it."""

    def feed(self, batch: Datagrams) -> None:
        """Decode a batch."""

    def take(self) -> Decoded:
        """What was decoded since the last time."""

    @property
    def exporters_known(self) -> int:
        """How many exporters were seen."""

    def lost(self) -> dict[str, int]:
        """What sequence numbers say is missing, by unit."""

    def exporters(self, most: int | None = None) -> tuple[ExporterStats, ...]:
        """The accounts of the exporters with most records, at least so many where there are; None: of all."""

    def account(self, ingest_log: IngestLog) -> None:
        """Report what was rejected."""

    def state(self) -> bytes:
        """What must be remembered."""

    def restore(self, state: bytes) -> None:
        """Go on with a state; InputError where it is damaged."""

    def join(self, parts: Sequence[StatePart]) -> None:
        """Go on with what is to be taken from several states, at least one; InputError where one is damaged."""


def load_decoder(name: str) -> Callable[[SamplingRates], Decoder]:
    """What makes a decoder, by module and name ("capture.export_decoder:ExportDecoder")."""
    module, _, factory = name.partition(":")
    return cast("Callable[[SamplingRates], Decoder]", getattr(import_module(module), factory))
