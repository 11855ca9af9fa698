"""Rollups of jobs per minute: iterations, bytes and findings of the minutes that a window covers wholly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.durations import MINUTE_NS
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Finding
from datamodel.reports.report import JobReport
from datamodel.service.result_rows import Rollup
from flowprism.analysis.scan_verdict import SEVERITIES

_RECEIVED = SPAN_NAMES.index("pp_recv")  # the sender's span has the same bytes


def minutes(analysis: Analysis, whole: frozenset[str]) -> list[Rollup]:
    """Compute the rollups of the minutes that the window covers wholly, for each of its jobs.

    Windows overlap, so a later one computes a minute again: the same, or with more findings that started in it. The
    first iteration of a window may have started before it; where its start is unknown, minutes count from its end.

    Args:
        analysis: of a window; its report has the window's bounds.
        whole: ids of jobs whose first iteration in the window is known to be whole.
    """
    window = analysis.report.window
    first = -(-window.start_ns // MINUTE_NS)
    starts: Int = np.arange(first, window.end_ns // MINUTE_NS, dtype=np.int64) * MINUTE_NS
    moved = _bytes(analysis, starts)
    found: list[Rollup] = []
    for job in analysis.report.jobs:
        findings = [finding for finding in analysis.report.findings if finding.job == job.id]
        since_ns = window.start_ns if job.id in whole or not job.iterations else job.iterations[0].end_ns
        found += _of_job(job, findings, starts, since_ns, moved.get(job.id))
    return found


def _of_job(job: JobReport, findings: Sequence[Finding], starts: Int, since_ns: int, moved: Int | None) -> list[Rollup]:
    ends = np.array([one.end_ns for one in job.iterations], np.int64)
    lengths = np.array([one.end_ns - one.start_ns for one in job.iterations], np.int64)
    at = np.searchsorted(starts, ends, "right") - 1
    found: list[Rollup] = []
    for n, start_ns in enumerate(starts.tolist()):
        if start_ns < since_ns:
            continue
        own = lengths[(at == n) & (ends < start_ns + MINUTE_NS)]
        on = [f for f in findings if f.start_ns < start_ns + MINUTE_NS and (f.end_ns is None or f.end_ns > start_ns)]
        found.append(
            Rollup(
                job=job.id,
                start_ns=start_ns,
                length_ns=MINUTE_NS,
                iterations=len(own),
                iteration_ns=int(own.sum()),
                shortest_ns=int(own.min()) if len(own) else 0,
                longest_ns=int(own.max(initial=0)),
                bytes=0 if moved is None else int(moved[n]),
                worst_slowdown_ratio=max((f.slowdown_ratio for f in on), default=1.0),
                worst_severity=max((f.severity for f in on), key=SEVERITIES.index, default=None),
            )
        )
    return found


def _bytes(analysis: Analysis, starts: Int) -> dict[str, Int]:
    """Job -> bytes of the spans that ended in each minute."""
    spans = analysis.timelines.spans
    if not len(spans) or not len(starts):
        return {}
    at = (spans["end_ns"] - starts[0]) // MINUTE_NS
    inside = (at >= 0) & (at < len(starts)) & (spans["span"] != _RECEIVED)
    cell = spans["job"].astype(np.int64) * len(starts) + at
    jobs = analysis.timelines.jobs
    # Exact below 2^53, more bytes than a job moves in a window.
    sums = np.bincount(cell[inside], spans["bytes"][inside], len(jobs) * len(starts)).astype(np.int64)
    return dict(zip(jobs, sums.reshape(len(jobs), len(starts)), strict=True))
