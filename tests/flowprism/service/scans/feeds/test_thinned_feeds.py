"""What a scan says of a window whose flow samples a collector stored only in part."""

from __future__ import annotations

from pathlib import Path

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.durations import MINUTE_NS
from datamodel.frame import empty
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import FeedSummary, Provenance, Report, Window
from datamodel.service.result_rows import FeedStatistics
from flowprism.service.scans.feeds.thinned_feeds import add_thinned_feeds
from flowprism.service.scans.window_analysis import WindowResult
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics

BEGIN_NS = 28_333_333 * MINUTE_NS
WINDOW = Window(start_ns=BEGIN_NS, end_ns=BEGIN_NS + 10 * MINUTE_NS)


def minute(number: int, exporter: str, left_out: int, stored: int = 1000) -> FeedStatistics:
    """What was stored of an exporter in a minute of the window, and what was not."""
    rejected = {THINNED_SAMPLES: left_out} if left_out else {}
    return FeedStatistics(
        exporter, BEGIN_NS + number * MINUTE_NS, MINUTE_NS, datagrams=200, records=stored, rejected=rejected
    )


def sight() -> WindowResult:
    """A window with nothing wrong in it."""
    report = Report(provenance=Provenance(version="0"), window=WINDOW, feed=FeedSummary(records=0, bytes=0))
    return WindowResult(Analysis(report, Timelines(empty(SPANS), (), (), ()), {}), report)


def test_thinned_samples_are_a_finding_about_the_feed(tmp_path: Path) -> None:
    """One for all exporters, with the share of each, from the first to the last minute; for information only."""
    database = Database(f"sqlite:///{tmp_path / 'results.sqlite'}")
    minutes = [minute(n, "10.0.0.1/0", 3000 if 2 <= n < 5 else 0) for n in range(10)]
    minutes += [minute(3, "10.0.0.2/0", 1000), minute(3, "10.0.0.3/0", 0), minute(-1, "10.0.0.4/0", 500)]
    save_feed_statistics(database, minutes)
    found = add_thinned_feeds(database, sight(), WINDOW)
    (finding,) = found.report.findings
    assert found.analysis is not None
    assert found.analysis.report is found.report
    assert (finding.kind, finding.cause, finding.severity, finding.job) == ("feed", "thinning", "info", None)
    assert finding.subject.ids == ("10.0.0.1", "10.0.0.2")
    assert (finding.start_ns, finding.end_ns) == (BEGIN_NS + 2 * MINUTE_NS, BEGIN_NS + 5 * MINUTE_NS)
    assert [(e.where, e.value) for e in finding.evidence] == [("10.0.0.1/0", 0.75), ("10.0.0.2/0", 0.5)]
    assert "up to 75 % of the flow samples of 10.0.0.1, 10.0.0.2" in finding.summary


def test_thinning_that_goes_on_has_no_end(tmp_path: Path) -> None:
    """The last minute reaches the end of the window; the first one began before the window did."""
    database = Database(f"sqlite:///{tmp_path / 'results.sqlite'}")
    save_feed_statistics(database, [minute(n, "10.0.0.1/0", 10) for n in range(-3, 10)])
    (finding,) = add_thinned_feeds(database, sight(), WINDOW).report.findings
    assert (finding.start_ns, finding.end_ns) == (BEGIN_NS, None)


def test_a_window_with_all_samples_stays_as_it_is(tmp_path: Path) -> None:
    """Minutes before and after the window do not count, nor do windows whose analysis failed."""
    database = Database(f"sqlite:///{tmp_path / 'results.sqlite'}")
    save_feed_statistics(database, [minute(n, "10.0.0.1/0", 0 if 0 <= n < 10 else 5) for n in range(-2, 12)])
    before = sight()
    assert add_thinned_feeds(database, before, WINDOW) is before
    save_feed_statistics(database, [minute(1, "10.0.0.1/0", 5)])
    failed = WindowResult(None, before.report, "no inventory")
    assert add_thinned_feeds(database, failed, WINDOW) is failed
