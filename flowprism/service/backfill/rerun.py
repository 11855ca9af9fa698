"""Past windows of a policy, analyzed again one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from datamodel.errors import FlowprismError
from datamodel.reports.report import Window
from datamodel.service.result_rows import LayoutRecord, ScanRecord
from flowprism.service.backfill.scan_diff import Difference, differences
from flowprism.service.config.settings import Policy, Settings
from flowprism.service.incidents.scan_recorder import CompletedScan, record_requested_scan
from flowprism.service.scans.feeds.feed_gaps import add_feed_gaps
from flowprism.service.scans.feeds.thinned_feeds import add_thinned_feeds
from flowprism.service.scans.job_identity import assign_stable_ids, renamed
from flowprism.service.scans.scanner import judge_window
from flowprism.service.scans.window_analysis import WindowResult, analyze_window
from flowprism.service.scans.window_continuity import known_jobs
from storage.database.connection import Database
from storage.database.scans.scan_records import layouts, scans

_PAGE = 200


@dataclass(frozen=True, slots=True)
class RerunWindow:
    """One window that was analyzed again.

    Attributes:
        window: which one.
        differences: from what was kept of it.
        was_kept: whether there was something to compare with.
        filled: nothing was kept of it, and now the verdict is.
        problem: why it cannot be compared; empty where it can.
    """

    window: Window
    differences: tuple[Difference, ...] = ()
    was_kept: bool = True
    filled: bool = False
    problem: str = ""


def rerun_windows(
    settings: Settings, database: Database, policy: Policy, from_ns: int, until_ns: int, *, fill: bool
) -> Iterator[RerunWindow]:
    """A policy's windows that end in [from_ns, until_ns], in order of time, each analyzed with today's code.

    Args:
        settings: of the lake, the inventory and the workers.
        database: the results.
        policy: whose windows.
        from_ns: the first end of a window, UTC.
        until_ns: the last one.
        fill: keep the verdict of windows that were never scanned. Nothing else that is kept is ever changed.

    Raises:
        StorageError: the database cannot be reached.
    """
    kept = _kept(database, policy.name, from_ns, until_ns)
    every_ns, length_ns = round(policy.every_s * 1e9), round(policy.window_s * 1e9)
    ends = {n * every_ns for n in range(-(-from_ns // every_ns), until_ns // every_ns + 1)}
    for end_ns in sorted(ends | kept.keys()):
        then = kept.get(end_ns)
        window = Window(start_ns=end_ns - length_ns, end_ns=end_ns) if then is None else then.scan.window
        started_ns = time.time_ns()
        try:
            sight = analyze_window(settings, database, window)
            sight = add_feed_gaps(database, settings.store.flow_lake, sight, window)
            sight = add_thinned_feeds(database, sight, window)
        except FlowprismError as error:
            yield RerunWindow(window, was_kept=then is not None, problem=str(error))
            continue
        if then is not None:
            yield _compared(database, policy, then, sight)
        else:
            yield _new(database, policy, sight, started_ns, fill=fill)


def _kept(database: Database, policy: str, from_ns: int, until_ns: int) -> dict[int, ScanRecord]:
    found: dict[int, ScanRecord] = {}
    before_ns = until_ns + 1
    while page := scans(database, policy, before_ns, _PAGE):
        found |= {one.scan.window.end_ns: one for one in page if one.scan.window.end_ns >= from_ns}
        before_ns = page[-1].scan.window.end_ns
        if before_ns < from_ns:
            break
    return found


def _compared(database: Database, policy: Policy, then: ScanRecord, sight: WindowResult) -> RerunWindow:
    """What differs. Of a window whose records have gone since nothing can be said."""
    window, wanted = then.scan.window, then.scan.feed.records
    if sight.report.feed.records < wanted:
        return RerunWindow(window, problem=f"the lake has {sight.report.feed.records:,} of its {wanted:,} records left")
    if sight.analysis is None:
        return RerunWindow(window, problem=sight.problem)
    known = [job for job in known_jobs(database, window.end_ns) if job.first_seen_ns <= window.end_ns]
    analysis = renamed(sight.analysis, assign_stable_ids(sight.report.jobs, known, window.end_ns))
    now = judge_window(analysis.report, policy, sight)
    reports = {job.id: job for job in analysis.report.jobs}
    in_force = {name: one for name in reports if (one := _in_force(database, name, window.end_ns)) is not None}
    return RerunWindow(window, tuple(differences(then.scan, now, in_force, reports)))


def _in_force(database: Database, job: str, at_ns: int) -> LayoutRecord | None:
    return next((one for one in layouts(database, job) if one.since_ns <= at_ns), None)


def _new(database: Database, policy: Policy, sight: WindowResult, started_ns: int, *, fill: bool) -> RerunWindow:
    """Scan a window for the first time; its verdict is stored on request if there were records."""
    window = sight.report.window
    if sight.analysis is None or not sight.report.feed.records:
        return RerunWindow(window, was_kept=False, problem=sight.problem or "the lake has no records of it")
    known = known_jobs(database, window.end_ns)
    report = renamed(sight.analysis, assign_stable_ids(sight.report.jobs, known, window.end_ns)).report
    made = CompletedScan(policy.name, started_ns, time.time_ns(), report, judge_window(report, policy, sight))
    return RerunWindow(window, was_kept=False, filled=fill and record_requested_scan(database, made))
