"""Connections, inventory and report -> those that cross switches, the routes open to them, and what stops a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.connections import ConnectionTables
from datamodel.reconstructed.streams import Int
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes, shortest_routes
from reconstruct.paths.choices import Choices
from reconstruct.paths.uplink_hash import UNKNOWN, Headers, UplinkHash, learn_hashes

_LOW_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Crossing:
    """Connections between endpoints behind different switches.

    Attributes:
        rows: (n,) rows of the table of connections.
        pair: (n,) their pair of switches.
        pairs: (pairs, 2) sending and receiving switch.
        routes: all shortest ones of each pair.
        headers: (n,) fields that switches may hash.
    """

    rows: Int
    pair: Int
    pairs: Int
    routes: ShortestRoutes
    headers: Headers


def crossing(found: ConnectionTables, inventory: Inventory, cables: DirectedCables) -> Crossing:
    """Connections that cross switches; an endpoint's n-th address is behind its n-th attachment, if it has as many.

    An endpoint whose one address is behind several switches is the first and the last switch of its connections.
    Where several addresses are, but not each behind one, which switch their packets take is not known: they have none.
    """
    number = {name: n for n, name in enumerate(cables.switches)}
    behind: dict[str, int] = {}
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            at, names = endpoint.attachments, endpoint.all_addresses
            if names[0] in number:
                behind[names[0]] = number[names[0]]
                continue
            if len(at) != len(names) and len({to.switch for to in at}) > 1:
                continue
            each = at if len(at) == len(names) else at[:1] * len(names)
            behind |= {a: number[to.switch] for a, to in zip(names, each, strict=False) if to.switch in number}
    switch = np.array([behind.get(address, NONE) for address in found.addresses], np.int64)
    src, dst = (switch[found.table[name]] for name in ("src_addr", "dst_addr"))
    rows = np.flatnonzero((src != NONE) & (dst != NONE) & (src != dst))
    pairs, pair = np.unique(np.stack([src[rows], dst[rows]], axis=1), axis=0, return_inverse=True)
    numbers = np.array([int(ip_address(a.partition("%")[0])) & _LOW_64_BITS for a in found.addresses], np.uint64)
    headers = {name: numbers[found.table[name][rows]] for name in ("src_addr", "dst_addr")}
    headers |= {name: found.table[name][rows].astype(np.uint64) for name in ("src_port", "dst_port")}
    return Crossing(rows, pair.ravel(), pairs, shortest_routes(cables, pairs), headers)


@dataclass(frozen=True, slots=True)
class Doors:
    """Cables that each switch may choose from for each pair of switches.

    Attributes:
        key: (met,) pair << 32 | switch, in order.
        number: (met,) cables.
    """

    key: Int
    number: Int

    @classmethod
    def of(cls, across: Crossing, cables: DirectedCables) -> Doors:
        """Of all routes."""
        pair = np.repeat(np.arange(len(across.pairs)), np.diff(across.routes.offsets))
        met = [pair[on] << 32 | hop[on] for hop in across.routes.cables.T for on in (hop != NONE,)]
        both = np.sort(np.concatenate([np.zeros(0, np.int64), *met]))
        both = both[np.append(True, np.diff(both) != 0)[: len(both)]]  # several times as fast as np.unique
        key, number = np.unique(both >> 32 << 32 | cables.tail[both & 0xFFFFFFFF], return_counts=True)
        return cls(key, number)

    def count(self, pair: Int, switch: Int) -> Int:
        """How many a switch may choose from for a pair; 0 where no route of the pair passes it."""
        if not len(self.key):
            return np.zeros(np.broadcast(pair, switch).shape, np.int64)
        wanted = pair << 32 | switch
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        return np.where(self.key[place] == wanted, self.number[place], 0)


def learn(
    across: Crossing, cables: DirectedCables, seen: Choices, doors: Doors, roles: Mapping[str, str]
) -> dict[int, UplinkHash]:
    """Hashes of switches from sightings where there was a choice; `roles` by switch name."""
    connection, switch, cable = within(across, seen)
    choice = doors.count(across.pair[connection], switch) > 1
    connection, switch, cable = connection[choice], switch[choice], cable[choice]
    names = [roles.get(name, "") for name in cables.switches]
    role = np.unique(names, return_inverse=True)[1]
    role[cables.ends_here] = role.max(initial=-1) + 1
    headers = {name: values[connection] for name, values in across.headers.items()}
    used = np.setdiff1d(across.routes.cables, [NONE])
    by_port = np.array(sorted(used.tolist(), key=lambda n: (cables.tail[n], cables.port(n)[1] or 0, n)), np.int64)
    some, first = np.unique(cables.tail[by_port], return_index=True)
    every = dict(zip(some.tolist(), np.split(by_port, first[1:]), strict=False))
    return learn_hashes(headers, switch, cable, role, every) if len(connection) else {}


def within(across: Crossing, seen: Choices) -> tuple[Int, Int, Int]:
    """(connection, switch, cable) of sightings of connections that cross switches, by their place among these."""
    place = np.searchsorted(across.rows, seen.connection)
    inside = place < len(across.rows)
    inside[inside] = across.rows[place[inside]] == seen.connection[inside]
    return place[inside], seen.switch[inside], seen.cable[inside]


def predicted(across: Crossing, hashes: Mapping[int, UplinkHash], unseen: Int, switch: Int) -> Int:
    """(m,) cable by which connections leave switches, by their hashes; NONE where unknown."""
    found = np.full(len(unseen), NONE)
    for one, learnt in hashes.items():
        rows = np.flatnonzero(switch == one)
        own = {name: values[unseen[rows]] for name, values in across.headers.items()}
        found[rows] = learnt.predict(own, switch[rows])
    return np.where(found == UNKNOWN, NONE, found)


def obstacles(found: ConnectionTables, cables: DirectedCables, seen: Choices) -> list[str]:
    """What no plan can be made without, in a line each."""
    lines = []
    between = np.flatnonzero(cables.between_switches)
    links = [cables.links[n] for n in between[::2] // 2]
    slow = [link for link in links if not link.speed_gbps]
    if not links:
        lines.append("the inventory lists no links between switches: no path can be named")
    if slow:
        lines.append(f"{len(slow)} links have no speed_gbps (such as {slow[0].a} - {slow[0].b}): their load is unknown")
    if found.shared_ports:
        shown = found.shared_ports[0]
        lines.append(f"{len(found.shared_ports)} interfaces are of several links (such as {shown}): not distinguished")
    if links and not np.isin(found.sightings["cable"], between).any():
        lines.append("no record names an interface (in_if, out_if) of a link between switches: paths are unknown")
    if seen.sprayed:
        lines.append("packets of connections are spread over cables: they have no path to plan")
    return lines
