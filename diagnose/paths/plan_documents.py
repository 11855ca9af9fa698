"""A plan's arrays -> its document: jobs, collisions, balance, ports of connections and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.findings import Finding
from datamodel.reports.path_plan import (
    Collision,
    CountedCable,
    JobPaths,
    LearntHash,
    PathPlan,
    PhaseLoad,
    UplinkBalance,
)
from datamodel.reports.report import JobReport, Report
from diagnose.paths.path_findings import gain_ratio, path_findings
from diagnose.paths.path_options import PATHS
from diagnose.paths.placing.queue_pairs import queue_pairs_needed
from diagnose.paths.plan_tables import PlanTables
from diagnose.paths.planned_connections import planned_connections
from diagnose.paths.shortest_routes import NONE


def documents(
    tables: PlanTables,
    report: Report,
    hosts: Mapping[str, str],
    hashes: tuple[LearntHash, ...],
    notes: tuple[str, ...],
    counted: tuple[CountedCable, ...],
    refuted: Sequence[Finding] = (),
) -> PathPlan:
    """The document of a plan; `hosts` by address, `refuted` findings of the report that full links explain."""
    jobs = [n for n in range(len(report.jobs)) if (tables.owner == n).any()]
    paths = {n: _job(tables, report.jobs[n], n) for n in jobs}
    collisions = [c for n in jobs for c in _collisions(tables, report.jobs[n], n)]
    connections, unknown = planned_connections(tables, report)
    return PathPlan(
        window=report.window,
        notes=(*notes, *_shared_ports(tables)),
        jobs=tuple(paths.values()),
        collisions=tuple(collisions),
        balance=tuple(b for n in jobs for b in _balance(tables, report.jobs[n].id, n)),
        hashes=hashes,
        left_out=tuple((tables.port(n), tables.port(n ^ 1)) for n in tables.left_out[::2]),
        unknown_hashes=unknown,
        counted=counted,
        connections=connections,
        findings=(*refuted, *(f for n in jobs for f in path_findings(tables, report, n, hosts, paths[n], collisions))),
    )


def _job(tables: PlanTables, job: JobReport, number: int) -> JobPaths:
    own, folded = tables.members[number], tables.folded
    phase = np.flatnonzero(folded.job == number)
    sent = folded.bytes[own][:, phase].sum(axis=1)
    known = tables.now.known()[own] != NONE
    before, after = tables.before.slowest_s[phase], tables.planned.slowest_s[phase]
    elephants = tables.owner == number
    mine = tables.alone(elephants, phase)
    return JobPaths(
        job=job.id,
        connections=int(own.sum()),
        elephants=int(elephants.sum()),
        known_ratio=round(float(sent[known].sum() / max(sent.sum(), 1)), 4),
        phases=tuple(
            PhaseLoad(
                begin_ratio=float(folded.begin[p]), end_ratio=float(folded.end[p]),
                now_s=round(float(b), 9), planned_s=round(float(a), 9),
            )
            for p, b, a in zip(phase.tolist(), before, after, strict=True)
        ),
        gain_ratio=round(gain_ratio(tables, number, after), 4),
        queue_pairs=queue_pairs_needed(mine, tables.routes, tables.cables, float(after.sum())),
    )  # fmt: skip


def _collisions(tables: PlanTables, job: JobReport, number: int) -> list[Collision]:
    """Cables with several elephants that are slower than any is under the plan."""
    found, folded = [], tables.folded
    passing = _passing(tables)
    for p in np.flatnonzero(folded.job == number).tolist():
        best_s = float(tables.planned.slowest_s[p])
        load = np.where(tables.before.carries[:, p], tables.before.load_s[:, p], 0.0)
        for cable in np.flatnonzero((load >= PATHS.collides_ratio * best_s) & (load > 0)).tolist():
            there = passing.get(cable, np.zeros(0, np.int64))
            sent = folded.bytes[tables.elephants[there], p] / tables.cables.bytes_per_s[cable]
            own = there[sent >= PATHS.long_share * load[cable]]
            if len(own) < 2 or not tables.demand.own[own, p].any():
                continue
            found.append(
                Collision(
                    job=job.id,
                    link=(tables.port(cable), tables.port(cable ^ 1)),
                    begin_ratio=float(folded.begin[p]),
                    end_ratio=float(folded.end[p]),
                    now_s=round(float(load[cable]), 9),
                    best_s=round(best_s, 9),
                    elephants=tuple(tables.name(n) for n in own.tolist()),
                )
            )
    return found


def _passing(tables: PlanTables) -> dict[int, Int]:
    """Elephants by the directed cable that they take now."""
    hops = tables.hops_now()
    who, place = np.nonzero(hops != NONE)
    cable = hops[who, place]
    order = np.argsort(cable, kind="stable")
    every, first = np.unique(cable[order], return_index=True)
    return dict(zip(every.tolist(), np.split(who[order], first[1:]), strict=False))


def _balance(tables: PlanTables, job: str, number: int) -> list[UplinkBalance]:
    """The most loaded of the cables by which a job's elephants leave a switch over their mean, now and planned.

    Switches are those of senders; ports of the senders themselves are none of their uplinks.
    """
    mine = np.flatnonzero(tables.owner == number)
    sent = tables.demand.bytes[mine][:, tables.folded.job == number].sum(axis=1)
    tail, leaving = tables.cables.tail, _leaving(tables)
    loads, switches = [], np.zeros(0, np.int64)
    for hops in (tables.hops_now()[mine], tables.hops_planned()[mine]):
        row, place = np.nonzero(leaving[hops] & (hops != NONE))
        loads.append(np.bincount(hops[row, place], sent[row], len(tail)))
        switches = np.union1d(switches, tail[hops[row, place]])
    found = []
    for one in switches.tolist():
        uplinks = np.flatnonzero(leaving & (tail == one))
        most = [round(float(own.max() / own.mean()), 4) if own.any() else 0.0 for own in (n[uplinks] for n in loads)]
        found.append(UplinkBalance(job=job, switch=tables.cables.switches[one], now=most[0], planned=most[1]))
    return found


def _leaving(tables: PlanTables) -> Bool:
    """(directions,) cables by which connections leave the switches of senders, but not to where they end."""
    hops, cables = tables.across.routes.cables, tables.cables
    found = np.zeros(len(cables.tail), np.bool_)
    if len(hops):
        found[hops[:, 0]] = True
        second = hops[cables.ends_here[cables.tail[hops[:, 0]]]][:, 1:2].ravel()
        found[second[second != NONE]] = True
    return np.asarray(found & cables.between_switches)


def _shared_ports(tables: PlanTables) -> tuple[str, ...]:
    """The remark that queue pairs of one sender and receiver share a source port, and so a path."""
    many = np.flatnonzero(tables.found.table["queue_pairs"][tables.across.rows[tables.elephants]] > 1)
    if not len(many):
        return ()
    shown = tables.name(int(many[0]))
    some = f"{len(many)} long connections (such as {shown})"
    return (f"{some} are several queue pairs of one source port, and so of one path: give each a port of its own",)
