"""Exchanges that two exporters saw: which bursts at one happen when bursts at another do, whatever their clocks say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.row_runs import run_starts

# Rows of a connection that follow sooner are of one burst: what an active timeout cuts, or a mirror.
JOINS_NS = 5_000_000
# Smaller packets in the mean carry no data: acknowledgements and readiness messages.
ANSWER_BYTES = 200
# Of the connections that two exporters share so many tell their clocks.
MOST_SHARED = 24
# Links of a ring, and the same exchange on several rails, carry equal volumes but for retransmissions and headers, and
# as many standard deviations of what sampling makes of it.
EQUAL_SHARE, CHANCE = 0.01, 3.0
SHORTEST_RING = 3

Moments = tuple[Int, Int]


@dataclass(frozen=True, slots=True)
class ObservedBursts:
    """Bursts between two endpoints as one exporter sees them.

    Attributes:
        src, dst: address codes.
        node: the exporter.
        volume_bytes: of all of them, scaled by the sampling rate.
        chance_ratio: standard error of the volume where packets are sampled, as a share of it.
        start_ns, end_ns: of each, by the exporter's clock.
    """

    src: int
    dst: int
    node: int
    volume_bytes: int
    chance_ratio: float
    start_ns: Int
    end_ns: Int


@dataclass(frozen=True, slots=True)
class BurstIndex:
    """Connections, and answers to them, at each exporter; `connection` is alike at all exporters that saw the same."""

    data: tuple[ObservedBursts, ...]
    connection: tuple[int, ...]
    answers: tuple[ObservedBursts, ...]


Shared = dict[tuple[int, int], list[tuple[ObservedBursts, ObservedBursts]]]


def index_bursts(flows: Flows, node: Int) -> BurstIndex:
    """Bursts by connection and exporter.

    Args:
        flows: records.
        node: (rows,) number of the exporter whose clock dates each row; below 0 for rows that tell nothing.
    """
    rows = np.flatnonzero(node >= 0)
    frame, who = flows.frame.take(rows), node[rows]
    ends = frame["src_addr"].astype(np.int64) << 32 | frame["dst_addr"]
    ports = frame["src_port"].astype(np.int64) << 24 | frame["dst_port"].astype(np.int64) << 8 | frame["proto"]
    order = np.lexsort([frame["time_flow_start_ns"], who, ports, ends])
    keys = [k[order] for k in (ends, ports, who)]
    connections, groups = run_starts(*keys[:2]), run_starts(*keys)
    starts, stops = frame["time_flow_start_ns"][order], frame["time_flow_end_ns"][order]
    volume, small, sampled = _volumes(frame, order)
    number = np.cumsum(connections) - 1
    bounds = np.append(np.flatnonzero(groups), len(order))
    data, named, answers = [], [], []
    for first, last in pairwise(bounds.tolist()):
        reach = np.maximum.accumulate(stops[first:last])  # records overlap: a short one may end before an earlier one
        apart = starts[first + 1 : last] - reach[:-1] > JOINS_NS
        own = first + np.flatnonzero(np.append(True, apart))
        sight = ObservedBursts(
            int(keys[0][first] >> 32),
            int(keys[0][first] & 0xFFFFFFFF),
            int(keys[2][first]),
            int(volume[first:last].sum()),
            float(1 / np.sqrt(max(counted, 1))) if (counted := int(sampled[first:last].sum())) else 0.0,
            starts[own],
            np.maximum.reduceat(stops[first:last], own - first),
        )
        if small[first:last].all():
            answers.append(sight)
        else:
            data.append(sight)
            named.append(int(number[first]))
    return BurstIndex(tuple(data), tuple(named), tuple(answers))


def _volumes(frame: Frame, order: Int) -> tuple[Int, Bool, Int]:
    """(bytes, whether packets are small, how many were sampled) of each row, in another order."""
    size, packets, rate = frame["bytes"][order], frame["packets"][order], frame["sampling_rate"][order]
    return size * np.maximum(rate, 1), (packets > 0) & (size < ANSWER_BYTES * packets), np.where(rate > 1, packets, 0)


def seen_twice(seen: BurstIndex) -> Shared:
    """The same connection at several exporters: every burst of it."""
    found: Shared = defaultdict(list)
    by_connection = defaultdict(list)
    for sight, connection in zip(seen.data, seen.connection, strict=True):
        by_connection[connection].append(sight)
    for same in by_connection.values():
        _bind(found, pairwise(same))
    return found


def answered(seen: BurstIndex) -> Shared:
    """Data at one exporter, acknowledgements and readiness messages that go back at another: they end together."""
    found: Shared = defaultdict(list)
    data, back = _by_ends(seen.data), _by_ends(seen.answers)
    for (src, dst), there in data.items():
        _bind(found, ((one, other) for one in there for other in back.get((dst, src), ())))
    return found


def on_rails(seen: BurstIndex, hosts: Sequence[str | None]) -> Shared:
    """The same exchange between the same two hosts on several rails: a tensor group works in step.

    Args:
        seen: bursts.
        hosts: host of each address code.
    """
    found: Shared = defaultdict(list)
    between = defaultdict(list)
    for same in _by_ends(seen.data).values():
        one = max(same, key=lambda s: s.volume_bytes)
        if hosts[one.src] is not None and hosts[one.dst] is not None:
            between[hosts[one.src], hosts[one.dst]].append(one)
    for rails in between.values():
        _bind(found, ((a, b) for a, b in combinations(rails, 2) if _equal(a, b) and a.src != b.src and a.dst != b.dst))
    return found


def in_rings(seen: BurstIndex) -> Shared:
    """Neighbouring links of a ring: a closed chain of three or more that carry equal volumes, which end together."""
    found: Shared = defaultdict(list)
    out = defaultdict(list)
    for same in _by_ends(seen.data).values():
        one = max(same, key=lambda s: s.volume_bytes)
        out[one.src].append(one)
    for ring in _rings(out):
        _bind(found, pairwise([*ring, ring[0]]))
    return found


def _rings(out: dict[int, list[ObservedBursts]]) -> Iterator[list[ObservedBursts]]:
    met: set[tuple[int, int]] = set()
    for links in out.values():
        for first in links:
            ring = [first]
            while (ring[-1].src, ring[-1].dst) not in met:
                met.add((ring[-1].src, ring[-1].dst))
                onward = [s for s in out.get(ring[-1].dst, ()) if _equal(s, first) and s.dst != ring[-1].src]
                if len(onward) != 1:
                    break
                if onward[0] is first:
                    if len(ring) >= SHORTEST_RING:
                        yield ring
                    break
                ring.append(onward[0])


def _equal(a: ObservedBursts, b: ObservedBursts) -> bool:
    apart = EQUAL_SHARE + CHANCE * float(np.hypot(a.chance_ratio, b.chance_ratio))
    return abs(a.volume_bytes - b.volume_bytes) <= apart * max(a.volume_bytes, b.volume_bytes)


def _by_ends(some: Sequence[ObservedBursts]) -> dict[tuple[int, int], list[ObservedBursts]]:
    """Sights of each sender and receiver, one an exporter: the connections between them put together."""
    parts = defaultdict(list)
    for sight in some:
        parts[sight.src, sight.dst, sight.node].append(sight)
    found = defaultdict(list)
    for (src, dst, node), same in parts.items():
        start, end = (np.sort(np.concatenate([getattr(s, k) for s in same])) for k in ("start_ns", "end_ns"))
        volume, chance = sum(s.volume_bytes for s in same), min(s.chance_ratio for s in same)
        found[src, dst].append(ObservedBursts(src, dst, node, volume, chance, start, end))
    return found


def _bind(
    found: Shared,
    pairs: Iterator[tuple[ObservedBursts, ObservedBursts]] | Sequence[tuple[ObservedBursts, ObservedBursts]],
) -> None:
    for one, other in pairs:
        if one.node != other.node:
            first, second = (one, other) if one.node < other.node else (other, one)
            found[first.node, second.node].append((first, second))


def moments(shared: Sequence[tuple[ObservedBursts, ObservedBursts]], *, starts: bool) -> list[Moments]:
    """Beginnings and ends of bursts at both exporters; of the connections with most of them."""
    told = sorted(shared, key=lambda both: -min(len(both[0].start_ns), len(both[1].start_ns)))[:MOST_SHARED]
    found = [(one.end_ns, other.end_ns) for one, other in told]
    return found + [(one.start_ns, other.start_ns) for one, other in told] if starts else found
