"""What cables really carried in a simulated case, by the simulator's own hash: the judge of plans of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.streams.stream_builder import volumes
from simulate.network.fabric import SPINE_PORT, Fabric

# A connection of less than this share of a cable's load does not hold the others up.
COUNTS = 1 / 400


@dataclass(frozen=True, slots=True)
class SentConnections:
    """Connections that cross leaves, and their records.

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
        frame, (plane, nic) = flows.frame, _nics(flows, fabric)
        src, dst = (nic[frame[name]] for name in ("src_addr", "dst_addr"))
        volume = volumes(frame)
        rows = np.flatnonzero((fabric.leaf_of_nic(src) != fabric.leaf_of_nic(dst)) & (volume > 0))
        keys = np.stack([src, dst, plane[frame["src_addr"]], frame["src_port"].astype(np.int64)])[:, rows]
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
    """(time that each directed cable needs, connections that count on it), by plane: up from leaves and then down.

    What counts is a share of the load: of these values or, where they are some of all, of the time `of_s` of all.
    """
    first = 2 * sent.plane * fabric.leaves
    up = (first + fabric.leaf_of_nic(sent.src)) * fabric.spines + spine
    down = (first + fabric.leaves + fabric.leaf_of_nic(sent.dst)) * fabric.spines + spine
    size = 2 * fabric.planes * fabric.leaves * fabric.spines
    load = np.bincount(up, values, size) + np.bincount(down, values, size)
    bytes_per_s = fabric.uplink_gbps / fabric.planes * 1e9 / 8
    load_s = load / bytes_per_s
    whole = load if of_s is None else of_s * bytes_per_s
    counts = np.zeros(size, np.int64)
    for cable in (up, down):
        counts += np.bincount(cable, (values > 0) & (values >= COUNTS * whole[cable]), size).astype(np.int64)
    return load_s, counts


def with_interfaces(flows: Flows, fabric: Fabric) -> Flows:
    """The records as senders' leaves would export them: with the interface to the spine that their hash picks."""
    frame, (planes, nic) = flows.frame, _nics(flows, fabric)
    src, dst = (nic[frame[name]] for name in ("src_addr", "dst_addr"))
    leaf = fabric.leaf_of_nic(src)
    across: Bool = leaf != fabric.leaf_of_nic(dst)
    door = SPINE_PORT + fabric.spine(src, dst, frame["src_port"].astype(np.int64))
    agents = tuple(fabric.agent(n, plane) for plane in range(fabric.planes) for n in range(fabric.leaves))
    exporter = len(flows.addresses) + planes[frame["src_addr"]] * fabric.leaves + leaf
    seen = frame.replace(sampler_address=exporter, out_if=np.where(across, door, 0))
    return Flows(seen, (*flows.addresses, *agents))


def _nics(flows: Flows, fabric: Fabric) -> tuple[Int, Int]:
    """(addresses,) plane and number of the NIC of each code."""
    number = {address: n for n, address in enumerate(fabric.addresses())}
    place = np.array([number.get(address, -1) for address in flows.addresses], np.int64)
    return place // fabric.endpoints, np.where(place < 0, -1, place % fabric.endpoints)
