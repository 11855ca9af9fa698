"""Collective edges -> parts: sets of endpoints tied together by edges that carry alike at the same time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Bool, Float, Int
from strategy.behaviour import PARTS
from strategy.closure import components
from strategy.edges import SAME_BYTES, Edges
from strategy.segments import medians, runs

# Parts of a collective begin within this share of the iteration of one another.
SAME_TIME = 0.2
# Who works during the passes begins within the first share of them and is busy for the second of each of their thirds.
AT_ONCE, BUSY = 0.1, 0.01


@dataclass(frozen=True, slots=True)
class Part:
    """One set of endpoints and the edges between them.

    Attributes:
        members: address codes.
        edges: (e,) numbers of its edges.
        mesh: whether everybody sends to everybody.
        first, last: median over its edges of the first and last byte, shares of the iteration.
        throughout: whether most of its edges work during the passes.
    """

    members: frozenset[int]
    edges: Int
    mesh: bool
    first: float
    last: float
    throughout: bool

    @property
    def order(self) -> tuple[float, int]:
        """Sorts parts by when they begin."""
        return self.first, min(self.members)


def parts(edges: Edges, chosen: Int) -> list[Part]:
    """Components of the chosen edges that carry alike bytes an iteration at the same time, by number of first edge.

    Args:
        edges: the job's.
        chosen: numbers of collective edges.
    """
    if not len(chosen):
        return []
    kind = _kinds(edges, chosen)
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    number = components(kind * codes + edges.src[chosen], kind * codes + edges.dst[chosen])
    order = np.argsort(number, kind="stable")
    bounds = np.flatnonzero(np.diff(number[order])) + 1
    count = int(number.max()) + 1
    first, last = (medians(t[chosen] / edges.period_ns, number, count) for t in (edges.first_ns, edges.last_ns))
    throughout = np.bincount(number, working(edges)[chosen], count) * 2 > np.bincount(number, minlength=count)
    found = []
    for n, rows in enumerate(np.split(chosen[order], bounds)):
        ends = np.unique(np.concatenate([edges.src[rows], edges.dst[rows]]))
        directed = len(np.unique(edges.src[rows] * codes + edges.dst[rows]))
        mesh = directed == len(ends) * (len(ends) - 1)
        found.append(Part(frozenset(ends.tolist()), rows, mesh, float(first[n]), float(last[n]), bool(throughout[n])))
    return found


def _kinds(edges: Edges, chosen: Int) -> Int:
    """(chosen,) number of the run of alike bytes, and in it of alike beginnings, each edge is in."""
    size = runs(edges.iteration_bytes[chosen], SAME_BYTES)
    first = edges.first_ns[chosen] / max(edges.period_ns, 1.0)
    order = np.lexsort([first, size])
    cut = (np.diff(size[order], prepend=-1) != 0) | (np.diff(first[order], prepend=0.0) > SAME_TIME)
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(cut)
    return found


def working(edges: Edges) -> Bool:
    """(edges,) whether each works during the passes: from their beginning on, and in each third of them.

    The passes of an endpoint last from the first to the last byte of its pipeline, whose stages begin one after the
    other; without a pipeline they are the whole iteration.
    """
    begin, end = _passes(edges)
    at_once = edges.first_ns - begin <= AT_ONCE * (end - begin)
    low, high = (t / max(edges.period_ns, 1.0) * PARTS for t in (begin, end))
    middle = np.arange(PARTS)[None, :] + 0.5
    third = np.floor((middle - low[:, None]) * 3 / np.maximum(high - low, 1e-9)[:, None])
    busy = np.stack([np.where(third == n, edges.busy, 0.0).sum(axis=1) for n in range(3)])
    length = np.stack([(third == n).sum(axis=1) for n in range(3)])
    return np.asarray(at_once & ((busy > BUSY * length) & (length > 0)).all(axis=0), np.bool_)


def _passes(edges: Edges) -> tuple[Float, Float]:
    """(edges,) beginning and end of the passes of each edge's sender, after the iteration's beginning, ns."""
    p2p = ~edges.collective
    codes = int(max(edges.src.max(initial=0), edges.dst.max(initial=0))) + 1
    begin, end = np.full(codes, np.inf), np.full(codes, -np.inf)
    for at in (edges.src, edges.dst):
        np.minimum.at(begin, at[p2p], edges.first_ns[p2p])
        np.maximum.at(end, at[p2p], edges.last_ns[p2p])
    own = np.isfinite(begin[edges.src])
    return (
        np.where(own, np.maximum(begin[edges.src], 0.0), 0.0),
        np.where(own, np.minimum(end[edges.src], edges.period_ns), edges.period_ns),
    )
