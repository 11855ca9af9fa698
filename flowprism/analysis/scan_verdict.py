"""Converts a report to verdicts: each job is healthy, has findings, or is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from datamodel.reports.findings import Finding, Severity
from datamodel.reports.report import JobReport, Report
from datamodel.reports.scan import JobScan, Scan, Verdict

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")


_NO_DOUBT: Mapping[str, str] = {}


def judge_report(
    report: Report,
    expected: Sequence[str] = (),
    at_least: Severity = "warning",
    doubts: Mapping[str, str] = _NO_DOUBT,
) -> Scan:
    """Judge a report.

    Args:
        report: of the window that is scanned.
        expected: labels or ids of the jobs to judge; empty for all there are. One that is not seen is unknown.
        at_least: findings of a lower severity are reported but do not count.
        doubts: job id -> why the report on it is not trusted; its verdict is then unknown.
    """
    jobs = _judged(report, expected, at_least, doubts)
    general = tuple(f for f in report.findings if f.job is None)
    reasons: tuple[str, ...] = () if jobs else ("no training job was recognised", *report.unassigned)
    if jobs and all(job.id in doubts for job in jobs):
        reasons = tuple(dict.fromkeys(reason for job in jobs for reason in job.reasons))
    verdicts = [job.verdict for job in jobs]
    if _loud(general, at_least):
        verdicts.append("findings")
    if not jobs:
        verdicts.append("unknown")
    return Scan(
        verdict=_worst(verdicts),
        window=report.window,
        feed=report.feed,
        jobs=jobs,
        serving=report.serving,
        reasons=reasons,
        findings=general,
    )


def _judged(
    report: Report, expected: Sequence[str], at_least: Severity, doubts: Mapping[str, str]
) -> tuple[JobScan, ...]:
    if not expected:
        return tuple(_job(report, job, at_least, doubts) for job in report.jobs)
    judged: list[JobScan] = []
    for name in dict.fromkeys(expected):
        seen = [job for job in report.jobs if name in {job.id, job.label}]
        judged += [_job(report, job, at_least, doubts) for job in seen] or [_missing(name)]
    return tuple(judged)


def _missing(name: str) -> JobScan:
    return JobScan(id=None, label=name, verdict="unknown", reasons=("no traffic of this job was recognised",))


def _job(report: Report, job: JobReport, at_least: Severity, doubts: Mapping[str, str]) -> JobScan:
    findings = tuple(f for f in report.findings if f.job == job.id and job.id not in doubts)
    smallest = None if job.id in doubts else job.detectability.smallest_slowdown_ratio
    reasons = (doubts[job.id],) if job.id in doubts else job.detectability.reasons
    verdict: Verdict = "findings" if _loud(findings, at_least) else "unknown" if smallest is None else "healthy"
    return JobScan(
        id=job.id,
        label=job.label,
        tenant=job.tenant,
        verdict=verdict,
        hosts=job.hosts,
        endpoints=len(job.endpoints),
        iterations=len(job.iterations),
        period_s=job.period_s,
        smallest_slowdown_ratio=smallest,
        reasons=reasons if verdict == "unknown" else (),
        post_training=job.post_training,
        training_time=None if job.id in doubts else job.training_time,
        findings=findings,
    )


def _loud(findings: Iterable[Finding], at_least: Severity) -> bool:
    least = SEVERITIES.index(at_least)
    return any(SEVERITIES.index(finding.severity) >= least for finding in findings)


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("healthy", "unknown", "findings")
    return max(verdicts, key=order.index)
