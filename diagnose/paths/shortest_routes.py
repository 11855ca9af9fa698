"""Cables and pairs of switches -> all shortest routes between them: what a connection of each pair may take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.ragged_arrays import expanded

NONE = -1


@dataclass(frozen=True, slots=True)
class DirectedCables:
    """Cables between switches, each direction apart: number 2 n is cable n from `a` to `b`, 2 n + 1 from `b` to `a`.

    Attributes:
        links: the cables.
        switches: names, in order.
        tail, head: (directions,) switch that each leaves and reaches.
        bytes_per_s: (directions,) capacity; 0 where the inventory does not give it.
    """

    links: tuple[Link, ...]
    switches: tuple[str, ...]
    tail: Int
    head: Int
    bytes_per_s: Float

    @classmethod
    def of(cls, links: Sequence[Link]) -> DirectedCables:
        """Number the switches and directions of cables."""
        names = sorted({end for link in links for end in (link.a, link.b)})
        number = {name: n for n, name in enumerate(names)}
        ends = [(number[link.a], number[link.b]) for link in links]
        tail, head = np.array([w for a, b in ends for w in ((a, b), (b, a))], np.int64).reshape(-1, 2).T
        speed = np.repeat([(link.speed_gbps or 0.0) * 1e9 / 8 for link in links], 2)
        return cls(tuple(links), tuple(names), tail, head, speed)

    def port(self, direction: int) -> tuple[str, int | None]:
        """Switch that a direction leaves, and the interface by which."""
        link = self.links[direction // 2]
        return (link.b, link.b_port) if direction % 2 else (link.a, link.a_port)


@dataclass(frozen=True, slots=True)
class ShortestRoutes:
    """Shortest routes of pairs of switches.

    Attributes:
        offsets: (pairs + 1,) bounds of each pair's routes.
        cables: (routes, hops) directed cables in order, NONE behind the last; routes of a pair in order of cables.
    """

    offsets: Int
    cables: Int


def shortest_routes(cables: DirectedCables, pairs: Int, left_out: Collection[int] = ()) -> ShortestRoutes:
    """All shortest routes of (n, 2) pairs of switches, without some directed cables; none where there is no way."""
    usable = np.setdiff1d(np.arange(len(cables.tail)), np.array(sorted(left_out), np.int64))
    tail, head = cables.tail[usable], cables.head[usable]
    size = len(cables.switches)
    web = csr_array((np.ones(len(usable)), (tail, head)), shape=(size, size))
    ends, which = np.unique(pairs[:, 1], return_inverse=True)
    hops = shortest_path(web.T, unweighted=True, indices=ends) if len(usable) else np.full((len(ends), size), np.inf)
    nearer, step = np.nonzero(hops[:, head] == hops[:, tail] - 1)
    key = nearer * size + tail[step]
    order = np.argsort(key, kind="stable")
    step, key = usable[step[order]], key[order]
    pair = np.flatnonzero(np.isfinite(hops[which, pairs[:, 0]]) & (pairs[:, 0] != pairs[:, 1]))
    at, taken = pairs[pair, 0], np.zeros((len(pair), 0), np.int64)
    while len(pair) and (at != pairs[pair, 1]).any():
        there, wanted = at == pairs[pair, 1], which[pair] * size + at
        begin = np.searchsorted(key, wanted)
        count = np.where(there, 1, np.searchsorted(key, wanted, side="right") - begin)
        row, place = expanded(begin, count)
        cable = np.where(there[row], NONE, step[np.minimum(place, len(step) - 1)])
        taken = np.concatenate([taken[row], cable[:, None]], axis=1)
        pair, at = pair[row], np.where(there[row], at[row], cables.head[cable])
    return ShortestRoutes(np.searchsorted(pair, np.arange(len(pairs) + 1)), taken)
