"""The feeds page: silence first, then losses; parts of the service by their last word."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.reports.report import ExporterClock
from datamodel.service.api_models import ComponentStatus, ExporterSampling, FeedRow
from datamodel.service.result_rows import FeedStatistics
from flowprism.dashboard.feeds.feed_view import draw_records, running, shown, summary
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.components import save_component
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.flowprism.service.api.client import client
from tests.storage.database import results

MINUTE_NS = 60_000_000_000


def feed(name: str, **changed: object) -> FeedRow:
    """An exporter that is well."""
    usual: dict[str, object] = {
        "exporter": name, "newest_ns": 10 * MINUTE_NS, "datagrams": 990, "records": 6000, "lost": 0, "late": 0,
        "duplicates": 0, "silent": False, "step_ns": MINUTE_NS, "trend": (0, 0, 3000, 3000),
    }  # fmt: skip
    return FeedRow.model_validate(usual | changed)


def test_what_is_wrong_comes_first() -> None:
    """Silent exporters, then by loss; each with a word and a mark."""
    rows = [feed("a"), feed("b", lost=10), feed("c", silent=True), feed("d", rejected={"truncated": 3})]
    found = shown(rows)
    assert [(one.row.exporter, one.tone, one.state) for one in found] == [
        ("c", "critical", "silent"), ("b", "warning", "loses"), ("a", "good", "well"),
        ("d", "warning", "rejected in part"),
    ]  # fmt: skip
    assert found[1].lost_ratio == 0.01


def test_an_exporter_that_only_its_collector_thinned_says_so() -> None:
    """Samples left out under overload are no fault of the exporter; other rejects come first."""
    thinned = {THINNED_SAMPLES: 3000}
    found = shown([feed("a", rejected=thinned), feed("b", rejected=thinned | {"truncated": 3})])
    assert [(one.tone, one.state) for one in found] == [("warning", "thinned"), ("warning", "rejected in part")]


def test_a_sampling_rate_is_doubted_by_settings_and_by_counts() -> None:
    """What records tell stands beside what is configured and what the exporter counts; agreeing is nothing to see."""
    counted = {"where": "interface 3", "told": 1000, "likely": 4000, "counted": "sample pool"}
    samplings: list[dict[str, object]] = [
        {"rates": (1000,)}, {"rates": (0, 1)}, {"rates": (512,), "configured": 512},
        {"rates": (256,), "configured": 512},
        {"rates": (1000,), "doubted": (counted,)},
    ]  # fmt: skip
    found = shown([feed(str(n), sampling={"exporter": str(n)} | told) for n, told in enumerate(samplings)])
    assert [(one.sampling, one.doubts) for one in found] == [
        ("1:1,000", ()), ("unknown, every packet", ()), ("1:512", ()), ("1:256", ("configured: 1:512",)),
        ("1:1,000", ("interface 3: its sample pool says 1:4,000, not 1:1,000",)),
    ]  # fmt: skip
    assert [one.state for one in found[2:]] == ["well", "sampling rate mismatch", "sampling rate mismatch"]


def test_clocks_are_told_with_how_sure_they_are() -> None:
    """Ahead or behind, with the standard error, the drift and whom it was compared with; where it is unknown, why."""
    told: list[dict[str, object]] = [
        {"offset_s": 0.012, "error_s": 0.0002, "drift_ppm": 3.2, "against": "collector"},
        {"offset_s": -2.5, "against": "3 exporters"}, {"why": "too few records"},
    ]  # fmt: skip
    found = shown([*(feed(str(n), clock={"exporter": "a"} | one) for n, one in enumerate(told)), feed("x")])
    assert [one.clock for one in found] == [
        ("12.0 ms ahead", "± 200 µs, drifts by 3.20 ppm"),
        ("2.50 s behind", "against 3 exporters"),
        ("unknown", "too few records"),
        ("", ""),
    ]


def test_rates_count_from_when_it_was_first_heard() -> None:
    """Two minutes of 3,000 records are 50 a second, however long the table looks back."""
    (one,) = shown([feed("a")])
    assert one.records_per_s == 50
    assert summary([one]) == "1 exporter, 50.0 records a second, nothing lost"


def test_silence_is_marked_after_the_first_record_only() -> None:
    """A stretch without records is a mark; those before it was first heard are nothing."""
    assert draw_records(feed("a", trend=(0, 5, 0, 5))).count('class="bar none"') == 1
    assert draw_records(feed("a", trend=(0, 0, 0))).count("<rect") == 0


def test_parts_are_told_with_their_units() -> None:
    """What is silent comes first; figures lose the suffix that says their unit."""
    now_ns = time.time_ns()
    figures = {"behind_seconds": 2.5, "received_bytes_total": 1.5e9, "scans_total": 1200.0}
    well = ComponentStatus(name="s", kind="scanner", started_ns=1, seen_ns=now_ns, figures=figures)
    silent = ComponentStatus(name="z", kind="compactor", started_ns=1, seen_ns=now_ns - 60 * 10**9)
    sick = ComponentStatus(name="k", kind="compactor", started_ns=1, seen_ns=now_ns, healthy=False, detail="disk full")
    found = running([well, sick, silent], now_ns)
    assert [(one.part.name, one.state) for one in found] == [("k", "not well"), ("z", "silent"), ("s", "well")]
    assert found[2].figures == (("behind", "2.50 s"), ("received", "1.50 GB"), ("scans", "1,200"))


def test_page_tells_what_scans_and_collectors_know_of_an_exporter(tmp_path: Path) -> None:
    """The clock by the newest scan that tells of any, the rate by the collector's last word; by agent and domain."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    save_feed_statistics(database, [FeedStatistics("10.0.0.1/3", 0, MINUTE_NS, 5, 50)])
    sampling = ExporterSampling(exporter="10.0.0.1/3", rates=(2048,), configured=4096)
    save_component(database, ComponentStatus(name="c", kind="collector", started_ns=1, seen_ns=2, sampling=(sampling,)))
    for end_ns, clocks in ((100, (ExporterClock(exporter="10.0.0.1", offset_s=-0.03, error_s=0.001),)), (200, ())):
        kept = results.kept(end_ns, "health")
        feed_part = kept.scan.feed.model_copy(update={"clocks": clocks})
        save_scan(database, ScanResult(replace(kept, scan=kept.scan.model_copy(update={"feed": feed_part})), [], []))
    page = client(Stores(database)).get("/feeds").text
    assert "30.0 ms behind" in page
    assert "± 1.00 ms" in page
    assert "1:2,048" in page
    assert "configured: 1:4,096" in page
    database.close()


def test_page_tells_exporters_of_the_store(demo: Stores) -> None:
    """Two exporters, of which one lost three datagrams of 203."""
    page = client(demo).get("/feeds").text.partition('id="exporters"')[2]
    assert page.index("192.168.250.12:0") < page.index("192.168.250.11:0")
    assert '3 <span class="quiet">1.5 %</span>' in page
    assert "No component has reported yet" in page


def test_feeds_are_for_who_sees_all_tenants(demo: Stores) -> None:
    """Another is told so."""
    answer = client(demo, Viewer("rob", "admin", "research")).get("/feeds")
    assert answer.status_code == 403
    assert "all tenants" in answer.text
