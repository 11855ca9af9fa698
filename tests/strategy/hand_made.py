"""Edges made by hand: a job of one-second iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float
from strategy.traffic.stream_profiles import PARTS
from strategy.traffic.traffic_edges import TrafficEdges

SECOND = 1_000_000_000.0


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge: ends, bytes, first and last byte as shares of the iteration, turns, transfers, relative sizes."""

    src: int
    dst: int
    size: float
    first: float = 0.8
    last: float = 1.0
    turns: bool = False
    transfers: int = 1
    sizes: tuple[float, ...] = (1.0,) * 8


def table(*edges: Edge) -> TrafficEdges:
    """The edges as a job's table, each of one stream."""
    middle = (np.arange(PARTS) + 0.5) / PARTS
    return TrafficEdges(
        src=np.array([e.src for e in edges], np.int64),
        dst=np.array([e.dst for e in edges], np.int64),
        iteration_bytes=np.array([e.size for e in edges], np.float64),
        transfers=np.array([e.transfers for e in edges], np.int64),
        at_once=np.ones(len(edges)),
        messages=np.ones(len(edges)),
        sizes=np.stack([e.sizes for e in edges]),
        variation=np.array([np.std(e.sizes) for e in edges]),
        first_ns=np.array([e.first * SECOND for e in edges]),
        last_ns=np.array([e.last * SECOND for e in edges]),
        spread=np.array([_evenly((middle >= e.first) & (middle <= e.last)) for e in edges]),
        concurrency=np.array([_concurrency(e, edges) for e in edges]),
        streams=np.arange(len(edges)),
        edge=np.arange(len(edges)),
        period_ns=SECOND,
    )


def _concurrency(edge: Edge, edges: tuple[Edge, ...]) -> float:
    """0 where the pair takes turns, 1 where it does not, nan without a reverse edge."""
    reverse = any((e.src, e.dst, e.size) == (edge.dst, edge.src, edge.size) for e in edges)
    return (0.0 if edge.turns else 1.0) if reverse else float("nan")


def _evenly(sending: Bool) -> Float:
    return np.asarray(sending / sending.sum(), np.float64)


def ring(members: list[int], size: float, first: float = 0.8, last: float = 1.0) -> list[Edge]:
    """Everybody to the next."""
    following = [*members[1:], members[0]]
    return [Edge(a, b, size, first, last) for a, b in zip(members, following, strict=True)]


def mesh(members: list[int], size: float, first: float = 0.0, last: float = 0.7) -> list[Edge]:
    """Everybody to everybody."""
    return [Edge(a, b, size, first, last) for a in members for b in members if a != b]


def both_ways(a: int, b: int, size: float, first: float = 0.0) -> list[Edge]:
    """Neighboring stages of a pipeline: `a` sends first, eight micro-batches each way."""
    return [Edge(a, b, size, first, 0.6, turns=True, transfers=8), Edge(b, a, size, first + 0.1, 0.7, True, 8)]
