"""What is wrong with a feed changes no verdict about a job unsaid: it is told, corrected, or nothing is concluded."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.evaluation.scores import compute_scores
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import Clocks, ExporterFault, Transport
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario


def analysed(name: str, iterations: int = 20) -> tuple[Report, Truth]:
    """The report from the feed of a simulated scenario, and its truth."""
    case = simulate_case(scenario(name, ScenarioOptions(iterations=iterations)), 1)
    reading: IngestResult = next(r for kind, r in case.readings.items() if kind != "flows")
    return analyze_reading(reading, (name,), case.inventory, AnalysisOptions()).report, case.truth


# Scenario, and the cause of the finding that tells of it; None: corrected, or nothing to correct.
FAULTS: dict[str, str | None] = {
    "sflow": None,
    "wrong-rate": "sampling_rate",
    "clock-offset": "clock_offset",
    "silent-exporter": "silence",
    "exporter-restart": "restart",
    "lost-datagrams": "loss",
    "late-batches": "reordering",
    "lost-templates": "loss",
    "doubled-sightings": None,
    "ipfix": None,
    "netflow5": None,
    "clock-offset-ipfix": "clock_offset",
}


def test_every_fault_that_can_be_injected_is_tried() -> None:
    """Whatever the simulator can do to clocks, exporters and datagrams has a scenario above that does it."""
    feeds = [feed for name in FAULTS for feed in scenario(name, ScenarioOptions()).feeds]
    for part, usual in (("clocks", Clocks()), ("ailment", ExporterFault()), ("transport", Transport())):
        tried = [asdict(getattr(feed, part)) for feed in feeds]
        how_many = {"share", "late_ms"}  # of the others, how many or how much
        untried = {k for k, v in asdict(usual).items() if k not in how_many and all(t[k] == v for t in tried)}
        assert untried == set(), part


@pytest.mark.slow
@pytest.mark.parametrize(("name", "told"), list(FAULTS.items()))
def test_nothing_false_is_concluded_from_an_ailing_feed(name: str, told: str | None) -> None:
    """No fault in a healthy job, no wrong size; and the ailment itself where it can be seen."""
    report, truth = analysed(name)
    found = compute_scores(report, truth)
    assert (found["false"], found["wrong_sizes"]) == (0, 0)
    causes = {f.cause for f in report.findings if f.kind == "feed"}
    assert causes >= {told} if told else causes == set()
    # Of the first a fifth of the records is missing, of the second most samples: iterations may not be told.
    if name not in {"lost-templates", "late-batches"}:
        assert found["jobs"] == 1
        assert found["iterations"] >= 0.95


@pytest.mark.parametrize(
    "name", ["sflow-straggler", "sflow-slow-nic", pytest.param("sflow-slow-uplink", marks=pytest.mark.slow)]
)
def test_samples_name_what_is_wrong_with_a_job(name: str) -> None:
    """1 packet in 4,096 of a pipeline of two stages and 32 GPUs: the rank, the NIC, the cable."""
    report, truth = analysed(name, iterations=30)
    found = compute_scores(report, truth)
    assert (found["faults"], found["false"], found["wrong_sizes"]) == (1, 0, 0)
    assert found["timeline"] <= 0.01


def test_records_that_merge_messages_show_the_layout_by_their_ends() -> None:
    """Half a second without a packet ends a record: of iterations of 2 s the ends and volumes of bursts show."""
    report, truth = analysed("ipfix")
    (job,) = report.jobs
    assert {name: getattr(job.layout, name) for name in truth.jobs[0].layout} == truth.jobs[0].layout
    assert any("several bursts in one record" in reason for reason in job.detectability.reasons)
