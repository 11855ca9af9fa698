"""Sentences and tables of the timeline page, from the same values as its figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flowprism.dashboard.timeline.lateness import Shares
from flowprism.dashboard.timeline.pack import IterationBlock, Lane
from flowprism.dashboard.timeline.timeline_query import Shown
from flowprism.dashboard.timeline.waits import awaited_s, waits
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats

KINDS = {
    "compute": "compute",
    "wait": "wait",
    "pp_send": "pipeline send",
    "pp_recv": "pipeline receive",
    "dp_comm": "gradient exchange",
    "ep_comm": "expert exchange",
    "cp_comm": "context exchange",
    "unknown": "not covered by any span",
}
MOST_WAITS = 200
MOST_STEPS = 400


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the critical path: what or who, seconds, and its share of the whole."""

    name: str
    title: str
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class PathStep:
    """One section of the critical path; times in seconds since the first iteration began."""

    endpoint: str
    what: str
    begins_s: float
    seconds: float
    waiter: str


@dataclass(frozen=True, slots=True)
class SuspectShare:
    """The suspects' share of the critical path.

    Attributes:
        names: of suspects that were read.
        seconds, share: of the path that is their own work, or transfers with them.
        group_s, group_share: of the path that others spend in exchanges of the suspects' process groups.
        awaited_s: how long others waited for them, all waits summed; simultaneous waits may exceed the path.
    """

    names: tuple[str, ...]
    seconds: float
    share: float
    group_s: float
    group_share: float
    awaited_s: float


@dataclass(frozen=True, slots=True)
class Path:
    """The critical path: its activities, the endpoints it passes through, the suspects' share, and its steps."""

    seconds: float
    suspects: SuspectShare | None
    kinds: tuple[Piece, ...]
    endpoints: tuple[Piece, ...]
    steps: tuple[PathStep, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class WaitRow:
    """The waits of one endpoint for another, with names."""

    waiter: str
    awaited: str
    seconds: float
    longest_s: float
    times: int


@dataclass(frozen=True, slots=True)
class EndpointTimes:
    """One endpoint in the table: its numbers, and what they are where one compares with."""

    position: Position
    name: str
    suspect: bool
    awaited_s: float | None
    own: tuple[float | None, ...]  # compute, network, wait, late
    usual: tuple[float | None, ...]


def path(shown: Shown) -> Path | None:
    """The critical path of what is shown; None without spans."""
    if shown.part is None or not shown.part.path:
        return None
    steps, addresses, names = shown.part.path, shown.part.timelines.addresses, shown.names
    begin_ns = steps[0].start_ns
    whole = sum(step.seconds for step in steps)
    listed = tuple(
        PathStep(
            names.short(addresses[step.endpoint]), KINDS[step.name], (step.start_ns - begin_ns) / 1e9, step.seconds,
            names.short(addresses[step.waiter]) if step.waiter >= 0 else "",
        )
        for step in steps[:MOST_STEPS]
    )  # fmt: skip
    kinds = _pieces(((step.name, step.seconds) for step in steps), whole)
    ends = _pieces(((addresses[step.endpoint], step.seconds) for step in steps), whole)
    return Path(
        whole,
        _suspects(shown, shown.part, whole),
        tuple(Piece(one.name, KINDS[one.name], one.seconds, one.share) for one in kinds),
        tuple(Piece(one.name, names.full(one.name), one.seconds, one.share) for one in ends),
        listed,
        len(steps) - len(listed),
    )


def _suspects(shown: Shown, part: IterationBlock, whole: float) -> SuspectShare | None:
    """The suspects' share; None where no endpoint that was read is under suspicion."""
    marked = {code for code, address in enumerate(part.timelines.addresses) if address in shown.suspects}
    if not marked:
        return None
    direct = [step.endpoint in marked or step.peer in marked for step in part.path]
    own = sum(step.seconds for step, is_own in zip(part.path, direct, strict=True) if is_own)
    groups = {
        code
        for code, members in enumerate(part.timelines.groups)
        if not shown.suspects.isdisjoint(members.partition(" ")[2].split(","))
    }
    shared = sum(s.seconds for s, is_own in zip(part.path, direct, strict=True) if s.group in groups and not is_own)
    awaited = awaited_s(waits(part.timelines.spans))
    named = tuple(shown.names.short(part.timelines.addresses[code]) for code in sorted(marked))
    whole = whole or 1.0
    return SuspectShare(named, own, own / whole, shared, shared / whole, sum(awaited.get(code, 0.0) for code in marked))


def _pieces(named: Iterable[tuple[str, float]], whole: float) -> list[Piece]:
    """Sums by name, the largest first."""
    sums: dict[str, float] = {}
    for name, seconds in named:
        sums[name] = sums.get(name, 0.0) + seconds
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [Piece(name, name, seconds, seconds / whole if whole else 0.0) for name, seconds in ordered]


def wait_rows(shown: Shown) -> list[WaitRow]:
    """List the pairs of waiting and awaited endpoints in what is shown, the longest sum first."""
    if shown.part is None:
        return []
    addresses, names = shown.part.timelines.addresses, shown.names
    return [
        WaitRow(names.full(addresses[w.waiter]), names.full(addresses[w.awaited]), w.seconds, w.longest_s, w.times)
        for w in waits(shown.part.timelines.spans)[:MOST_WAITS]
    ]


def rows(shown: Shown) -> list[EndpointTimes]:
    """The drawn endpoints, in the order of all pictures."""
    awaited: dict[str, float] = {}
    if shown.part is not None:
        addresses = shown.part.timelines.addresses
        awaited = {addresses[code]: s for code, s in awaited_s(waits(shown.part.timelines.spans)).items()}
    each = len(shown.choice.shown) or 1
    return [
        EndpointTimes(
            position, shown.names.full(position.address), position.address in shown.suspects,
            awaited[position.address] / each if position.address in awaited else None,
            _numbers(shown.shares, n), (None,) * 4 if shown.usual is None else _numbers(shown.usual, n),
        )
        for n, position in enumerate(shown.drawn)
    ]  # fmt: skip


def _numbers(shares: Shares, n: int) -> tuple[float | None, ...]:
    return tuple(_known(values, n) for values in (shares.compute_s, shares.network_s, shares.wait_s, shares.late_s))


def _known(values: Floats, n: int) -> float | None:
    return float(values[n]) if np.isfinite(values[n]) else None


def lanes(shown: Shown) -> list[Lane]:
    """The drawn endpoints as the canvas shows them."""
    return [
        Lane(
            shown.names.short(row.position.address), row.name, row.position.address, row.position.stage,
            row.position.replica, row.position.groups, row.suspect, *row.own,
        )
        for row in rows(shown)
    ]  # fmt: skip
