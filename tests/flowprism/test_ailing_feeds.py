"""What is wrong with a feed changes no verdict about a job unsaid: it is told, corrected, or nothing is concluded."""

from __future__ import annotations

import pytest

from datamodel.reading import Reading
from datamodel.report import Report
from datamodel.truth import Truth
from flowprism.evaluation.marks import marks
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.base import Wish
from simulate.case import simulated
from simulate.catalogue import scenario


def analysed(name: str, iterations: int = 20) -> tuple[Report, Truth]:
    """The report from the feed of a simulated scenario, and its truth."""
    case = simulated(scenario(name, Wish(iterations=iterations)), 1)
    reading: Reading = next(r for kind, r in case.readings.items() if kind != "flows")
    return analyze_reading(reading, (name,), case.inventory, AnalysisOptions()).report, case.truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sflow", None),
        ("wrong-rate", "sampling_rate"),
        ("clock-offset", "clock_offset"),
        ("silent-exporter", "silence"),
        ("exporter-restart", "restart"),
        ("lost-datagrams", "loss"),
        ("lost-templates", "loss"),
        ("doubled-sightings", None),
        ("ipfix", None),
        ("netflow5", None),
        ("clock-offset-ipfix", None),
    ],
)
def test_nothing_false_is_concluded_from_an_ailing_feed(name: str, told: str | None) -> None:
    """No fault in a healthy job, no wrong size; and the ailment itself where it can be seen."""
    report, truth = analysed(name)
    found = marks(report, truth)
    assert (found["false"], found["wrong_sizes"]) == (0, 0)
    causes = {f.cause for f in report.findings if f.kind == "feed"}
    assert causes >= {told} if told else causes == set()
    if name != "lost-templates":  # a fifth of its records is missing: iterations cannot be told from gaps
        assert found["jobs"] == 1
        assert found["iterations"] >= 0.95


@pytest.mark.parametrize("name", ["sflow-straggler", "sflow-slow-nic", "sflow-slow-uplink"])
def test_samples_name_what_is_wrong_with_a_job(name: str) -> None:
    """1 packet in 4,096 of a pipeline of two stages and 32 GPUs: the rank, the NIC, the cable."""
    report, truth = analysed(name, iterations=30)
    found = marks(report, truth)
    assert (found["faults"], found["false"], found["wrong_sizes"]) == (1, 0, 0)
    assert found["timeline"] <= 0.01


def test_a_meter_that_merges_messages_tells_iterations_alone() -> None:
    """Half a second without a packet ends a record: of iterations of 2 s nothing but their ends shows."""
    report, _ = analysed("ipfix")
    (job,) = report.jobs
    assert (job.layout.dp, job.layout.pp) == (None, None)
    assert any("merge messages" in reason for reason in job.detectability.reasons)
