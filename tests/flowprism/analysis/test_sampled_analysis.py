"""Jobs that only samples show, from datagrams to findings."""

from __future__ import annotations

from dataclasses import replace

from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.evaluation.outcome import outcome
from flowprism.evaluation.suite import CaseName, build_scenario
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.scenario import BackgroundTraffic
from simulate.scenarios.sweep import Cell, sweep


def test_a_link_that_becomes_slow_is_timed_and_no_healthy_one_is_named() -> None:
    """1 in 400,000, a ring of eight slowed to a quarter: the first slow iteration is known as well as the others.

    Datagrams are longer than the ring's steps, so nothing tells the slow link: all are suspects.
    """
    case = simulate_case(build_scenario(CaseName("sampled-400000", 2)), 2)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    found, errors = outcome(report, case.truth)
    assert max(errors) < 0.03
    assert found.false == 0
    (finding,) = report.findings
    assert finding.kind == "slow_link"
    assert {suspect.ids[-1] for suspect in finding.suspects} >= {f"10.0.{host}.1" for host in range(8)}


def test_where_every_packet_is_sampled_iterations_end_before_the_pause() -> None:
    """1 in 1, a slow NIC: its last packets wait in a datagram for those behind the pause, a tenth of a second later."""
    case = simulate_case(build_scenario(CaseName("sampled-1", 2)), 2)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    found, errors = outcome(report, case.truth)
    assert max(errors) < 0.001
    assert found.false == 0


def test_of_a_fault_that_cannot_be_seen_the_report_says_so() -> None:
    """Two hosts, 1 in 400,000, three samples an iteration of either, one straggles: seen, but not well enough."""
    case = simulate_case(build_scenario(CaseName("sampled-faint", 10)), 10)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    assert case.truth.faults
    assert not report.findings
    assert job.detectability.smallest_slowdown_ratio is None
    assert "iteration times are not known well enough to tell any slowdown: no findings" in job.detectability.reasons


def test_of_a_job_that_cannot_be_seen_the_report_says_so() -> None:
    """Two stages of eight, a sample or two an iteration and connection, one slow NIC: no job, and why."""
    case = simulate_case(build_scenario(CaseName("sampled-faint", 17)), 17)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    assert case.truth.faults
    assert not report.jobs
    assert not report.findings
    assert report.unassigned == ("16 endpoints: no rhythm that its samples show",)


def test_two_stages_are_found_at_1_in_400000() -> None:
    """Two stages of eight, whose messages take turns beside the rings."""
    case = simulate_case(build_scenario(CaseName("sampled-400000", 9)), 9)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    assert len(job.endpoints) == 16
    assert (job.layout.pp, job.layout.dp) == (2, 8)


def stopped(*faults: Fault) -> tuple[Report, Truth]:
    """A ring of eight, 1 in 4,096, and a minute in which storage and counters of ports are still reported."""
    made = sweep(Cell(FeedSpec("sflow", 4096), 200.0, 2.0, 8, 1, 30, samples=60_000), *faults)
    fabric = replace(made.fabric, hosts=made.fabric.hosts + 4, services=2)
    case = simulate_case(
        replace(made, fabric=fabric, window_s=110.0, bustle=BackgroundTraffic(seconds=110.0, bulk_bytes=2e6)), 3
    )
    return analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report, case.truth


def test_of_a_job_that_hangs_those_are_suspects_who_may_have_stopped_first() -> None:
    """A NIC dies: its predecessor and its host send nothing of the ring, all others a chunk or more."""
    report, truth = stopped(Fault("hang_communication", first=20, rank=3))
    (finding,) = report.findings
    assert (finding.kind, finding.severity) == ("hang", "critical")
    assert {suspect.ids for suspect in finding.suspects} == {("10.0.2.1",), ("10.0.3.1",)}
    assert outcome(report, truth)[0].faults[0].named == 0.5


def test_a_job_that_ends_is_silent_too_and_nothing_is_said() -> None:
    """Its last iteration was whole."""
    report, _ = stopped()
    assert [len(job.iterations) for job in report.jobs] == [30]
    assert not report.findings
