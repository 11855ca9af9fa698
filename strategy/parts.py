"""Collective edges -> parts: sets of endpoints tied together by edges that carry alike at the same time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int
from strategy.behaviour import PARTS
from strategy.closure import components
from strategy.edges import SAME_BYTES, Edges
from strategy.segments import medians, runs

# Parts of a collective begin within this share of the iteration of one another.
SAME_TIME = 0.2
# Who works during the passes begins within this share of them, and sends this share of its bytes in each third of them.
AT_ONCE, SOME = 0.1, 0.02


@dataclass(frozen=True, slots=True)
class Part:
    """One set of endpoints and the edges between them.

    Attributes:
        members: address codes.
        edges: (e,) numbers of its edges.
        mesh: whether everybody sends to everybody who is not on the same host; None where that depends on who is.
        first, last: median over its edges of the first and last byte, shares of the iteration.
        begin, end: likewise of its members' passes.
        spread: (PARTS,) share of its bytes sent in each part of the iteration.
    """

    members: frozenset[int]
    edges: Int
    mesh: bool | None
    first: float
    last: float
    begin: float
    end: float
    spread: Float

    @property
    def throughout(self) -> bool:
        """Whether it works during the passes."""
        return self.works_until(self.end)

    def works_until(self, end: float, at_once: float = AT_ONCE) -> bool:
        """Whether it works from the beginning of the passes on, and in each third of the time until `end`.

        It begins within the share `at_once` of that time.
        """
        return self._begins(at_once, end) and _in_each_third(self.spread, self.begin, end)

    def begins_within(self, share: float) -> bool:
        """Whether it begins within such a share of the passes."""
        return self._begins(share, self.end)

    def _begins(self, share: float, end: float) -> bool:
        return self.first - self.begin <= share * (end - self.begin)


def parts(edges: Edges, chosen: Int, host: Int) -> list[Part]:
    """Components of the chosen edges that carry alike bytes an iteration at the same time, by number of first edge.

    Args:
        edges: the job's.
        chosen: numbers of collective edges.
        host: (codes,) host of each address code; of one's own where it is not known.
    """
    if not len(chosen):
        return []
    kind = _kinds(edges, chosen)
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    number = components(kind * codes + edges.src[chosen], kind * codes + edges.dst[chosen])
    order = np.argsort(number, kind="stable")
    bounds = np.flatnonzero(np.diff(number[order])) + 1
    count = int(number.max()) + 1
    begin, end = passes(edges)
    times = [
        medians(t[chosen] / edges.period_ns, number, count).tolist()
        for t in (edges.first_ns, edges.last_ns, begin, end)
    ]
    found = []
    for rows, first, last, begins, ends_at in zip(np.split(chosen[order], bounds), *times, strict=True):
        ends = np.unique(np.concatenate([edges.src[rows], edges.dst[rows]]))
        mesh = _mesh(edges.src[rows], edges.dst[rows], ends, host)
        spread = edges.spread[rows].mean(axis=0)
        found.append(Part(frozenset(ends.tolist()), rows, mesh, first, last, begins, ends_at, spread))
    return found


def _mesh(src: Int, dst: Int, ends: Int, host: Int) -> bool | None:
    """Whether all `ends` send to all others but those of their host.

    Where hosts are not known, they are those that never send to one another, equally many each. Of four endpoints that
    each send to two, a ring both ways does the same: None.
    """
    directed = np.unique(np.searchsorted(ends, src) * len(ends) + np.searchsorted(ends, dst))
    if len(directed) == len(ends) ** 2 - int((np.unique(host[ends], return_counts=True)[1] ** 2).sum()):
        return True
    if 2 * len(directed) < len(ends) ** 2 or (host[ends] != ends).any():
        return False
    sends = np.zeros((len(ends), len(ends)), np.bool_)
    sends.ravel()[directed] = True
    _, own, count = np.unique(sends, axis=0, return_inverse=True, return_counts=True)
    if (count != count[0]).any() or (sends != (own.ravel()[:, None] != own.ravel())).any():
        return False
    return True if len(ends) > 4 else None


def _kinds(edges: Edges, chosen: Int) -> Int:
    """(chosen,) number of the run of alike bytes, and in it of alike beginnings, each edge is in."""
    size = runs(edges.iteration_bytes[chosen], SAME_BYTES)
    first = edges.first_ns[chosen] / max(edges.period_ns, 1.0)
    order = np.lexsort([first, size])
    cut = (np.diff(size[order], prepend=-1) != 0) | (np.diff(first[order], prepend=0.0) > SAME_TIME)
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(cut)
    return found


def _in_each_third(spread: Float, begin: float, end: float) -> bool:
    """Whether something is sent in each third between two shares of the iteration."""
    third = np.floor(((np.arange(PARTS) + 0.5) / PARTS - begin) * 3 / max(end - begin, 1e-9))
    return all(spread[third == n].sum() > SOME for n in range(3))


def passes(edges: Edges) -> tuple[Float, Float]:
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
