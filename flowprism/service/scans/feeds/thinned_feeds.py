"""A finding about windows whose flow samples a collector that could not keep up stored only in part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.durations import HOUR_NS
from datamodel.reports.findings import Evidence, Finding, Subject
from datamodel.reports.report import Window
from datamodel.service.result_rows import FeedStatistics
from diagnose.finding_text import finding_id, listed
from flowprism.service.scans.window_analysis import WindowResult
from storage.database.connection import Database
from storage.database.feed_statistics import feed_statistics

_MOST_EVIDENCE = 12
_CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class _Thinned:
    """What was left out of one exporter's flow samples, how many were stored, and in which stretch of time."""

    left_out: int
    stored: int
    start_ns: int
    end_ns: int

    @property
    def share(self) -> float:
        return self.left_out / (self.left_out + self.stored)


def add_thinned_feeds(database: Database, result: WindowResult, window: Window) -> WindowResult:
    """Add a finding where flow samples of the window were thinned out. Findings about jobs stay as they are.

    Args:
        database: the results, statistics of exporters among them.
        result: result of the window.
        window: the time range that was analyzed.

    Raises:
        StorageError: the database cannot be reached.
    """
    rows = feed_statistics(database, window.start_ns - HOUR_NS, window.end_ns)
    thinned = _thinned(row for row in rows if row.start_ns + row.length_ns > window.start_ns)
    if not thinned or result.analysis is None:
        return result
    findings = (*result.report.findings, _finding(thinned, window))
    report = result.report.model_copy(update={"findings": findings})
    return replace(result, analysis=replace(result.analysis, report=report), report=report)


def _thinned(rows: Iterable[FeedStatistics]) -> dict[str, _Thinned]:
    """By exporter, from the stretches of time in which samples were left out."""
    found: dict[str, _Thinned] = {}
    for row in rows:
        left_out, end_ns = row.rejected.get(THINNED_SAMPLES, 0), row.start_ns + row.length_ns
        if left_out:
            before = found.get(row.exporter, _Thinned(0, 0, row.start_ns, end_ns))
            found[row.exporter] = _Thinned(
                before.left_out + left_out,
                before.stored + row.records,
                min(before.start_ns, row.start_ns),
                max(before.end_ns, end_ns),
            )
    return found


def _finding(thinned: dict[str, _Thinned], window: Window) -> Finding:
    start_ns = max(min(one.start_ns for one in thinned.values()), window.start_ns)
    end_ns = max(one.end_ns for one in thinned.values())
    agents = tuple(sorted({exporter.rpartition("/")[0] for exporter in thinned}))
    largest = sorted(thinned.items(), key=lambda item: (-item[1].share, item[0]))
    worst = largest[0][1].share
    return Finding(
        id=finding_id("feed", "thinning", agents, start_ns),
        job=None,
        kind="feed",
        cause="thinning",
        severity="info",
        start_ns=start_ns,
        end_ns=None if end_ns >= window.end_ns else end_ns,
        confidence=_CONFIDENCE,
        slowdown_ratio=1.0,
        subject=Subject(type="switch", ids=agents),
        evidence=tuple(
            Evidence(
                metric="share of flow samples thinned out",
                value=round(one.share, 6),
                baseline=0.0,
                unit="",
                where=exporter,
                window_ns=(start_ns, min(one.end_ns, window.end_ns)),
            )
            for exporter, one in largest[:_MOST_EVIDENCE]
        ),
        summary=(
            f"The collector could not keep up and left out up to {100 * worst:.0f} % of the flow samples of "
            f"{listed(agents)}. The others' sampling rates were multiplied: volumes are right, their errors are larger."
        ),
        action="Add workers (collect.workers) or a collector, or have the switches sample less often.",
    )
