"""Cables and pairs of switches -> all shortest routes between them: what a connection of each pair may take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from datamodel.cluster.inventory import Inventory, Link
from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.ragged_arrays import expanded

NONE = -1


@dataclass(frozen=True, slots=True)
class DirectedCables:
    """Cables between switches, each direction apart: number 2 n is cable n from `a` to `b`, 2 n + 1 from `b` to `a`.

    Attributes:
        links: the cables.
        switches: names, in order; of an endpoint that is plugged into several, its address.
        tail, head: (directions,) switch that each leaves and reaches.
        bytes_per_s: (directions,) capacity; 0 where the inventory does not give it.
        ends_here: (switches,) those that nothing passes through: endpoints.
    """

    links: tuple[Link, ...]
    switches: tuple[str, ...]
    tail: Int
    head: Int
    bytes_per_s: Float
    ends_here: Bool

    @classmethod
    def of_inventory(cls, inventory: Inventory) -> DirectedCables:
        """The cables of an inventory, those of NICs with two ports and one address included."""
        cables = inventory.cables()
        return cls.of(cables, [port.a for port in cables[len(inventory.links) :]])

    @classmethod
    def of(cls, links: Sequence[Link], endpoints: Sequence[str] = ()) -> DirectedCables:
        """Number the switches, the endpoints that are plugged into several, and the directions of cables."""
        names = sorted({end for link in links for end in (link.a, link.b)})
        number = {name: n for n, name in enumerate(names)}
        ends = [(number[link.a], number[link.b]) for link in links]
        tail, head = np.array([w for a, b in ends for w in ((a, b), (b, a))], np.int64).reshape(-1, 2).T
        speed = np.repeat([(link.speed_gbps or 0.0) * 1e9 / 8 for link in links], 2)
        ends_here = np.isin(names, endpoints) if endpoints else np.zeros(len(names), np.bool_)
        return cls(tuple(links), tuple(names), tail, head, speed, ends_here)

    @property
    def between_switches(self) -> Bool:
        """(directions,) those that neither leave nor reach an endpoint."""
        return ~(self.ends_here[self.tail] | self.ends_here[self.head])

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
    """All shortest routes of (n, 2) pairs of switches, without some directed cables; none where there is no way.

    An endpoint that is plugged into several switches begins and ends routes, by any of its ports: nothing passes
    through it.
    """
    usable = np.setdiff1d(np.arange(len(cables.tail)), np.array(sorted(left_out), np.int64))
    if not cables.ends_here.any():
        return _between_switches(cables, usable, pairs)
    leaves, reaches = (usable[cables.ends_here[side[usable]]] for side in (cables.tail, cables.head))
    pair, first, start = _by_port(pairs[:, 0], leaves, (cables.tail, cables.head), cables.ends_here)
    of, last, stop = _by_port(pairs[pair, 1], reaches, (cables.head, cables.tail), cables.ends_here)
    pair, first, start = pair[of], first[of], start[of]
    inner, which = np.unique(np.stack([start, stop], axis=1), axis=0, return_inverse=True)
    found = _between_switches(cables, np.setdiff1d(usable, np.concatenate([leaves, reaches])), inner)
    begin, count = found.offsets[:-1].copy(), np.diff(found.offsets)
    none = np.full((1, found.cables.shape[1]), NONE)  # the way from a switch to itself
    hops = np.concatenate([found.cables, none])
    same = inner[:, 0] == inner[:, 1]
    begin[same], count[same] = len(found.cables), 1
    length = np.where(count > 0, (hops[np.minimum(begin, len(hops) - 1)] != NONE).sum(axis=1), np.inf)
    total = length[which.ravel()] + (first != NONE) + (last != NONE)
    least = np.full(len(pairs), np.inf)
    np.minimum.at(least, pair, total)
    kept = np.flatnonzero(np.isfinite(total) & (total == least[pair]) & (pairs[pair, 0] != pairs[pair, 1]))
    row, place = expanded(begin[which.ravel()[kept]], count[which.ravel()[kept]])
    row = kept[row]
    taken = np.concatenate([first[row, None], hops[place], last[row, None]], axis=1)
    taken = np.take_along_axis(taken, np.argsort(taken == NONE, axis=1, kind="stable"), axis=1)
    order = np.lexsort([*taken.T[::-1], pair[row]])
    taken = taken[order][:, : int((taken != NONE).sum(axis=1).max(initial=0))]
    return ShortestRoutes(np.searchsorted(pair[row][order], np.arange(len(pairs) + 1)), taken)


def _by_port(ends: Int, ports: Int, sides: tuple[Int, Int], ends_here: Bool) -> tuple[Int, Int, Int]:
    """(row, cable, switch) of each way into the network from (n,) ends; a switch is in it, by no cable.

    Args:
        ends: switches and endpoints.
        ports: directed cables of endpoints.
        sides: (directions,) the side of each that is the endpoint's, and the other.
        ends_here: (switches,) endpoints.
    """
    own, other = sides
    ports = ports[np.argsort(own[ports], kind="stable")]
    begin = np.searchsorted(own[ports], ends)
    count = np.where(ends_here[ends], np.searchsorted(own[ports], ends, side="right") - begin, 1)
    row, place = expanded(begin, count)
    cable = np.where(ends_here[ends[row]], np.append(ports, NONE)[np.minimum(place, len(ports))], NONE)
    return row, cable, np.where(cable == NONE, ends[row], other[cable])


def _between_switches(cables: DirectedCables, usable: Int, pairs: Int) -> ShortestRoutes:
    """All shortest routes of (n, 2) pairs over some directed cables."""
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
