"""Scans through a real lake and a real database: each window once, what is wrong becomes one incident."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTION_NAMES
from datamodel.service.api_models import ScanRequest
from datamodel.service.result_rows import FeedStatistics
from datamodel.telemetry.flows import FLOWS, Flows
from flowprism.demo.demo_feed import FAULT_FROM_S
from flowprism.service.config.settings import Settings
from flowprism.service.queries.incidents.incident_queries import incident
from flowprism.service.scans.iteration_numbers import known_iterations
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics, save_inventory
from storage.database.incidents.alerts import alerts
from storage.database.incidents.incident_records import incidents
from storage.database.scans.endpoint_patterns import newest_patterns
from storage.database.scans.scan_records import jobs, layouts, rollups, scans
from storage.database.scans.scan_requests import ask, request
from tests.flowprism.service.alerts import told
from tests.flowprism.service.scans.feeding import Feed, fabric

MINUTE_NS = 60_000_000_000
# Records of twenty minutes ago: all of it is due by the lake alone, for patience lasts an hour.
AGO_NS = 20 * MINUTE_NS


def settings(folder: Path, *, every_s: int = 10, window_s: int = 60, **scans: object) -> Settings:
    """A store in a folder, a window every few seconds."""
    policy = {"name": "fast", "every_s": every_s, "window_s": window_s}
    said = {"policies": [policy], "settle_s": 0, "patience_s": 3600, "workers": 1} | scans
    return Settings.model_validate({"store": {"folder": folder}, "scans": said})


def scanner(what: Settings, holder: str = "one") -> Scanner:
    """A replica's scanner."""
    database = Database(what.store.database)
    save_inventory(database, fabric(), "test", 1)
    return Scanner(what, database, Leases(database, holder, 3.0), Tally())


@pytest.fixture
def begin_ns() -> int:
    """A whole minute, twenty minutes ago."""
    return (time.time_ns() - AGO_NS) // MINUTE_NS * MINUTE_NS


def test_a_fault_that_comes_and_goes_is_one_incident(tmp_path: Path, begin_ns: int) -> None:
    """Window by window: nothing, then one critical incident, open while it lasts, resolved when scans are quiet.

    The alert of its begin says whether evicting its host is worth it, as its page does.
    """
    what = settings(tmp_path, window_s=30).model_copy(update={"alerts": told.settings(told.webhook())})
    made, feed = scanner(what), Feed(tmp_path / "flows", begin_ns)
    assert made.look() == 0
    assert made.tally.waiting
    feed.write("hhh")
    assert made.look() == 1  # a policy that was never scanned begins with the newest window
    feed.write("hhh")
    assert made.look() == 2
    assert incidents(made.database) == []
    feed.write("sss")
    made.look()
    (found,) = incidents(made.database)
    assert (found.kind, found.severity, found.subject.ids) == ("slow_link", "critical", ("leaf2", "10.2.3.2"))
    seen = incident(Stores(made.database), Viewer("ann", "viewer", None), found.seen_ns, found.id)
    feed.write("hhhhhhhhhhh")
    made.look()
    assert incidents(made.database) == []
    assert [one.id for one in incidents(made.database, ("resolved",))] == [found.id]
    assert seen is not None
    assert seen.eviction is not None
    sent = {one.alert.change: one.alert.eviction for one in alerts(made.database)}
    assert sent.pop("resolved") is None
    assert {(advice.host, advice.plans) for advice in sent.values() if advice} == {
        (seen.eviction.host, seen.eviction.plans)
    }
    kept = scans(made.database, "fast")
    ends = [one.scan.window.end_ns for one in kept]
    assert ends == list(range(ends[0], begin_ns, -10_000_000_000))[: len(ends)]
    assert ends[-1] == begin_ns + 10_000_000_000
    (job,) = jobs(made.database)
    assert job.last_seen_ns == ends[0]
    assert made.tally.failures == 0
    assert made.look() == 0


def test_what_windows_leave_behind(tmp_path: Path, begin_ns: int) -> None:
    """Iterations are numbered on over overlapping windows, each is there once and none is missing; minutes add up."""
    what = settings(tmp_path, every_s=30)
    made, feed = scanner(what), Feed(tmp_path / "flows", begin_ns)
    feed.write("hhh")
    for _ in range(10):
        feed.write("hhh")
        made.look()
    (job,) = jobs(made.database)
    rows = known_iterations(what.store.analysis_lake, frozenset({job.id}), begin_ns)[job.id]
    numbers = rows["index"].tolist()
    assert numbers == list(range(len(numbers)))
    assert numbers[-1] == pytest.approx((rows["end_ns"][-1] - begin_ns) / FAULT_FROM_S * 6 / 1e9, abs=1.5)
    (behavior,) = newest_patterns(made.database, job.id, 1)
    assert (behavior.job, set(behavior.endpoints)) == (job.id, set(job.endpoints))
    functions = behavior.functions["function"]
    assert {FUNCTION_NAMES[n] for n in functions.tolist()} == {"forward", "backward", "pp", "dp", "outside"}
    minutes = rollups(made.database, job.id, MINUTE_NS, begin_ns, begin_ns + 10 * MINUTE_NS)
    assert [one.start_ns for one in minutes] == [begin_ns + n * MINUTE_NS for n in range(len(minutes))]
    for one in minutes:
        inside = (rows["end_ns"] >= one.start_ns) & (rows["end_ns"] < one.start_ns + MINUTE_NS)
        assert one.iterations == pytest.approx(int(inside.sum()), abs=1)
        assert one.bytes > 0
        assert 0 < one.shortest_ns <= one.iteration_ns / one.iterations <= one.longest_ns
    assert len(minutes) >= 3


def test_replicas_share_the_windows(tmp_path: Path, begin_ns: int) -> None:
    """A policy that another replica has the lease of is not scanned; nothing is scanned twice."""
    what = settings(tmp_path)
    one, other = scanner(what, "one"), scanner(what, "other")
    Feed(tmp_path / "flows", begin_ns).write("hhh")
    with one.leases.held("scan fast") as mine:
        assert mine
        assert other.look() == 0
    assert other.look() == 1
    assert one.look() == 0
    assert len(scans(one.database)) == 1


def test_missed_windows_are_caught_up_and_too_many_are_counted(tmp_path: Path, begin_ns: int) -> None:
    """After a stop the newest windows are made in order; those that are given up are said and counted once."""
    what = settings(tmp_path, window_s=30, most_missed=3)
    made, feed = scanner(what), Feed(tmp_path / "flows", begin_ns)
    feed.write("hhh")
    assert made.look() == 1
    feed.write("h" * 20)  # two minutes: twelve windows
    assert made.look() == 4
    ends = [one.scan.window.end_ns for one in scans(made.database)]
    assert sorted(ends, reverse=True) == ends
    assert made.tally.skipped == (ends[3] - ends[4]) // 10_000_000_000 - 1


def test_a_window_that_cannot_be_analysed_is_unknown(
    tmp_path: Path, begin_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept with the reason, counted, and the next one is scanned."""
    made, feed = scanner(settings(tmp_path)), Feed(tmp_path / "flows", begin_ns)
    feed.write("hhh")

    def broken(*_: object) -> None:
        raise ZeroDivisionError("nothing to divide by")

    with monkeypatch.context() as patched:
        patched.setattr("flowprism.service.scans.window_analysis.analyze_reading", broken)
        assert made.look() == 1
    (kept,) = scans(made.database)
    assert kept.scan.verdict == "unknown"
    assert "nothing to divide by" in kept.scan.reasons[0]
    assert (made.tally.failures, bool(made.tally.problem)) == (1, True)
    feed.write("hhh")
    assert made.look() > 0
    assert made.tally.problem == ""


def test_a_window_with_holes_is_not_trusted(tmp_path: Path, begin_ns: int) -> None:
    """Where an exporter lost a tenth of a minute nothing is told of any job, and no incident begins or ends.

    The hole may lie in the window though it was noticed after the window's end: the exporter was silent in between.
    """
    made, feed = scanner(settings(tmp_path)), Feed(tmp_path / "flows", begin_ns)
    feed.write("hhs")
    before = FeedStatistics("127.0.0.1/1", begin_ns, MINUTE_NS, datagrams=80, records=1000)
    holes = replace(before, start_ns=begin_ns + 2 * MINUTE_NS, lost=20)
    save_feed_statistics(made.database, [before, holes])
    made.look()
    (kept,) = scans(made.database)
    assert kept.scan.verdict == "unknown"
    assert kept.scan.reasons == ("127.0.0.1/1 lost 20 % of a minute: what the window shows is not trusted",)
    assert [(job.verdict, job.findings) for job in kept.scan.jobs] == [("unknown", ())]
    assert incidents(made.database, ("suspected", "open")) == []
    assert made.tally.figures()["windows_doubted_total"] == 1
    (job,) = jobs(made.database)
    assert layouts(made.database, job.id) == []
    save_feed_statistics(made.database, [replace(holes, lost=2)])
    feed.write("sss")
    made.look()
    assert [one.kind for one in incidents(made.database)] == ["slow_link"]
    assert len(layouts(made.database, job.id)) == 1


def test_a_hole_spoils_only_what_its_exporter_sees(tmp_path: Path, begin_ns: int) -> None:
    """Losses of a switch on the other side of the site leave the job's verdict alone."""
    made, feed = scanner(settings(tmp_path)), Feed(tmp_path / "flows", begin_ns)
    ends = {"src_addr": [0], "dst_addr": [1], "sampler_address": [2], "bytes": [1000]}
    times = {"time_flow_start_ns": [begin_ns + 1], "time_flow_end_ns": [begin_ns + 2]}
    feed.commit(Flows(Frame(FLOWS, ends | times), ("10.9.0.1", "10.9.0.2", "10.9.9.9")))
    feed.write("hhs")
    lossy = FeedStatistics("10.9.9.9/0", begin_ns, MINUTE_NS, datagrams=80, records=1000, lost=20)
    save_feed_statistics(made.database, [lossy])
    made.look()
    (kept,) = scans(made.database)
    assert [finding.kind for job in kept.scan.jobs for finding in job.findings] == ["slow_link"]
    assert made.tally.figures()["windows_doubted_total"] == 0
    save_feed_statistics(made.database, [replace(lossy, exporter="10.9.9.9/7")])
    feed.write("s")
    made.look()
    assert scans(made.database)[0].scan.jobs[0].reasons == (
        "10.9.9.9/7 lost 20 % of a minute: what the window shows is not trusted",
    )


def test_a_scan_on_demand_is_answered_and_changes_nothing_else(tmp_path: Path, begin_ns: int) -> None:
    """It is kept under its own name with its verdict; incidents and the policy's own windows are as before."""
    made, feed = scanner(settings(tmp_path)), Feed(tmp_path / "flows", begin_ns)
    asked = ScanRequest(id="r1", policy="fast", author="ann", requested_ns=1, state="waiting")
    ask(made.database, asked.model_copy(update={"id": "r0"}))
    made.look()
    early = request(made.database, "r0")
    assert early is not None
    assert (early.state, early.detail) == ("failed", "no records in the lake yet")
    feed.write("hhss")
    ask(made.database, asked)
    ask(made.database, asked.model_copy(update={"id": "r2", "jobs": ("nobody",), "window_end_ns": begin_ns + 10**10}))
    assert made._requests() == 2
    answers = [request(made.database, name) for name in ("r1", "r2")]
    assert [answer.detail for answer in answers if answer] == ["findings", "unknown"]
    assert [answer.window_start_ns for answer in answers if answer][1] == begin_ns - 50_000_000_000
    assert incidents(made.database) == []
    assert {one.policy for one in scans(made.database)} == {"request r1", "request r2"}
