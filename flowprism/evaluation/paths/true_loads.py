"""What cables really carried in a simulated case, by the simulator's own hash: the judge of plans of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.path_plan import Port
from datamodel.telemetry.flows import Flows
from reconstruct.streams.stream_builder import volumes
from simulate.network.fabric import NONE, SPINE_PORT, Fabric

# A connection of less than this share of a cable's load does not hold the others up.
COUNTS = 1 / 400


@dataclass(frozen=True, slots=True)
class SentConnections:
    """Connections that cross leaves, or leave bonded NICs, and their records.

    Attributes:
        src, dst, plane, port: (n,) NICs, network and source port of each connection.
        connection: (rows,) of each record.
        start_ns, end_ns, bytes: (rows,) of records, payload.
    """

    src: Int
    dst: Int
    plane: Int
    port: Int
    connection: Int
    start_ns: Int
    end_ns: Int
    bytes: Int

    @classmethod
    def of(cls, flows: Flows, fabric: Fabric) -> SentConnections:
        """From exact flow records."""
        frame = flows.frame
        src, dst, plane = _ends(flows, fabric)
        volume = volumes(frame)
        crosses = fabric.leaf_of_nic(src) != fabric.leaf_of_nic(dst)
        rows = np.flatnonzero((crosses | fabric.bonded) & (volume > 0))
        keys = np.stack([src, dst, plane, frame["src_port"].astype(np.int64)])[:, rows]
        (one, other, network, port), which = np.unique(keys, axis=1, return_inverse=True)
        start_ns, end_ns = (frame[name][rows] for name in ("time_flow_start_ns", "time_flow_end_ns"))
        return cls(one, other, network, port, which.ravel(), start_ns, end_ns, volume[rows])

    def folded(self, steps: Sequence[tuple[int, int]], begin: float, end: float) -> Float:
        """(n,) mean bytes of each connection in one part of the iterations, by shares of them."""
        found = np.zeros(len(self.src))
        last = np.maximum(self.end_ns, self.start_ns + 1)
        for start_ns, end_ns in steps:
            length = end_ns - start_ns
            low, high = start_ns + begin * length, start_ns + end * length
            met = np.clip(np.minimum(last, high) - np.maximum(self.start_ns, low), 0, None)
            found += np.bincount(self.connection, self.bytes * met / (last - self.start_ns), len(found))
        return found / max(len(steps), 1)


def cable_loads_s(
    fabric: Fabric, sent: SentConnections, spine: Int, values: Float, of_s: Float | None = None
) -> tuple[Float, Int]:
    """(time that each directed cable needs, connections that count on it), numbered as `CableNumbers` does.

    What counts is a share of the load: of these values or, where they are some of all, of the time `of_s` of all.
    """
    numbers = CableNumbers(fabric)
    bytes_per_s = numbers.gbps() / fabric.planes * 1e9 / 8
    taken = numbers.taken(sent, spine)
    load = np.zeros(len(bytes_per_s))
    for cable in taken:
        load += np.bincount(cable[cable != NONE], values[cable != NONE], len(load))
    whole = load if of_s is None else of_s * bytes_per_s
    counts = np.zeros(len(load), np.int64)
    for cable in taken:
        some = (cable != NONE) & (values > 0) & (values >= COUNTS * whole[cable])
        counts += np.bincount(cable[some], minlength=len(load))
    return load / bytes_per_s, counts


def leaf_planes(fabric: Fabric) -> dict[str, tuple[int, int]]:
    """Name of each leaf -> its number and its plane."""
    return {fabric.leaf_name(n, plane): (n, plane) for plane in range(fabric.planes) for n in range(fabric.leaves)}


@dataclass(frozen=True, slots=True)
class CableNumbers:
    """Directed cables of a fabric: by plane up from leaves and then down; then ports of bonded NICs, out and in."""

    fabric: Fabric

    def gbps(self) -> Float:
        """(cables,) rate of each in all planes together."""
        fabric = self.fabric
        links = np.full(2 * fabric.planes * fabric.leaves * fabric.spines, fabric.uplink_gbps)
        ports = 2 * fabric.planes * fabric.endpoints if fabric.bonded else 0
        return np.concatenate([links, np.full(ports, fabric.nic_gbps)])

    def up(self, leaf: Int, plane: Int, spine: Int) -> Int:
        """From leaves to spines."""
        return (2 * plane * self.fabric.leaves + leaf) * self.fabric.spines + spine

    def down(self, leaf: Int, plane: Int, spine: Int) -> Int:
        """From spines to leaves."""
        return self.up(leaf + self.fabric.leaves, plane, spine)

    def port(self, nic: Int, plane: Int, *, inward: bool) -> Int:
        """Of a bonded NIC to a leaf, or from it."""
        fabric = self.fabric
        links = 2 * fabric.planes * fabric.leaves * fabric.spines
        return links + (2 * plane + inward) * fabric.endpoints + nic

    def number(self, link: tuple[Port, Port]) -> int:
        """Of the cable between two ends, in their direction."""
        (a, b), leaves = link, leaf_planes(self.fabric)
        outward = b.switch in leaves
        end, other = (b, a) if outward else (a, b)
        leaf, plane = (np.array([n]) for n in leaves[end.switch])
        addresses = self.fabric.addresses()
        if other.switch in addresses:
            found = self.port(np.array([addresses.index(other.switch)]), plane, inward=not outward)
        else:
            found = (self.down if outward else self.up)(leaf, plane, np.array([(end.port or 0) - SPINE_PORT]))
        return int(found[0])

    def taken(self, sent: SentConnections, spine: Int) -> list[Int]:
        """Cables on the way of each connection, NONE where it takes none of the kind."""
        src, dst = (self.fabric.leaf_of_nic(nic) for nic in (sent.src, sent.dst))
        ways = [self.up(src, sent.plane, spine), self.down(dst, sent.plane, spine)]
        found = [np.where(src == dst, NONE, way) for way in ways]
        if self.fabric.bonded:
            found += [self.port(sent.src, sent.plane, inward=False), self.port(sent.dst, sent.plane, inward=True)]
        return found


def with_interfaces(flows: Flows, fabric: Fabric) -> Flows:
    """The records as senders' leaves would export them: with the interface to the spine that their hash picks."""
    frame = flows.frame
    src, dst, plane = _ends(flows, fabric)
    leaf = fabric.leaf_of_nic(src)
    across: Bool = leaf != fabric.leaf_of_nic(dst)
    door = SPINE_PORT + fabric.spine(src, dst, frame["src_port"].astype(np.int64))
    agents = tuple(fabric.agent(n, plane) for plane in range(fabric.planes) for n in range(fabric.leaves))
    exporter = len(flows.addresses) + plane * fabric.leaves + leaf
    inside = fabric.leaf_port(dst) if fabric.bonded else 0
    seen = frame.replace(sampler_address=exporter, out_if=np.where(across, door, inside))
    if fabric.bonded:
        seen = seen.replace(in_if=fabric.leaf_port(src))
    return Flows(seen, (*flows.addresses, *agents))


def _ends(flows: Flows, fabric: Fabric) -> tuple[Int, Int, Int]:
    """(rows,) sending NIC, receiving NIC and plane of each record."""
    number = {address: n for n, address in enumerate(fabric.addresses())}
    place = np.array([number.get(address, -1) for address in flows.addresses], np.int64)
    nic, frame = np.where(place < 0, -1, place % fabric.endpoints), flows.frame
    src, dst = (nic[frame[name]] for name in ("src_addr", "dst_addr"))
    if fabric.bonded:
        return src, dst, fabric.bonded_plane(src, dst, frame["src_port"].astype(np.int64))
    return src, dst, (place // fabric.endpoints)[frame["src_addr"]]
