"""Repeat offenders through the real application: from simulated records, and over a month of stored scans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from datamodel.reports.analysis import Analysis
from flowprism.analysis.scan_verdict import judge_report
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.service.scans.window_analysis import FeedGap, WindowResult
from flowprism.service.scans.window_continuity import link_to_history
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from simulate.case import simulate_case
from simulate.faults import Fault
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.scans.endpoint_patterns import stored_patterns
from tests.flowprism.service.api.client import client
from tests.flowprism.service.queries.fabric.stored_offenders import DAY_NS, JOBS, NEWEST_NS, TENANT, stored_offenders

SLOW_RANK, SLOW_HOST = 43, 5


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    """A month of scans, stored."""
    return stored_offenders(tmp_path)


def scanned(folder: Path, holes: tuple[FeedGap, ...] = ()) -> tuple[Stores, Analysis, str]:
    """Data-parallel training of 64 GPUs, one 3 % slower all along; scanned once. And the slow host's name."""
    made = scenario("data-parallel", ScenarioOptions(iterations=12))
    case = simulate_case(replace(made, faults=(Fault("straggler", first=0, rank=SLOW_RANK, size=1.03),)), 1)
    analysis = analyze_reading(case.readings["flows"], ("a lake",), case.inventory, AnalysisOptions())
    database = Database(f"sqlite:///{folder}/results.sqlite")
    save_inventory(database, case.inventory, "tests", 1)
    past = link_to_history(database, str(folder / "analyses"), WindowResult(analysis, analysis.report, holes=holes))
    end_ns = past.report.window.end_ns
    verdict = judge_report(past.report)
    completed = CompletedScan("health", end_ns, end_ns + 1, past.report, verdict, patterns=past.patterns)
    record(database, completed, IncidentOptions())
    return Stores(database), analysis, case.inventory.hosts[SLOW_HOST].name


def test_host_of_a_gpu_3_percent_slow_comes_first(tmp_path: Path) -> None:
    """Too little for a finding; measured as 3 % within half a percent. One job proves nothing."""
    stores, analysis, slow = scanned(tmp_path)
    assert analysis.report.findings == ()
    found = client(stores).get("/api/v1/repeat-offenders").json()
    first, second = found["items"][:2]
    assert (first["host"], first["jobs"], first["late_jobs"], first["is_offender"]) == (slow, 1, 1, False)
    assert first["late_ratio"] == pytest.approx(0.03, abs=0.005)
    assert second["late_jobs"] == 0
    assert found["of"] == 8


def test_patterns_of_a_job_in_a_feed_gap_are_not_stored(tmp_path: Path) -> None:
    """An exporter that lost much makes endpoints look late that are not."""
    stores, analysis, _ = scanned(tmp_path, (FeedGap("lost much", None),))
    assert len(analysis.patterns) == 1
    assert stored_patterns(stores.database, 0, analysis.report.window.end_ns + DAY_NS) == []


def test_host_that_is_late_in_every_job_is_named(stores: Stores) -> None:
    """All twelve jobs of 22 days count once each; over ten days five of them do."""
    asking = client(stores)
    found = asking.get("/api/v1/repeat-offenders").json()
    assert found["window"]["end_ns"] >= NEWEST_NS
    assert [one["host"] for one in found["items"] if one["is_offender"]] == ["node03"]
    first = found["items"][0]
    assert (first["host"], first["jobs"], first["late_jobs"]) == ("node03", JOBS, JOBS)
    assert first["late_weeks"] in {4, 5}
    assert first["late_ratio"] == pytest.approx(0.03, abs=0.002)
    assert first["probability"] < 1e-8
    shorter = asking.get("/api/v1/repeat-offenders?days=9&limit=1").json()
    assert [(one["host"], one["jobs"]) for one in shorter["items"]] == [("node03", 5)]
    assert shorter["of"] == found["of"] == 20


def test_tenant_sees_its_own_jobs_only(stores: Stores) -> None:
    """Of the one job of the tenant nothing follows, and only its 16 hosts are listed; of another tenant none."""
    own = client(stores, Viewer("vera", "viewer", TENANT)).get("/api/v1/repeat-offenders").json()
    assert (own["of"], len(own["items"]), own["items"][0]["host"]) == (16, 16, "node03")
    assert {one["jobs"] for one in own["items"]} == {1}
    assert not any(one["is_offender"] for one in own["items"])
    other = client(stores, Viewer("frida", "viewer", "foreign")).get("/api/v1/repeat-offenders").json()
    assert (other["of"], other["items"]) == (0, [])


def test_fabric_page_shows_lateness_of_hosts(stores: Stores) -> None:
    """The offender comes first, with its lateness and jobs."""
    page = client(stores).get("/fabric").text
    assert page.index(">node03</th>") < page.index(">node00</th>")
    assert page.count("repeat offender</span>") == 1
    assert f"late in {JOBS} of {JOBS} jobs" in page
