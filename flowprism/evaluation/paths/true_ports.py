"""Source ports by the simulator's own hash, for connections whose plan gives none: a plan is judged once applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.path_plan import PathPlan, PlannedConnection
from flowprism.evaluation.paths.true_loads import leaf_planes
from simulate.network.fabric import EPHEMERAL_PORT, EPHEMERAL_PORTS, SPINE_PORT, Fabric


def with_true_ports(plan: PathPlan, fabric: Fabric) -> PathPlan:
    """The plan where every connection to be moved has a port that leads by the planned door, as far as there is one."""
    used = {one.ends for one in plan.connections} | {
        (one.src_addr, one.dst_addr, one.new_src_port) for one in plan.connections if one.new_src_port is not None
    }
    ways, every = TrueWays.of(fabric), np.arange(EPHEMERAL_PORT, EPHEMERAL_PORT + EPHEMERAL_PORTS)
    connections = list(plan.connections)
    for n, one in enumerate(connections):
        if one.action in {"try", "none"} and one.planned:
            ports = every[ways.leads(one, every)].tolist()
            port = next((p for p in ports if (one.src_addr, one.dst_addr, p) not in used), None)
            if port is not None:
                used.add((one.src_addr, one.dst_addr, port))
                connections[n] = one.model_copy(update={"action": "set", "new_src_port": port, "try_src_ports": ()})
    return plan.model_copy(update={"connections": tuple(connections)})


@dataclass(frozen=True, slots=True)
class TrueWays:
    """Where a fabric's own hashes lead connections.

    Attributes:
        nics: number of the NIC of each address.
        leaves: number and plane of each leaf, by name.
    """

    fabric: Fabric
    nics: Mapping[str, int]
    leaves: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, fabric: Fabric) -> TrueWays:
        """Of a fabric."""
        nics = {address: n % fabric.endpoints for n, address in enumerate(fabric.addresses())}
        return cls(fabric, nics, leaf_planes(fabric))

    def leads(self, one: PlannedConnection, ports: Int) -> Bool:
        """(n,) whether a connection would take the planned way with each of some source ports."""
        fabric, leaves = self.fabric, self.leaves
        src, dst = (np.full(len(ports), self.nics[address]) for address in (one.src_addr, one.dst_addr))
        left = next(port for port in one.planned if port.switch in leaves)
        door = (left.port or 0) - SPINE_PORT
        right: Bool = (fabric.spine(src, dst, ports) == door) | (door >= fabric.spines)  # to a NIC of the same leaf
        if fabric.bonded:
            right &= fabric.bonded_plane(src, dst, ports) == leaves[left.switch][1]
        return right
