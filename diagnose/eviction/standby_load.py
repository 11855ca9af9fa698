"""How full the slowest uplink between a host and its peers would be, with a standby in its place.

Switches divide connections evenly among the cables of shortest routes (equal-cost multipath): it is not known which one
a connection that does not exist yet would take. Connections whose path is known count where they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.path_plan import Port

_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Carried:
    """What one endpoint sends another.

    Attributes:
        src_addr, dst_addr: the endpoints.
        bytes_per_s: mean over iterations.
        doors: interfaces by which it leaves switches; None where its path is not known.
    """

    src_addr: str
    dst_addr: str
    bytes_per_s: float
    doors: tuple[Port, ...] | None = None

    def between(self, instead: Mapping[str, str]) -> Carried:
        """The same between other endpoints, whose path is not known."""
        src, dst = (instead.get(address, address) for address in (self.src_addr, self.dst_addr))
        return Carried(src, dst, self.bytes_per_s)


@dataclass(frozen=True, slots=True)
class _Uplinks:
    """Cables between switches, each direction apart; NICs with two ports and one address are switches here.

    Attributes:
        tail, head: (directions,) switch that each leaves and reaches.
        bytes_per_s: (directions,) capacity; inf where the inventory does not give it.
        ends_here: (switches,) NICs, which nothing passes through.
        place: address -> the switch that it is behind.
        door: (switch, interface) -> direction.
        routes: leaves -> `_routes` to them: NICs behind the same ones share these.
    """

    tail: Int
    head: Int
    bytes_per_s: Float
    ends_here: Bool
    place: Mapping[str, int]
    door: Mapping[tuple[str, int | None], int]
    routes: dict[tuple[int, ...], list[tuple[Int, Int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, inventory: Inventory) -> _Uplinks:
        cables = inventory.cables()
        number = {name: n for n, name in enumerate(sorted({end for one in cables for end in (one.a, one.b)}))}
        sides = [side for one in cables for side in ((one.a, one.a_port, one.b), (one.b, one.b_port, one.a))]
        nics = {one.a for one in cables[len(inventory.links) :]}
        return cls(
            tail=np.array([number[leaves] for leaves, _, _ in sides], np.int64),
            head=np.array([number[reaches] for _, _, reaches in sides], np.int64),
            bytes_per_s=np.repeat([one.speed_gbps * 1e9 / 8 if one.speed_gbps else np.inf for one in cables], 2),
            ends_here=np.array([name in nics for name in number], np.bool_),
            place={
                address: number[to]
                for host in inventory.hosts
                for nic in host.endpoints
                for address, to in _behind(nic).items()
                if to in number
            },
            door={(leaves, port): n for n, (leaves, port, _) in enumerate(sides)},
        )

    def load(self, some: Iterable[Carried]) -> Float:
        """(directions,) bytes per second of what is carried."""
        load, wanted = np.zeros(len(self.tail)), defaultdict[int, defaultdict[int, float]](lambda: defaultdict(float))
        for one in some:
            passed = [self.door.get((port.switch, port.port)) for port in one.doors or ()]
            known = [direction for direction in passed if direction is not None]
            src, dst = self.place.get(one.src_addr), self.place.get(one.dst_addr)
            if known and len(known) == len(passed):
                np.add.at(load, known, one.bytes_per_s)
            elif src is not None and dst is not None and src != dst:
                wanted[dst][src] += one.bytes_per_s
        for dst, sent in wanted.items():
            self._spread(load, dst, sent)
        return load

    def _spread(self, load: Float, dst: int, sent: Mapping[int, float]) -> None:
        """Add what is sent to one switch to the load of the cables by which it may come, evenly at each switch."""
        left = np.zeros(len(self.ends_here))
        left[list(sent)] = list(sent.values())
        for nearer, ways in self._steps(dst):
            some = left[self.tail[nearer]] > 0
            taken = nearer[some]
            share = left[self.tail[taken]] / ways[some]
            load[taken] += share
            np.add.at(left, self.head[taken], share)

    def _steps(self, dst: int) -> list[tuple[Int, Int]]:
        """Directions that lead nearer to a switch, the farthest first, and how many of them leave the same switch."""
        if not self.ends_here[dst]:
            return self._routes((dst,))
        last = np.flatnonzero((self.head == dst) & ~self.ends_here[self.tail])
        return [*self._routes(tuple(np.unique(self.tail[last]).tolist())), (last, _alternatives(self.tail[last]))]

    def _routes(self, ends: tuple[int, ...]) -> list[tuple[Int, Int]]:
        """Those that lead nearer to any of some switches."""
        if ends not in self.routes:
            far, found = np.full(len(self.ends_here), _FAR), list[tuple[Int, Int]]()
            far[list(ends)] = distance = 0
            open_to_all = ~self.ends_here[self.head]
            while True:
                near = np.flatnonzero(open_to_all & (far[self.head] == distance) & (far[self.tail] > distance))
                if not len(near):
                    break
                distance += 1
                far[self.tail[near]] = distance
                found.append((near, _alternatives(self.tail[near])))
            self.routes[ends] = found[::-1]
        return self.routes[ends]


def _alternatives(tail: Int) -> Int:
    """(directions,) how many of some leave the same switch as each."""
    return np.asarray(np.bincount(tail)[tail] if len(tail) else tail, np.int64)


def _behind(nic: Endpoint) -> dict[str, str]:
    """Address of a NIC -> the switch that it is behind; a NIC behind several by one address is one itself."""
    names, at = nic.all_addresses, [to.switch for to in nic.attachments]
    if len(set(at)) <= 1:
        return dict.fromkeys(names, at[0]) if at else {}
    if len(at) == len(names):
        return dict(zip(names, at, strict=True))
    return {names[0]: names[0]} if len(names) == 1 else {}


def standby_loads(
    inventory: Inventory, traffic: Sequence[Carried], leavers: Sequence[Host], standbys: Sequence[Host]
) -> dict[str, dict[str, float]]:
    """Standby -> host that leaves -> load of the slowest uplink to its peers, over that uplink's speed.

    Each is by itself in the place of a host: the others stay where they are. Standbys that are not on the fabric that
    the inventory's links describe are left out.

    Args:
        inventory: links and their speeds.
        traffic: of all jobs that run.
        leavers: hosts that are to leave.
        standbys: hosts that could come.
    """
    uplinks = _Uplinks.of(inventory)
    found: dict[str, dict[str, float]] = {}
    if not np.isfinite(uplinks.bytes_per_s).any():
        return found
    total = uplinks.load(traffic)
    for leaver in leavers:
        own = {address for nic in leaver.endpoints for address in nic.all_addresses}
        mine = [one for one in traffic if one.src_addr in own or one.dst_addr in own]
        others = total - uplinks.load(mine)
        known: dict[tuple[int | None, ...], float] = {}
        for standby in standbys:
            instead = _instead(leaver, standby)
            where = tuple(uplinks.place.get(address) for address in instead.values())
            if None in where:
                continue
            if where not in known:
                moved = [one.between(instead) for one in mine]
                added = uplinks.load(moved)
                known[where] = float(((others + added) / uplinks.bytes_per_s)[added > 0].max(initial=0.0))
            found.setdefault(standby.name, {})[leaver.name] = known[where]
    return found


def _instead(leaver: Host, standby: Host) -> dict[str, str]:
    """Address of a host -> that which takes its place: NICs by rail, then in order."""
    before, after = (
        sorted(one.endpoints, key=lambda nic: -1 if nic.rail is None else nic.rail) for one in (leaver, standby)
    )
    return {
        address: new.all_addresses[min(n, len(new.all_addresses) - 1)]
        for old, new in zip(before, after, strict=False)
        for n, address in enumerate(old.all_addresses)
    }
