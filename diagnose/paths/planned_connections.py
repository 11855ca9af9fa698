"""A plan's arrays -> what each long connection has to do: keep its port, get another, or try some."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.path_plan import Action, PlannedConnection
from datamodel.reports.report import Report
from diagnose.paths.plan_tables import PlanTables
from diagnose.paths.shortest_routes import NONE
from diagnose.paths.source_ports import PortsInUse, choose_ports, ports_in_use, ports_to_try


def planned_connections(tables: PlanTables, report: Report) -> tuple[tuple[PlannedConnection, ...], tuple[str, ...]]:
    """(what each elephant has to do, switches that choose by a hash that is not known)."""
    now, planned = tables.hops_now(), tables.hops_planned()
    tail, size = tables.cables.tail, len(tables.cables.switches)
    doors = np.where(planned == NONE, 1, tables.doors.count(tables.demand.pair[:, None], tail[planned]))
    chosen = doors > 1
    moves: Bool = np.logical_and((now != planned).any(axis=1), planned[:, 0] != NONE)
    used = ports_in_use(tables.across.headers)
    port = _ports(tables, planned, chosen, np.flatnonzero(moves), used)
    learnt = np.isin(np.arange(size), sorted(tables.hashes))
    blind: Bool = np.logical_or.reduce(chosen & ~learnt[tail[planned]], axis=1)
    unknown = np.unique(tail[planned[chosen]])
    src, dst = (tables.across.headers[name][tables.elephants].tolist() for name in ("src_addr", "dst_addr"))
    jobs, owned = [job.id for job in report.jobs], tables.folded.job == tables.owner[:, None]
    sent = np.where(owned, tables.demand.bytes, 0.0).sum(axis=1)
    made = []
    for n in range(len(planned)):
        action: Action = "keep" if not moves[n] else "set" if port[n] != NONE else "try" if blind[n] else "none"
        tries = ports_to_try(int(doors[n].prod()), used[src[n], dst[n]]) if action == "try" else ()
        made.append(
            _connection(tables, jobs, n, round(float(sent[n])), (now[n], planned[n]), action, int(port[n]), tries)
        )
    return tuple(made), tuple(tables.cables.switches[n] for n in unknown.tolist() if not learnt[n])


def _ports(tables: PlanTables, planned: Int, chosen: Bool, moves: Int, used: PortsInUse) -> Int:
    headers = {name: values[tables.elephants[moves]] for name, values in tables.across.headers.items()}
    port = np.full(len(planned), NONE)
    port[moves] = choose_ports(headers, planned[moves], chosen[moves], tables.cables.tail, tables.hashes, used)
    return port


def _connection(
    tables: PlanTables, jobs: list[str], n: int, sent: int, hops: tuple[Int, Int], action: Action, port: int,
    tries: tuple[int, ...],
) -> PlannedConnection:  # fmt: skip
    row, table = int(tables.across.rows[tables.elephants[n]]), tables.found.table
    now, planned = (tuple(tables.port(cable) for cable in one.tolist() if cable != NONE) for one in hops)
    return PlannedConnection(
        job=jobs[int(tables.owner[n])],
        src_addr=tables.found.addresses[table["src_addr"][row]],
        dst_addr=tables.found.addresses[table["dst_addr"][row]],
        src_port=int(table["src_port"][row]),
        queue_pairs=int(table["queue_pairs"][row]),
        dst_qp=int(table["dst_qp"][row]) if table["dst_qp"][row] >= 0 else None,
        bytes=sent,
        now=now or None,
        planned=planned,
        action=action,
        new_src_port=port if action == "set" else None,
        try_src_ports=tries,
    )
