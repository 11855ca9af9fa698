"""A plan of paths as files that programs read: JSON, CSV, the port file of Ascend's HCCL, lines of hccn_tool."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from ipaddress import ip_address

from datamodel.cluster.inventory import Inventory
from datamodel.reports.path_plan import PathPlan, PlannedConnection

COLUMNS = ("job", "src_addr", "dst_addr", "src_port", "new_src_port", "dst_qp", "planned")
# Limits of HCCL's port file (Ascend, CANN 8.5, HCCL_RDMA_QP_PORT_CONFIG_PATH).
HCCL_PORTS, HCCL_LINES = 32, 128 * 1024
# Pairs of addresses that `hccn_tool -udp` takes on one NIC (Ascend HDK 26.1, A3).
HCCN_PAIRS = 128


class PlanFile(StrEnum):
    """Files that a plan of paths is written as."""

    JSON = "json"
    CSV = "csv"
    HCCL = "hccl"
    HCCN = "hccn"


def path_plan_file(plan: PathPlan, kind: PlanFile, inventory: Inventory | None) -> str:
    """The plan as a file; the inventory has the hosts and NPUs of addresses, which only hccn_tool asks for."""
    if kind is PlanFile.JSON:
        return plan.model_dump_json(by_alias=True, indent=1) + "\n"
    if kind is PlanFile.CSV:
        return path_plan_csv(plan)
    return path_plan_hccl(plan) if kind is PlanFile.HCCL else path_plan_hccn(plan, inventory or Inventory())


def path_plan_csv(plan: PathPlan) -> str:
    """A row for each connection that gets a port, and for each that keeps its own."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in plan.connections:
        if one.action in {"set", "keep"}:
            planned = " ".join(map(str, one.planned))
            port = one.new_src_port or one.src_port
            rows.writerow([one.job, one.src_addr, one.dst_addr, one.src_port, port, one.dst_qp or "", planned])
    return text.getvalue()


def path_plan_hccl(plan: PathPlan) -> str:
    """MultiQpSrcPort.cfg: `source,destination=port,port`, one line for each pair of IPv4 addresses.

    Pairs with a connection whose port is not known are left out, and so is what exceeds HCCL's limits.
    """
    good = [(ends, own) for ends, own in _ports_of_pairs(plan).items() if len(own) <= HCCL_PORTS]
    return "".join(f"{src},{dst}={','.join(map(str, own))}\n" for (src, dst), own in good[:HCCL_LINES])


def path_plan_hccn(plan: PathPlan, inventory: Inventory) -> str:
    """Lines for a shell on each host: `hccn_tool -i NPU -udp -s port PORT sip SOURCE dip DESTINATION`.

    The NIC then gives all queue pairs of a pair of IPv4 addresses one port, and forgets it at a restart. Pairs of
    several connections and senders whose NPU the inventory does not name are left out and counted, and so is what
    exceeds a NIC's limit.
    """
    place = {
        address: (host.name, nic.gpu)
        for host in inventory.hosts
        for nic in host.endpoints
        if isinstance(nic.gpu, int)
        for address in nic.all_addresses
    }
    every, lines = {(one.src_addr, one.dst_addr) for one in plan.connections}, dict[str, dict[int, list[str]]]()
    written = 0
    for (src, dst), ports in _ports_of_pairs(plan).items():
        if len(ports) > 1 or src not in place:
            continue
        host, device = place[src]
        own = lines.setdefault(host, {}).setdefault(device, [])
        if len(own) < HCCN_PAIRS:
            own.append(f"hccn_tool -i {device} -udp -s port {ports[0]} sip {src} dip {dst}\n")
            written += 1
    head = f"# {len(every) - written} pairs of addresses are left out\n" if written < len(every) else ""
    return head + "".join(
        f"# host {host}\n{''.join(line for device in sorted(devices) for line in devices[device])}"
        for host, devices in sorted(lines.items())
    )


def _ports_of_pairs(plan: PathPlan) -> dict[tuple[str, str], list[int]]:
    """Ports of each pair of IPv4 addresses, in order of its connections; none of one with an unknown port."""
    ports: dict[tuple[str, str], list[int]] = {}
    unknown: set[tuple[str, str]] = set()
    for one in plan.connections:
        ends = one.src_addr, one.dst_addr
        if not _is_known(one):
            unknown.add(ends)
        ports.setdefault(ends, []).append(one.new_src_port or one.src_port)
    return {ends: own for ends, own in ports.items() if ends not in unknown}


def _is_known(one: PlannedConnection) -> bool:
    """Whether a connection's port is known, and its addresses are of version 4."""
    versions = {ip_address(a.partition("%")[0]).version for a in (one.src_addr, one.dst_addr)}
    return one.action in {"set", "keep"} and versions == {4}
