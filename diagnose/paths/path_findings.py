"""Collisions of long connections -> findings, where a plan would save enough of the iteration time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.reconstructed.streams import Float
from datamodel.reports.findings import Evidence, Finding, Subject
from datamodel.reports.path_plan import Collision, JobPaths
from datamodel.reports.report import JobReport, Report
from diagnose.finding_text import finding_id
from diagnose.paths.path_options import COLLISION, PATHS
from diagnose.paths.placing.placement import Demand, bound_s
from diagnose.paths.plan_tables import PlanTables

ONE_PORT = "one_source_port"
_SHOWN = 3


def gain_ratio(tables: PlanTables, number: int, after_s: Float) -> float:
    """Share of a job's iteration time that is saved at most where the slowest cable of each phase takes (phases,) s."""
    period_s, own = float(tables.times.period_s[number]), tables.folded.job == number
    if not period_s:
        return 0.0
    after = np.where(own, 0.0, tables.planned.slowest_s)
    after[own] = after_s
    return float(tables.times.saved_s(tables.folded, tables.before.slowest_s, after)[own].sum()) / period_s


def path_findings(
    tables: PlanTables,
    report: Report,
    number: int,
    hosts: Mapping[str, str],
    paths: JobPaths,
    collisions: Sequence[Collision],
) -> list[Finding]:
    """What a job's paths cost: cables that are shared, and queue pairs that share a source port.

    The fabric works as it was built, so that either is worth knowing and nothing to wake up for.

    Args:
        tables: of the plan.
        report: of the window; a cable that it names for the job already is not named again.
        number: of the job.
        hosts: by address.
        paths: of the job.
        collisions: of all jobs.
    """
    job = report.jobs[number]
    own = [c for c in collisions if c.job == job.id]
    found = _one_port(tables, report, number, hosts)
    named = any(f.job == job.id and f.cause == COLLISION for f in report.findings)
    if paths.gain_ratio >= PATHS.gain_ratio and own and not named:
        found.append(_collision(report, job, paths, own))
    return found


def _collision(report: Report, job: JobReport, paths: JobPaths, own: Sequence[Collision]) -> Finding:
    """The cable that holds the job up most."""
    worst = max(own, key=lambda c: (c.now_s - c.best_s, c.link[0].switch, c.link[0].port or 0))
    (a, b), window = worst.link, (report.window.start_ns, report.window.end_ns)
    subject = Subject(type="link", ids=(a.switch, b.switch), a_port=a.port, b_port=b.port)
    evidence = Evidence(
        metric="time the cable needs for a phase", value=worst.now_s, baseline=worst.best_s, unit="s",
        where=f"{a.switch} - {b.switch}", window_ns=window,
    )  # fmt: skip
    return Finding(
        id=finding_id(job.id, "slow_uplink", subject.identity, window[0]),
        job=job.id,
        kind="slow_uplink",
        cause=COLLISION,
        severity="info",
        start_ns=window[0],
        end_ns=None,
        confidence=round(paths.known_ratio, 4),
        slowdown_ratio=_slowdown_ratio(paths.gain_ratio),
        subject=subject,
        evidence=(evidence,),
        summary=f"{len(worst.elephants)} long connections of {job.label or job.id} share {a.switch} - {b.switch} "
        f"although other cables have room: up to {paths.gain_ratio:.0%} of the iteration time.",
        action="Set the source ports of `flowprism plan paths`.",
    )


def _one_port(tables: PlanTables, report: Report, number: int, hosts: Mapping[str, str]) -> list[Finding]:
    """Hosts whose queue pairs share source ports, where ports of their own would save enough.

    What would be saved follows from the bound on placements of single queue pairs.
    """
    job, mine = report.jobs[number], tables.owner == number
    phase = np.flatnonzero(tables.folded.job == number)
    alone = tables.alone(mine, phase)
    rows = tables.across.rows[tables.elephants[mine]]
    pairs = np.maximum(tables.found.table["queue_pairs"][rows].astype(np.int64), 1)
    if not (pairs > 1).any():
        return []
    split = Demand(
        np.repeat(alone.pair, pairs), np.repeat(alone.bytes / pairs[:, None], pairs, axis=0),
        np.repeat(alone.own, pairs, axis=0), alone.fixed_s,
    )  # fmt: skip
    best_s = bound_s(split, tables.routes, tables.cables)
    saved = gain_ratio(tables, number, best_s)
    if saved < PATHS.gain_ratio:
        return []
    sharing = tables.found.table["src_addr"][rows[pairs > 1]].tolist()
    names = sorted({hosts.get(address, address) for address in (tables.found.addresses[n] for n in sharing)})
    window, shown = (report.window.start_ns, report.window.end_ns), ", ".join(names[:_SHOWN])
    evidence = Evidence(
        metric="queue pairs of one source port", value=float(pairs.max()), baseline=1.0, unit="queue pairs",
        where=shown, window_ns=window,
    )  # fmt: skip
    return [
        Finding(
            id=finding_id(job.id, "slow_uplink", tuple(names), window[0]),
            job=job.id,
            kind="slow_uplink",
            cause=ONE_PORT,
            severity="info",
            start_ns=window[0],
            end_ns=None,
            confidence=1.0,
            slowdown_ratio=_slowdown_ratio(saved),
            subject=Subject(type="host", ids=tuple(names)),
            evidence=(evidence,),
            summary=f"Queue pairs of {shown}{' and others' if len(names) > _SHOWN else ''} share one source port, and "
            f"so one path: ports of their own save up to {saved:.0%} of the iteration time of {job.label or job.id}.",
            action="Give each queue pair a source port: HCCL_RDMA_QP_PORT_CONFIG_PATH on Ascend; with mlx5 a flow "
            "label of 0, by which ports follow from queue pair numbers, or `mlx5dv_modify_qp_udp_sport`.",
        )
    ]


def _slowdown_ratio(saved: float) -> float:
    return round(1 / (1 - min(saved, 0.99)), 4)
