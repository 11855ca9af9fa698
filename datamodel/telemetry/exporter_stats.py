"""What one exporter sent and what of it was lost: the account that makes a feed's gaps visible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SamplingRateMismatch:
    """A sampling rate that what the exporter counts contradicts.

    Attributes:
        where: the data source or interface, in words.
        told: exported N of 1 in N.
        likely: the rate with which the counts agree.
        counted: what contradicts it: "sample pool" or "interface counters".
        samples: how many there were to judge by.
    """

    where: str
    told: int
    likely: int
    counted: str
    samples: int


@dataclass(frozen=True, slots=True)
class ExporterStats:
    """One exporter's account.

    Attributes:
        protocol: "sFlow v5", "NetFlow v5", "NetFlow v9" or "IPFIX".
        agent: its agent address (sFlow) or the address its datagrams came from.
        domain: sub-agent, engine, source id or observation domain.
        datagrams: received, duplicates left out.
        bytes: of their payloads.
        records: flow samples or flow records decoded.
        lost: units missing by the sequence numbers, those that came late taken off; `lost_unit` says what a unit is.
        lost_unit: "datagrams" or "records".
        late: datagrams that came after one with a higher sequence number.
        duplicates: datagrams that had come before; not decoded again.
        restarts: how often its sequence or uptime restarted.
        first_ns, last_ns: when its first and last datagram were received, UTC.
        sampling_rates: the rates N of 1 in N its records carry, ascending; 0 stands for unknown.
        templates: how many templates it has announced and not withdrawn.
        rejected: how many datagrams, samples, sets or records were left out, by reason.
        warnings: what is doubtful about it, in sentences.
        doubted_rates: sampling rates that its own counts contradict.
    """

    protocol: str
    agent: str
    domain: int
    datagrams: int = 0
    bytes: int = 0
    records: int = 0
    lost: int = 0
    lost_unit: str = "datagrams"
    late: int = 0
    duplicates: int = 0
    restarts: int = 0
    first_ns: int = 0
    last_ns: int = 0
    sampling_rates: tuple[int, ...] = ()
    templates: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    doubted_rates: tuple[SamplingRateMismatch, ...] = ()

    @property
    def lost_datagrams(self) -> int:
        """Datagrams lost; where records were counted, as many as would have held them."""
        if self.lost_unit == "datagrams" or not self.lost:
            return self.lost
        return -(-self.lost * max(self.datagrams, 1) // max(self.records, 1))

    @property
    def loss_ratio(self) -> float:
        """Share of what was sent that did not arrive, 0 to 1."""
        arrived = self.datagrams if self.lost_unit == "datagrams" else self.records
        return self.lost / (self.lost + arrived) if self.lost else 0.0
