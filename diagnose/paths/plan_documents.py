"""A plan's arrays -> its document: jobs, collisions, balance, ports of connections and findings."""

from __future__ import annotations

import numpy as np

from datamodel.findings import Evidence, Finding, Subject
from datamodel.path_plan import (
    Collision,
    JobPaths,
    LearntHash,
    PathPlan,
    PhaseLoad,
    UplinkBalance,
)
from datamodel.report import JobReport, Report
from datamodel.streams import Int
from diagnose.finding_text import finding_id, severity
from diagnose.paths.path_options import PATHS
from diagnose.paths.plan_tables import PlanTables
from diagnose.paths.planned_connections import planned_connections
from diagnose.paths.queue_pairs import queue_pairs_needed
from diagnose.paths.shortest_routes import NONE


def documents(tables: PlanTables, report: Report, hashes: tuple[LearntHash, ...], notes: tuple[str, ...]) -> PathPlan:
    """The document of a plan."""
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
        unknown_hashes=unknown,
        connections=connections,
        findings=tuple(f for n in jobs for f in _findings(report, report.jobs[n], paths[n], collisions)),
    )


def _job(tables: PlanTables, job: JobReport, number: int) -> JobPaths:
    own, folded = tables.members[number], tables.folded
    phase = np.flatnonzero(folded.job == number)
    sent = folded.bytes[own][:, phase].sum(axis=1)
    known = tables.now.known()[own] != NONE
    before, after = tables.before.slowest_s[phase], tables.planned.slowest_s[phase]
    period_s = float(np.median([s.end_ns - s.start_ns for s in job.iterations])) / 1e9 if job.iterations else 0.0
    length_s = (folded.end - folded.begin)[phase] * period_s
    saved_s = float(np.clip(before - after, 0, np.maximum(length_s - after, 0)).sum())
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
        gain_ratio=round(saved_s / period_s, 4) if period_s else 0.0,
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
            sent = tables.demand.bytes[there, p] / tables.cables.bytes_per_s[cable]
            own = there[sent >= PATHS.long_share * load[cable]]
            if len(own) < 2:
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
    """The most loaded of the cables by which a job's elephants leave a switch over their mean, now and planned."""
    mine = np.flatnonzero(tables.owner == number)
    sent = tables.demand.bytes[mine][:, tables.folded.job == number].sum(axis=1)
    switch = tables.across.pairs[tables.demand.pair[mine], 0]
    doors = np.unique(tables.across.routes.cables[:, 0])
    loads = []
    for hops in (tables.hops_now()[mine], tables.hops_planned()[mine]):
        known = hops[:, 0] != NONE
        loads.append(np.bincount(hops[known, 0], sent[known], len(tables.cables.tail)))
    found = []
    for one in np.unique(switch).tolist():
        uplinks = doors[tables.cables.tail[doors] == one]
        most = [round(float(own.max() / own.mean()), 4) if own.any() else 0.0 for own in (n[uplinks] for n in loads)]
        found.append(UplinkBalance(job=job, switch=tables.cables.switches[one], now=most[0], planned=most[1]))
    return found


def _shared_ports(tables: PlanTables) -> tuple[str, ...]:
    """The remark that queue pairs of one sender and receiver share a source port, and so a path."""
    many = np.flatnonzero(tables.found.table["queue_pairs"][tables.across.rows[tables.elephants]] > 1)
    if not len(many):
        return ()
    shown = tables.name(int(many[0]))
    some = f"{len(many)} long connections (such as {shown})"
    return (f"{some} are several queue pairs of one source port, and so of one path: give each a port of its own",)


def _findings(report: Report, job: JobReport, paths: JobPaths, collisions: list[Collision]) -> list[Finding]:
    """A slow uplink for shared cables, if the plan saves enough and the report has none of that cause for the job."""
    own = [c for c in collisions if c.job == job.id]
    named = any(f.job == job.id and f.cause == "ecmp_collision" for f in report.findings)
    if paths.gain_ratio < PATHS.gain_ratio or not own or named:
        return []
    worst = max(own, key=lambda c: (c.now_s - c.best_s, c.link[0].switch, c.link[0].port or 0))
    (a, b), ratio = worst.link, 1 / (1 - min(paths.gain_ratio, 0.99))
    window = (report.window.start_ns, report.window.end_ns)
    evidence = Evidence(
        metric="time the cable needs for a phase", value=worst.now_s, baseline=worst.best_s, unit="s",
        where=f"{a.switch} - {b.switch}", window_ns=window,
    )  # fmt: skip
    return [
        Finding(
            id=finding_id(job.id, "slow_uplink", (a.switch, b.switch), window[0]),
            job=job.id,
            kind="slow_uplink",
            cause="ecmp_collision",
            severity=severity(ratio),
            start_ns=window[0],
            end_ns=None,
            confidence=round(paths.known_ratio, 4),
            slowdown_ratio=round(ratio, 4),
            subject=Subject(type="link", ids=(a.switch, b.switch), a_port=a.port, b_port=b.port),
            evidence=(evidence,),
            summary=f"{len(worst.elephants)} long connections of {job.label or job.id} share {a.switch} - {b.switch} "
            f"although other cables have room: up to {paths.gain_ratio:.0%} of the iteration time.",
            action="Set the source ports of `flowprism plan paths`.",
        )
    ]
