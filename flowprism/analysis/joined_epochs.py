"""What samples show of one training before and after changes of its members: the results of all its epochs as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from datamodel.reports.findings import Finding
from datamodel.reports.layout import GROUP_KINDS, Groups
from datamodel.reports.report import JobReport
from diagnose.membership_events import change_event
from flowprism.analysis.job_analysis import JobResult
from flowprism.analysis.job_changes import CopiedChange
from flowprism.analysis.job_linking import joined_report, report_grid


def join_epochs(results: Sequence[JobResult], changes: Sequence[CopiedChange], addresses: Sequence[str]) -> JobResult:
    """The results under the last one's id, with the changes as events.

    A layout is one of places, not of machines: the one before a change holds after it where too few iterations follow
    to show one, unless the number of endpoints differs.

    Args:
        results: of each epoch, in order of time.
        changes: between them.
        addresses: address of each code.
    """
    joined = results[0]
    for change, after in zip(changes, results[1:], strict=True):
        joined = _joined(joined, change, after, addresses)
    return joined


def _joined(before: JobResult, change: CopiedChange, after: JobResult, addresses: Sequence[str]) -> JobResult:
    moved = change.change
    now = after.report
    if moved.kind != "elastic" and now.layout.dp is None:
        by_place = {addresses[old]: addresses[new] for new, old in moved.replaces.items()}
        now = _with_layout(now, before.report, by_place)
    report = joined_report(before.report, now)
    edges_ns = np.array([one.end_ns for one in report.iterations], np.int64)
    grid = report_grid(now, addresses)
    event = change_event(report.id, moved, change.state_bytes, edges_ns, grid)
    earlier = tuple(one.model_copy(update={"job": report.id}) for one in before.events)
    findings = (*_over(before.findings, report.id, moved.stopped_ns), *after.findings)
    return replace(after, report=report, findings=findings, events=(*earlier, event))


def _with_layout(now: JobReport, before: JobReport, by_place: Mapping[str, str]) -> JobReport:
    """A report with the layout that was known before; `by_place` are those who had a place, and who has it now."""
    groups = {
        kind: tuple(tuple(by_place.get(one, one) for one in group) for group in known)
        for kind in GROUP_KINDS
        if isinstance(known := getattr(before.groups, kind), tuple)
    }
    return now.model_copy(update={"layout": before.layout, "groups": Groups(**groups)})


def _over(findings: Sequence[Finding], job: str, until_ns: int) -> tuple[Finding, ...]:
    """Findings from before a change: what was still on ended with it, and what stood still then was no hang."""
    return tuple(
        one.model_copy(update={"job": job, "end_ns": until_ns if one.end_ns is None else one.end_ns})
        for one in findings
        if one.kind != "hang"
    )
