"""A plan of paths as files that programs read: CSV, and the port file of Ascend's HCCL."""

from __future__ import annotations

import csv
import io
from ipaddress import ip_address

from datamodel.path_plan import PathPlan

COLUMNS = ("job", "src_addr", "dst_addr", "src_port", "new_src_port", "dst_qp", "planned")
# Limits of HCCL's port file (Ascend, CANN 8.5, HCCL_RDMA_QP_PORT_CONFIG_PATH).
HCCL_PORTS, HCCL_LINES = 32, 128 * 1024


def path_plan_csv(plan: PathPlan) -> str:
    """A row for each connection that gets a port, and for each that keeps its own."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in plan.connections:
        if one.action in {"set", "keep"}:
            planned = " ".join(f"{p.switch}:{p.port}" for p in one.planned)
            port = one.new_src_port or one.src_port
            rows.writerow([one.job, one.src_addr, one.dst_addr, one.src_port, port, one.dst_qp or "", planned])
    return text.getvalue()


def path_plan_hccl(plan: PathPlan) -> str:
    """MultiQpSrcPort.cfg: `source,destination=port,port`, one line for each pair of IPv4 addresses.

    Pairs with a connection whose port is not known are left out, and so is what exceeds HCCL's limits.
    """
    ports: dict[tuple[str, str], list[int]] = {}
    unknown: set[tuple[str, str]] = set()
    for one in plan.connections:
        ends = one.src_addr, one.dst_addr
        if one.action not in {"set", "keep"} or any(ip_address(a.partition("%")[0]).version != 4 for a in ends):
            unknown.add(ends)
        ports.setdefault(ends, []).append(one.new_src_port or one.src_port)
    good = [(ends, own) for ends, own in ports.items() if ends not in unknown and len(own) <= HCCL_PORTS]
    return "".join(f"{src},{dst}={','.join(map(str, own))}\n" for (src, dst), own in good[:HCCL_LINES])
