"""Two scans of one window, then and now: where verdicts, jobs, layouts, groups, iterations and findings differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from datamodel.reports.findings import Finding
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import JobReport
from datamodel.reports.scan import JobScan, Scan
from datamodel.service.result_rows import LayoutRecord
from flowprism.rendering.phrases import sharding, sizes

# Figures that differ by less are the same in practice; severities begin at a 5 % slower iteration.
SAME_RATIO = 0.01
_NOTHING = "not seen"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two scans of a window.

    Attributes:
        what: verdict, job, layout, groups, iterations, period or finding.
        job: id of the job it is about; None for the scan, and for findings of no job.
        then, now: the old and the new value, as text.
    """

    what: str
    job: str | None
    then: str
    now: str


def differences(
    then: Scan, now: Scan, layouts: Mapping[str, LayoutRecord], reports: Mapping[str, JobReport]
) -> list[Difference]:
    """Where two scans of one window differ, in order of jobs.

    Args:
        then: the scan that was kept.
        now: of today's code, with the names that jobs had then.
        layouts: job -> layout that was kept and in force at the window's end.
        reports: job -> what today's code says of it.
    """
    found = [Difference("verdict", None, then.verdict, now.verdict)] if then.verdict != now.verdict else []
    jobs_then, jobs_now = _by_name(then), _by_name(now)
    for name in sorted(jobs_then.keys() | jobs_now.keys()):
        before, after = jobs_then.get(name), jobs_now.get(name)
        if before is None or after is None:
            found.append(Difference("job", name, _job(before), _job(after)))
            continue
        found += _of_job(name, before, after)
        if name in layouts and name in reports:
            found += _of_layout(name, layouts[name], reports[name])
        found += _of_findings(name, before.findings, after.findings)
    return [*found, *_of_findings(None, then.findings, now.findings)]


def _by_name(scan: Scan) -> dict[str, JobScan]:
    """Jobs that were seen; one that was expected and not seen has no traffic to be compared."""
    return {job.id: job for job in scan.jobs if job.id is not None}


def _job(job: JobScan | None) -> str:
    return _NOTHING if job is None else f"{job.endpoints} endpoints, {job.verdict}"


def _of_job(name: str, then: JobScan, now: JobScan) -> Iterator[Difference]:
    if (then.verdict, then.endpoints) != (now.verdict, now.endpoints):
        yield Difference("job", name, _job(then), _job(now))
    if then.iterations != now.iterations:
        yield Difference("iterations", name, str(then.iterations), str(now.iterations))
    if _apart(then.period_s, now.period_s):
        yield Difference("period", name, _seconds(then.period_s), _seconds(now.period_s))


def _of_layout(name: str, then: LayoutRecord, now: JobReport) -> Iterator[Difference]:
    if then.layout.answer != now.layout.answer:
        yield Difference("layout", name, _layout(then.layout), _layout(now.layout))
    elif _members(then.groups) != _members(now.groups):
        yield Difference("groups", name, _counts(then.groups), _counts(now.groups))


def _layout(layout: Layout) -> str:
    return ", ".join(said for said in (sizes(layout), sharding(layout)) if said)


def _members(groups: Groups) -> dict[str, set[tuple[str, ...]]]:
    return {kind: set(getattr(groups, kind)) for kind in Groups.model_fields}


def _counts(groups: Groups) -> str:
    said = [f"{len(getattr(groups, kind))} {kind}" for kind in Groups.model_fields if getattr(groups, kind)]
    return ", ".join(said) or "none"


def _of_findings(job: str | None, then: tuple[Finding, ...], now: tuple[Finding, ...]) -> Iterator[Difference]:
    before, after = _by_place(then), _by_place(now)
    for place in sorted(before.keys() | after.keys()):
        old, new = before.get(place), after.get(place)
        if old is None or new is None or not _alike(old, new):
            yield Difference("finding", job, _finding(old), _finding(new))


def _alike(then: Finding, now: Finding) -> bool:
    same = (then.severity, then.cause) == (now.severity, now.cause)
    return same and not _apart(then.slowdown_ratio, now.slowdown_ratio)


def _by_place(findings: tuple[Finding, ...]) -> dict[tuple[str, str, tuple[str, ...]], Finding]:
    return {(one.kind, one.subject.type, one.subject.ids): one for one in findings}


def _finding(one: Finding | None) -> str:
    if one is None:
        return "none"
    cause = f" ({one.cause})" if one.cause else ""
    where = f"{one.subject.type} {', '.join(one.subject.ids)}"
    return f"{one.severity} {one.kind}{cause} at {where}, {100 * (one.slowdown_ratio - 1):.0f} % slower"


def _apart(then: float | None, now: float | None) -> bool:
    if then is None or now is None:
        return then is not now
    return abs(then - now) > SAME_RATIO * max(abs(then), abs(now))


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g} s"
