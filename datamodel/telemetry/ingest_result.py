"""What came of reading inputs: flow records, and the account of the feed that the report repeats."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.telemetry.counters import NO_READINGS, PortReadings
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import Flows, IngestNotes


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Flow records of one input or of several together, and what reading them left to say.

    Attributes:
        flows: the records, address book canonical.
        notes: what was rejected, by reason, and warnings for people.
        records: packets (of a mirror) or rows (of a record file) that count in `flows`.
        bytes: IP bytes of those records, as exported.
        exporters: addresses or names of the exporters of packets or records, sorted.
        accounts: what each exporter of export datagrams sent and lost; none for other inputs.
        heard_ns: until when every exporter of the records is known to have reported, whatever became of what it
            reported besides, UTC; None where nothing but the records says so.
        counters: readings of interface counters that came with the records.
    """

    flows: Flows
    notes: IngestNotes
    records: int
    bytes: int
    exporters: tuple[str, ...]
    accounts: tuple[ExporterStats, ...] = ()
    heard_ns: int | None = None
    counters: PortReadings = NO_READINGS

    @property
    def metered(self) -> bool:
        """Check whether some records are metered. Records of unknown origin are taken for messages."""
        return bool(self.flows.frame["metered"].any())
