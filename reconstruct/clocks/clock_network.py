"""Clocks of exporters that stamp their records themselves, from what several of them saw at the same time.

Two exporters of which one sees a burst and the other the same burst, the answers to it, or what happens together with
it, differ by the offset of their clocks (`reconstruct.clocks.offset_fit`). All such differences form a network; every
clock is placed where it contradicts them least. Only differences can be estimated: a clock is measured against most
of those that it is connected to, or against a mirror's, where one saw the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.sparse.linalg import spsolve

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.clocks.clock_offsets import MIRROR, ClockOffset, UnknownClock, clock_offsets, sampled_packets
from reconstruct.clocks.offset_fit import OffsetFit, shift
from reconstruct.clocks.shared_bursts import (
    BurstIndex,
    Shared,
    answered,
    in_rings,
    index_bursts,
    moments,
    on_rails,
    seen_twice,
)

# An exporter's clock is bound to so many others: more cost time and tell no more.
MOST_PARTNERS = 4
# Links of a ring move the same bytes at the same time, but for the time of a chunk; rails, but for their group's step.
TOGETHER_NS = 1_000_000
# Rounds of robust least squares, and differences beyond so many errors that count less (Huber 1964).
ROUNDS, HUBER = 10, 2.0
LEAST_ERROR_NS = 10_000
# More records tell no more, but take longer.
MOST_ROWS = 400_000
LEAST_DRIFT_PPM = 0.1

ALONE = "it saw nothing that another exporter saw, and nothing that happened together"
UNEVEN = "what it saw together with others does not lie on one line: its clock does not run evenly, or is too far off"


@dataclass(frozen=True, slots=True)
class _Tie:
    """Two exporters, by their place, and how far the first one's clock is ahead."""

    a: int
    b: int
    shift: OffsetFit
    error_ns: float


def exporter_clocks(flows: Flows, hosts: Sequence[str | None] | None) -> tuple[list[ClockOffset], list[UnknownClock]]:
    """All clocks that date records or stamp samples, and those that are not known (`recorded_clocks`)."""
    sampler = flows.frame["sampler_address"]
    if not len(sampler) or (sampler.strides == (0,) and sampler[0] < 0):  # nobody is named, in millions of rows maybe
        return [], []
    known, unknown = recorded_clocks(flows, hosts)
    return [*clock_offsets(flows), *known], unknown


def recorded_clocks(flows: Flows, hosts: Sequence[str | None] | None) -> tuple[list[ClockOffset], list[UnknownClock]]:
    """Offsets of the clocks that date records, against most of them or a mirror; and those that are not known.

    Packets that an agent samples are not looked at: they are dated by arrival, or their stamps compared with it.

    Args:
        flows: all records.
        hosts: host of each address code; None where nobody knows.
    """
    samplers, node, mirror = _nodes(flows)
    if len(samplers) + mirror < 2:
        return [], []
    seen = index_bursts(flows, _some(flows, node))
    bound, tried = _bound(seen, hosts, len(samplers) + mirror)
    return _solved(samplers, mirror, bound, tried)


def _nodes(flows: Flows) -> tuple[Int, Int, bool]:
    """(samplers, node of each row, whether a mirror saw something too); the mirror is the node behind the last."""
    frame = flows.frame
    mirror = frame["payload_bytes"] >= 0
    own = (frame["sampler_address"] >= 0) & ~mirror & ~sampled_packets(frame)
    samplers, place = np.unique(frame["sampler_address"][own], return_inverse=True)
    node = np.full(len(frame), -1, np.int64)
    node[own] = place
    node[mirror] = len(samplers)
    return samplers.astype(np.int64), node, bool(mirror.any())


def _some(flows: Flows, node: Int) -> Int:
    """The nodes of rows, but of no more than are needed: those in the middle of the time."""
    rows = np.flatnonzero(node >= 0)
    if len(rows) <= MOST_ROWS:
        return node
    start = flows.frame["time_flow_start_ns"]
    share = MOST_ROWS / len(rows) / 2
    begin, end = np.quantile(start[rows], [0.5 - share, 0.5 + share])
    return np.where((start >= begin) & (start <= end), node, -1)


def _bound(seen: BurstIndex, hosts: Sequence[str | None] | None, nodes: int) -> tuple[list[_Tie], Bool]:
    """Exporters bound to one another, and which were tried; by the surest evidence that there is."""
    ties: list[_Tie] = []
    tried = np.zeros(nodes, np.bool_)
    _bind(ties, tried, seen_twice(seen), starts=True, floor_ns=LEAST_ERROR_NS)
    _bind(ties, tried, answered(seen), starts=False, floor_ns=LEAST_ERROR_NS)
    if hosts is not None:
        _bind(ties, tried, on_rails(seen, hosts), starts=True, floor_ns=TOGETHER_NS)
    _bind(ties, tried, in_rings(seen), starts=False, floor_ns=TOGETHER_NS)
    return ties, tried


def _bind(ties: list[_Tie], tried: Bool, shared: Shared, *, starts: bool, floor_ns: int) -> None:
    """Bind those that surer evidence has not bound."""
    before = _components(ties, len(tried))
    partners = np.zeros(len(tried), np.int64)
    for (a, b), pairs in sorted(shared.items(), key=lambda item: (-len(item[1]), item[0])):
        if before[a] == before[b] or min(partners[a], partners[b]) >= MOST_PARTNERS:
            continue
        tried[[a, b]] = True
        found = shift(moments(pairs, starts=starts))
        if found is not None:
            partners[[a, b]] += 1
            ties.append(_Tie(a, b, found, float(np.hypot(found.error_ns, floor_ns))))


def _ends(ties: Sequence[_Tie]) -> tuple[Int, Int]:
    """Places of the two exporters of each."""
    return np.array([t.a for t in ties], np.int64), np.array([t.b for t in ties], np.int64)


def _components(ties: Sequence[_Tie], nodes: int) -> Int:
    a, b = _ends(ties)
    return np.asarray(connected_components(coo_matrix((np.ones(len(a)), (a, b)), (nodes, nodes)), False)[1], np.int64)


def _solved(
    samplers: Int, mirror: bool, ties: Sequence[_Tie], tried: Bool
) -> tuple[list[ClockOffset], list[UnknownClock]]:
    nodes = len(tried)
    component = _components(ties, nodes)
    middle = float(np.median([t.shift.middle_ns for t in ties])) if ties else 0.0
    lead = np.array([t.shift.lead_ns + t.shift.drift_ppm * 1e-6 * (middle - t.shift.middle_ns) for t in ties])
    drift = np.array([t.shift.drift_ppm for t in ties])
    offset = _least_contradiction(ties, lead, np.array([t.error_ns for t in ties]), nodes)
    too_sure = _contradiction(ties, lead, offset, component)
    faster = _least_contradiction(
        ties, drift, np.array([t.shift.drift_error_ppm + LEAST_DRIFT_PPM for t in ties]), nodes
    )
    known, unknown = [], []
    for part in np.unique(component):
        own = np.flatnonzero(component == part)
        if len(own) == 1:
            unknown += [UnknownClock(int(samplers[n]), UNEVEN if tried[n] else ALONE) for n in own if n < len(samplers)]
            continue
        with_mirror = mirror and nodes - 1 in own
        base = nodes - 1 if with_mirror else int(own[np.argsort(offset[own])[(len(own) - 1) // 2]])
        against = MIRROR if with_mirror else f"{len(own) - 1} exporter{'s' if len(own) > 2 else ''}"
        error = _errors(ties, base, nodes)
        for n in own[own < len(samplers)].tolist():
            told = float(offset[n] - offset[base]), float(faster[n] - faster[base])
            known.append(ClockOffset(int(samplers[n]), *told, float(error[n] * too_sure[n]), middle, against))
    return known, unknown


def _least_contradiction(ties: Sequence[_Tie], lead: Float, error: Float, nodes: int) -> Float:
    """(nodes,) values whose differences agree best with those of the ties; 0 for the first node of each component.

    Robust least squares (Huber's weights, iterated) on the graph: one wrong tie among several that close a circle is
    outweighed.
    """
    value = np.zeros(nodes)
    free = np.flatnonzero(_components(ties, nodes) != -1)
    _, first = np.unique(_components(ties, nodes), return_index=True)
    free = np.setdiff1d(free, first)
    if not len(free):
        return value
    a, b = _ends(ties)
    rows = np.tile(np.arange(len(ties)), 2)
    signs = np.repeat([1.0, -1.0], len(ties))
    design = coo_matrix((signs, (rows, np.concatenate([a, b]))), (len(ties), nodes)).tocsc()[:, free]
    weight = 1 / error**2
    for _ in range(ROUNDS):
        scaled = design.multiply(weight[:, None]).tocsc()
        value[free] = spsolve((design.T @ scaled).tocsc(), scaled.T @ lead)
        away = np.abs(lead - (value[a] - value[b])) / error
        weight = np.where(away > HUBER, HUBER / np.maximum(away, HUBER), 1.0) / error**2
    return value


def _contradiction(ties: Sequence[_Tie], lead: Float, offset: Float, component: Int) -> Float:
    """(nodes,) by how much the ties of each component contradict one another more than their errors let expect.

    What happens together for two exporters may be apart by what neither shows (an acknowledgement waits for the
    receiver): each tie is off by that, however exact it is, and a circle of them does not close. Birge's ratio (Phys.
    Rev. 40, 1932): the root of the squares of what is left over, in errors, a degree of freedom; 1 at least.
    """
    a, b = _ends(ties)
    left = ((lead - (offset[a] - offset[b])) / np.array([t.error_ns for t in ties])) ** 2
    squares = np.bincount(component[a], left, len(offset))
    free = np.bincount(component[a], minlength=len(offset)) + 1 - np.bincount(component, minlength=len(offset))
    ratio = np.sqrt(np.where(free > 0, squares / np.maximum(free, 1), 1.0))
    return np.asarray(np.maximum(ratio, 1.0)[component])


def _errors(ties: Sequence[_Tie], base: int, nodes: int) -> Float:
    """(nodes,) standard error of each against one of them, along the surest way through the ties; inf without one."""
    a, b = _ends(ties)
    squares = coo_matrix((np.array([t.error_ns**2 for t in ties]), (a, b)), (nodes, nodes))
    return np.sqrt(np.asarray(dijkstra(squares, directed=False, indices=base), np.float64))
