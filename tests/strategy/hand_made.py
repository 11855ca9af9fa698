"""Edges made by hand: a job of one-second iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Bool, Float
from strategy.behaviour import PARTS
from strategy.edges import Edges

SECOND = 1_000_000_000.0


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge: who, how much, from when to when (shares of the iteration), and whether its pair takes turns."""

    src: int
    dst: int
    size: float
    first: float = 0.8
    last: float = 1.0
    turns: bool = False


def table(*edges: Edge) -> Edges:
    """The edges as a job's table, each of one stream."""
    middle = (np.arange(PARTS) + 0.5) / PARTS
    return Edges(
        src=np.array([e.src for e in edges], np.int64),
        dst=np.array([e.dst for e in edges], np.int64),
        iteration_bytes=np.array([e.size for e in edges], np.float64),
        transfers=np.ones(len(edges), np.int64),
        at_once=np.ones(len(edges)),
        messages=np.ones(len(edges)),
        leads=np.ones(len(edges)),
        first_ns=np.array([e.first * SECOND for e in edges]),
        last_ns=np.array([e.last * SECOND for e in edges]),
        spread=np.array([_evenly((middle >= e.first) & (middle <= e.last)) for e in edges]),
        collective=np.array([not e.turns for e in edges]),
        streams=np.arange(len(edges)),
        edge=np.arange(len(edges)),
        period_ns=SECOND,
    )


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
    """Neighbouring stages of a pipeline: `a` sends first."""
    return [Edge(a, b, size, first, 0.6, turns=True), Edge(b, a, size, first + 0.1, 0.7, turns=True)]
