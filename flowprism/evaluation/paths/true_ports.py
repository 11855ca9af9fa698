"""Source ports by the simulator's own hash, for connections whose plan gives none: a plan is judged once applied."""

from __future__ import annotations

import numpy as np

from datamodel.reports.path_plan import PathPlan, PlannedConnection
from simulate.network.fabric import EPHEMERAL_PORT, EPHEMERAL_PORTS, Fabric


def with_true_ports(plan: PathPlan, fabric: Fabric) -> PathPlan:
    """The plan where every connection to be moved has a port that leads by the planned door, as far as there is one."""
    used = {one.ends for one in plan.connections} | {
        (one.src_addr, one.dst_addr, one.new_src_port) for one in plan.connections if one.new_src_port is not None
    }
    nic = {address: n % fabric.endpoints for n, address in enumerate(fabric.addresses())}
    connections = list(plan.connections)
    for n, one in enumerate(connections):
        if one.action in {"try", "none"} and one.planned:
            ports = _leading(one, nic, fabric)
            port = next((p for p in ports if (one.src_addr, one.dst_addr, p) not in used), None)
            if port is not None:
                used.add((one.src_addr, one.dst_addr, port))
                connections[n] = one.model_copy(update={"action": "set", "new_src_port": port, "try_src_ports": ()})
    return plan.model_copy(update={"connections": tuple(connections)})


def _leading(one: PlannedConnection, nic: dict[str, int], fabric: Fabric) -> list[int]:
    """Ports by which the sender's leaf sends a connection to the planned spine."""
    ports = np.arange(EPHEMERAL_PORT, EPHEMERAL_PORT + EPHEMERAL_PORTS)
    src, dst = (np.full(len(ports), nic[address]) for address in (one.src_addr, one.dst_addr))
    door = (one.planned[0].port or 0) - 1
    return [int(port) for port in ports[fabric.spine(src, dst, ports) == door]]
