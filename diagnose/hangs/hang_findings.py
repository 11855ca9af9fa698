"""A hang as a finding."""

from __future__ import annotations

from datamodel.reports.findings import Evidence, Finding, Subject, Suspect
from diagnose.finding_text import finding_id, listed
from diagnose.hangs.hang_detection import Hang
from diagnose.job_view import JobView
from diagnose.options import MODEL


def hang_finding(job: JobView, hang: Hang) -> Finding:
    """Describe a job that stopped inside an iteration, and who did not go on.

    The slowdown is what the silence adds to the iteration that never ended, so far.
    """
    names = job.names(hang.culprits)
    hosts = sorted({job.fabric.host[e] for e in hang.culprits if e in job.fabric.host})
    together = len(names) > 1
    subject = Subject(type="group", ids=names, group="tp") if together else Subject(type="endpoint", ids=names)
    if together and tuple(sorted(hang.culprits)) != tuple(sorted(job.tensor_group(hang.culprits[0]))):
        subject = Subject(type="group", ids=names, group=None)
    stuck = "in the middle of sending" if hang.sending else "before sending"
    where = listed(names) + (f" on {listed(tuple(hosts))}" if hosts else "")
    ratio = (job.period_ns + hang.silent_ns) / job.period_ns
    return Finding(
        id=finding_id(job.id, "hang", names, hang.since_ns),
        job=job.id,
        kind="hang",
        cause="communication" if hang.sending else "compute",
        severity="critical",
        start_ns=hang.since_ns,
        end_ns=None,
        confidence=round(MODEL.most_confidence / len(_parts(job, hang)), 4),
        slowdown_ratio=round(ratio, 4),
        subject=subject,
        suspects=_suspects(job, hang) if together else (),
        evidence=(
            Evidence(
                metric="silence since the last byte",
                value=round(hang.silent_ns / 1e9, 3),
                baseline=round(job.period_ns / 1e9, 6),
                unit="s",
                where=job.id,
                window_ns=(hang.since_ns, hang.since_ns + hang.silent_ns),
            ),
            Evidence(
                metric="operations of the iteration that did not happen",
                value=float(hang.missing),
                baseline=0.0,
                unit="",
                where=f"iteration {hang.iteration}",
                window_ns=(int(job.edges_ns[-1]), hang.since_ns + hang.silent_ns),
            ),
        ),
        summary=f"The job hangs in iteration {hang.iteration}: {where} fell silent first, {stuck} what was next; "
        f"{hang.missing} operations wait. Nothing has moved for {hang.silent_ns / 1e9:.0f} s.",
        action="Take stack traces on that host before restarting the job; look for a stopped process, "
        "a GPU that fell off the bus, or a crashed rank.",
    )


def _parts(job: JobView, hang: Hang) -> list[tuple[int, ...]]:
    """What may have stopped first: tensor groups, each of which stops as one, or endpoints."""
    groups = sorted({tuple(sorted(job.tensor_group(e))) for e in hang.culprits})
    return groups if all(set(g) <= set(hang.culprits) for g in groups) else [(e,) for e in hang.culprits]


def _suspects(job: JobView, hang: Hang) -> tuple[Suspect, ...]:
    """Each tensor group among the culprits; the endpoints where there is but one such group."""
    parts = _parts(job, hang)
    parts = parts if len(parts) > 1 else [(e,) for e in hang.culprits]
    return tuple(
        Suspect(type="group" if len(p) > 1 else "endpoint", ids=job.names(p), probability=round(1 / len(parts), 4))
        for p in parts
    )
