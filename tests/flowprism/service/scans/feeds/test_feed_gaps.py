"""What is left of a window's findings where its feed has holes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from datamodel.reports.findings import Finding, Subject
from datamodel.reports.report import Window
from datamodel.service.result_rows import FeedStatistics
from flowprism.service.config.settings import Settings
from flowprism.service.scans.feeds.feed_gaps import add_feed_gaps
from flowprism.service.scans.window_analysis import WindowResult, analyze_window
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics, save_inventory
from tests.flowprism.service.scans.feeding import Feed, fabric

MINUTE_NS = 60_000_000_000
OFF = Finding(
    id="f",
    job=None,
    kind="feed",
    cause="clock_offset",
    severity="info",
    start_ns=1,
    end_ns=None,
    confidence=0.95,
    slowdown_ratio=1.0,
    subject=Subject(type="switch", ids=("leaf1",)),
    evidence=(),
    summary="leaf1 has a clock that is 200 ms ahead of the mirror's.",
    action="Check its time synchronisation.",
)


def test_what_is_wrong_with_the_feed_is_told_though_it_has_holes(tmp_path: Path) -> None:
    """A clock that is off is off in what came; left out, its incident would be over after some quiet scans."""
    begin_ns = (time.time_ns() - 20 * MINUTE_NS) // MINUTE_NS * MINUTE_NS
    settings = Settings.model_validate({"store": {"folder": tmp_path}, "scans": {"workers": 1}})
    database = Database(settings.store.database)
    save_inventory(database, fabric(), "test", 1)
    Feed(tmp_path / "flows", begin_ns).write("hhs")
    window = Window(start_ns=begin_ns, end_ns=begin_ns + MINUTE_NS)
    sight = _with(analyze_window(settings, database, window), OFF)
    lake = settings.store.flow_lake
    assert sorted(f.kind for f in add_feed_gaps(database, lake, sight, window).report.findings) == ["feed", "slow_link"]
    lossy = FeedStatistics("127.0.0.1/1", begin_ns, MINUTE_NS, datagrams=80, records=1000, lost=20)
    save_feed_statistics(database, [lossy])
    assert add_feed_gaps(database, lake, sight, window).report.findings == (OFF,)


def _with(sight: WindowResult, finding: Finding) -> WindowResult:
    report = sight.report.model_copy(update={"findings": (*sight.report.findings, finding)})
    assert sight.analysis is not None
    return replace(sight, analysis=replace(sight.analysis, report=report), report=report)
