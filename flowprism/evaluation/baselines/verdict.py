"""What a published method says of a job, and that as a report, so that it is marked like ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Finding, Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, Iteration, JobReport, Provenance, Report, Window


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something slow: the job (ids None), a group (address codes) or a switch (its name), from when to when."""

    type: str
    ids: tuple[int, ...] | str | None
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """A job as a method sees it: endpoint codes, sizes, groups by kind, ends of its steps, anomalies."""

    members: Int
    sizes: dict[str, int | None]
    groups: dict[str, Sequence[Int]]
    ends_ns: Int
    anomalies: list[Anomaly]


def as_report(verdicts: Sequence[JobVerdict], addresses: tuple[str, ...]) -> Report:
    """A report of them. No method names a kind of fault: all are called regressions, and the kind is not marked."""
    jobs = [_job(f"b{n}", v, addresses) for n, v in enumerate(verdicts)]
    findings = [_finding(f"b{n}", a, addresses) for n, v in enumerate(verdicts) for a in v.anomalies]
    return Report(
        provenance=Provenance(version=""),
        window=Window(start_ns=0, end_ns=0),
        feed=FeedSummary(records=0, bytes=0),
        jobs=tuple(jobs),
        findings=tuple(findings),
    )


def _job(name: str, verdict: JobVerdict, addresses: tuple[str, ...]) -> JobReport:
    named = {kind: tuple(tuple(addresses[e] for e in g) for g in groups) for kind, groups in verdict.groups.items()}
    ends = verdict.ends_ns.tolist()
    return JobReport(
        id=name,
        endpoints=tuple(addresses[e] for e in verdict.members),
        layout=Layout.model_validate(verdict.sizes),
        groups=Groups.model_validate(named),
        iterations=tuple(Iteration(index=n, start_ns=e, end_ns=e) for n, e in enumerate(ends)),
        detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )


def _finding(job: str, anomaly: Anomaly, addresses: tuple[str, ...]) -> Finding:
    ids = (job,) if anomaly.ids is None else (anomaly.ids,) if isinstance(anomaly.ids, str) else anomaly.ids
    subject = Subject.model_validate(
        {"type": anomaly.type, "ids": tuple(addresses[i] if isinstance(i, int) else i for i in ids)}
    )
    return Finding(
        id=f"{job}-{anomaly.type}-{anomaly.start_ns}",
        job=job,
        kind="regression",
        severity="warning",
        start_ns=anomaly.start_ns,
        end_ns=anomaly.end_ns,
        confidence=1.0,
        slowdown_ratio=1.0,
        subject=subject,
        summary="",
        action="",
    )
