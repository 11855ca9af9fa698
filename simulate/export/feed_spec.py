"""What switches export, how, and what is wrong with it: the declared inputs of a feed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from datamodel.errors import InputError

Kind = Literal["sflow", "ipfix", "netflow9", "netflow5"]
Point = Literal["source", "spine", "destination", "delivery"]
KINDS: tuple[Kind, ...] = get_args(Kind)
POINTS: tuple[Point, ...] = get_args(Point)
LARGEST_RATE = 1 << 24  # no exporter samples more sparsely
_V5_LARGEST_RATE = (1 << 14) - 1  # its header has 14 bits for it


@dataclass(frozen=True, slots=True)
class Clocks:
    """How far exporters' clocks are off; each draws its own (uniform, either sign).

    Attributes:
        offset_ms: most at the beginning.
        drift_ppm: most by which one runs fast or slow.
    """

    offset_ms: float = 0.0
    drift_ppm: float = 0.0


@dataclass(frozen=True, slots=True)
class ExporterFault:
    """What is wrong with some exporters.

    Attributes:
        share: of the exporters, drawn; one at least.
        exported_rate: the sampling rate they announce instead of the true one; None for the true one.
        silent_from: share of the window after which they send nothing more; 0: they never send; None: they do.
        restart_at: share of the window after which they restart, with all counters and caches; None: never.
    """

    share: float = 0.25
    exported_rate: int | None = None
    silent_from: float | None = None
    restart_at: float | None = None


@dataclass(frozen=True, slots=True)
class Transport:
    """What happens to datagrams on their way to the collector; shares of all.

    Attributes:
        lost_ratio: never arrive.
        late_ratio: arrive later by up to `late_ms`, and so behind others.
        doubled_ratio: arrive twice.
        late_ms: see `late_ratio`.
    """

    lost_ratio: float = 0.0
    late_ratio: float = 0.0
    doubled_ratio: float = 0.0
    late_ms: float = 5.0


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """What all switches of a fabric export in one protocol.

    Attributes:
        kind: the protocol.
        rate: 1 in so many packets is sampled, at random; 1: all.
        points: where packets are seen, in the order of their path: where they enter the sender's leaf (source), the
            spine, the receiver's leaf (destination), and where they leave that for the receiver (delivery). Within
            one leaf there are the first and the last alone.
        clocks, ailment, transport: what is wrong.
        hold_ms: sFlow agents and meters send what they have gathered at a beat of so long, or when a datagram is full.
        stamped: sFlow samples carry their own time (extended_timestamp).
        counters_s: sFlow agents export their ports' counters so often.
        active_s, inactive_s: a meter exports a flow that lasts longer, or pauses longer.
        prescaled: a meter that samples scales its counts by itself, and does not say so.
        templates_s: templates and sampling rates are sent again so often.
    """

    kind: Kind
    rate: int = 1
    points: tuple[Point, ...] = ("source",)
    clocks: Clocks = field(default_factory=Clocks)
    ailment: ExporterFault = field(default_factory=ExporterFault)
    transport: Transport = field(default_factory=Transport)
    hold_ms: float = 1000.0
    stamped: bool = False
    counters_s: float = 5.0
    active_s: float = 1.0
    inactive_s: float = 0.5
    prescaled: bool = False
    templates_s: float = 20.0


def parse_feed(text: str) -> tuple[Kind, int]:
    """Kind and sampling rate of a feed as it is typed, `KIND[:RATE]`.

    Raises:
        InputError: there is no such kind, or the kind cannot express such a rate.
    """
    name, _, rate = text.partition(":")
    found: Kind | None = next((kind for kind in KINDS if kind == name), None)
    if found is None:
        raise InputError(f"--feed {text}: no feed is called {name!r}; there are mirror, exact, {', '.join(KINDS)}")
    largest = _V5_LARGEST_RATE if found == "netflow5" else LARGEST_RATE
    number = int(rate) if rate.isdecimal() else 0 if rate else 1
    if not 1 <= number <= largest:
        raise InputError(f"--feed {text}: the sampling rate of {name} is a whole number from 1 to {largest}")
    return found, number
