"""Which uplink it is: a mirror tells that one is slow, sampled packets of the same connections tell which."""

from __future__ import annotations

from capture.reader import merged
from datamodel.reports.findings import Finding
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.feed_options import add_feeds


def slow_uplink(case: Case, *readings: IngestResult) -> Finding:
    """The one finding about the job that some feeds of a case give."""
    report = analyze_reading(merged(readings), ("case",), case.inventory, AnalysisOptions()).report
    (found,) = (f for f in report.findings if f.kind != "feed")
    assert found.kind == "slow_uplink"
    return found


def test_samples_name_the_uplink_that_a_mirror_suspects() -> None:
    """1 packet in 200,000, by sFlow datagrams: of a leaf's four uplinks the one that all slow connections passed."""
    made = add_feeds(scenario("slow-uplink-shared", ScenarioOptions(iterations=20)), ("mirror", "sflow:200000"))
    case = simulate_case(made, 1)
    mirror, samples = case.readings["flows"], case.readings["sflow"]
    (fault,) = case.truth.faults
    alone, together = slow_uplink(case, mirror), slow_uplink(case, mirror, samples)
    assert len(alone.suspects) == made.fabric.spines
    assert (together.subject.type, together.suspects) == ("link", ())
    assert together.subject.ids in {a.ids for a in fault.accept if a.type == "link"}
    assert together.subject.ids in {s.ids for s in alone.suspects}
    assert (together.start_ns, together.slowdown_ratio) == (alone.start_ns, alone.slowdown_ratio)
