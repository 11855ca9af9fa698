"""Exporters that scale what they sampled, and do not say so: all of their counts share a divisor, the sampling rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import Flows, mark_metered
from reconstruct.numeric.factorize import factorize

# Fewer records may share a divisor by chance; a smaller divisor is that of messages of some packets each.
FEWEST_RECORDS, LEAST_RATE = 100, 16
# Chance draws samples: some records count a single one, so many at least, or their numbers are of so many values.
FEWEST_SINGLES, FEWEST_VALUES = 0.01, 20
# No frame is longer.
LARGEST_PACKET_BYTES = 65_535
# Records that are looked at before all are: most exporters share no divisor.
GLANCE = 1000


@dataclass(frozen=True, slots=True)
class HiddenRate:
    """What one exporter did.

    Attributes:
        exporter: its address or name.
        rate: 1 packet in so many was sampled.
        records: how many of its records were scaled.
    """

    exporter: str
    rate: int
    records: int

    def warning(self) -> str:
        """For people."""
        return (
            f"exporter {self.exporter}: the counts of all {self.records:,} records are multiples of {self.rate:,}: "
            f"it samples 1 packet in {self.rate:,}, scales by itself and does not say so; read as samples of that rate"
        )


def with_hidden_rates(flows: Flows) -> tuple[Flows, tuple[HiddenRate, ...]]:
    """Records with the counts that were sampled, and what was found, by exporter.

    Exact records share divisors too where all messages are of a size. They are of few sizes then, and none of them is
    the least; how many samples a record counts is left to chance.
    """
    frame = flows.frame
    claimed = (frame["payload_bytes"] < 0) & (frame["sampling_rate"] <= 1) & ~frame["prescaled"].astype(np.bool_)
    if not (claimed & frame["metered"].astype(np.bool_)).any():
        return flows, ()
    columns: dict[str, Int] = {name: frame[name] for name in ("packets", "bytes", "sampling_rate")}
    found = []
    for own, name in _exporters(flows, claimed):
        rate = shared_divisor(columns["packets"][own], columns["bytes"][own])
        if rate:
            found.append(HiddenRate(name, rate, len(own)))
            columns = {key: _changed(column, own, key, rate) for key, column in columns.items()}
    return (Flows(mark_metered(frame.replace(**columns)), flows.addresses), tuple(found)) if found else (flows, ())


def _exporters(flows: Flows, claimed: Bool) -> list[tuple[Int, str]]:
    """Rows of each exporter, of those that claim to count every packet, and its name."""
    sampler, domain = (
        flows.frame[name][claimed].astype(np.int64) for name in ("sampler_address", "observation_domain_id")
    )
    rows = np.flatnonzero(claimed)
    keys, which = factorize((sampler + 1) << 32 | domain)
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(len(keys) + 1))
    codes = (keys >> 32) - 1
    names = [flows.addresses[c] if c >= 0 else "unknown" for c in codes.tolist()]
    return [(rows[order[a:b]], n) for a, b, n in zip(bounds[:-1].tolist(), bounds[1:].tolist(), names, strict=True)]


def shared_divisor(packets: Int, size: Int) -> int:
    """The rate by which counts were scaled; 0 for none. Equal counts of few records show none."""
    if len(packets) < FEWEST_RECORDS or np.gcd.reduce(packets[:GLANCE]) < LEAST_RATE:
        return 0
    rate = int(np.gcd.reduce(packets))
    once = packets == rate
    drawn = FEWEST_SINGLES <= once.mean() < 1 or len(np.unique(packets)) >= FEWEST_VALUES
    possible = not (size % rate).any() and (size <= packets * LARGEST_PACKET_BYTES).all()
    return rate if rate >= LEAST_RATE and drawn and bool(possible) else 0


def _changed(column: Int, own: Int, name: str, rate: int) -> Int:
    changed = np.array(column)
    changed[own] = rate if name == "sampling_rate" else changed[own] // rate
    return changed
