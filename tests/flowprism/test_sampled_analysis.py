"""Jobs that only samples show, from datagrams to findings."""

from __future__ import annotations

from flowprism.evaluation.outcome import outcome
from flowprism.evaluation.suite import CaseName, made
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulated


def test_a_link_that_becomes_slow_is_timed_and_no_healthy_one_is_named() -> None:
    """1 in 400,000, a ring of eight slowed to a quarter: the first slow iteration is known as well as the others.

    Datagrams are longer than the ring's steps, so nothing tells the slow link: all are suspects.
    """
    case = simulated(made(CaseName("sampled-400000", 2)), 2)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    found, errors = outcome(report, case.truth)
    assert max(errors) < 0.03
    assert found.false == 0
    (finding,) = report.findings
    assert finding.kind == "slow_link"
    assert {suspect.ids[-1] for suspect in finding.suspects} >= {f"10.0.{host}.1" for host in range(8)}


def test_of_a_fault_that_cannot_be_seen_the_report_says_so() -> None:
    """Two hosts, 1 in 400,000, three samples an iteration of either, one straggles: seen, but not well enough."""
    case = simulated(made(CaseName("sampled-faint", 10)), 10)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    assert case.truth.faults
    assert not report.findings
    assert job.detectability.smallest_slowdown_ratio is None
    assert "iteration times are not known well enough to tell any slowdown: no findings" in job.detectability.reasons


def test_of_a_job_that_cannot_be_seen_the_report_says_so() -> None:
    """Two stages of eight, a sample or two an iteration and connection, one slow NIC: no job, and why."""
    case = simulated(made(CaseName("sampled-faint", 17)), 17)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    assert case.truth.faults
    assert not report.jobs
    assert not report.findings
    assert report.unassigned == ("16 endpoints: no rhythm that its samples show",)


def test_one_stage_is_not_told_where_rings_do_not_fit_together() -> None:
    """Two stages of eight, 1 in 400,000: their messages pass for a part of the rings, so no size is told."""
    case = simulated(made(CaseName("sampled-400000", 9)), 9)
    report = analyze_reading(case.readings["sflow"], ("sflow",), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    assert len(job.endpoints) == 16
    assert (job.layout.pp, job.layout.dp) == (None, None)
