"""What the analysis of a window holds in memory, and what it knows from the window before."""

from __future__ import annotations

import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from datamodel.reports.layout import Layout
from datamodel.reports.report import Window
from datamodel.telemetry.ingest_result import IngestResult
from flowprism import pipeline
from flowprism.analysis.job_analysis import JobResult, JobTask, analyze_job
from flowprism.service.scans import window_analysis
from storage.database.scans.scan_records import jobs, layouts
from storage.lake.lake_reader import read_lake
from storage.lake.selection import Selection
from tests.flowprism.service.scans.feeding import Feed
from tests.flowprism.service.scans.test_scanner import MINUTE_NS, scanner, settings


def test_records_are_let_go_of_before_jobs_are_analyzed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large cluster, a window's records and all that is made of its jobs would be too much together."""
    begin_ns = (time.time_ns() // MINUTE_NS - 10) * MINUTE_NS
    Feed(tmp_path / "flows", begin_ns).write("hh")
    made = scanner(settings(tmp_path))
    columns: list[weakref.ref[Any]] = []
    held: list[bool] = []

    def reading(location: Path, selection: Selection) -> IngestResult:
        found = read_lake(location, selection)
        columns.append(weakref.ref(found.flows.frame["time_received_ns"]))
        return found

    def analyzing(task: JobTask) -> JobResult:
        held.append(columns[0]() is not None)
        return analyze_job(task)

    monkeypatch.setattr(window_analysis, "read_lake", reading)
    monkeypatch.setattr(pipeline, "analyze_job", analyzing)
    window = Window(start_ns=begin_ns, end_ns=begin_ns + 5 * MINUTE_NS)
    sight = window_analysis.analyze_window(made.settings, made.database, window)
    assert (len(sight.report.jobs), held) == (1, [False])


def test_the_layout_of_the_window_before_is_evidence_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the database keeps it; a window is no evidence for itself, nor for those before it."""
    begin_ns = (time.time_ns() // MINUTE_NS - 10) * MINUTE_NS
    made, feed = scanner(settings(tmp_path)), Feed(tmp_path / "flows", begin_ns)
    feed.write("hhh")
    assert made.look() == 1
    (job,) = jobs(made.database)
    (then,) = layouts(made.database, job.id)
    former: list[Layout | None] = []

    def analyzing(task: JobTask) -> JobResult:
        former.append(task.former)
        return analyze_job(task)

    monkeypatch.setattr(pipeline, "analyze_job", analyzing)
    for end_ns in (then.since_ns, then.since_ns + 1):
        window_analysis.analyze_window(made.settings, made.database, Window(start_ns=begin_ns, end_ns=end_ns))
    assert former == [None, then.layout]
