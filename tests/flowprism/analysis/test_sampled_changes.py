"""Changes of members that samples of 1 packet in 4,096 show, from simulated datagrams to the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reports.report import Report
from datamodel.reports.truth import TrueJob
from datamodel.telemetry.flows import Flows
from flowprism.analysis.sampled_changes import SampleContext, SampledTraining, find_trainings, recognize_again
from flowprism.evaluation.cases.membership import membership_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec
from tests.reconstruct.sampled import training


def sampled(kind: str, number: int) -> tuple[Report, TrueJob]:
    """The report of a case, and the truth of its first job."""
    plan = membership_case(number, kind)
    case = simulate_case(replace(plan.scenario, feeds=(FeedSpec("sflow", rate=4096),)), number)
    report = analyze_reading(case.readings["sflow"], (), case.inventory, AnalysisOptions(tables=False)).report
    return report, case.truth.jobs[0]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), [("restart", 905), ("live migration", 904), ("elastic", 904)])
def test_a_change_is_one_event_of_one_job(kind: str, number: int) -> None:
    """With who left and joined, the downtime, and about the bytes of state; the time account has it as down."""
    report, true = sampled(kind, number)
    (job,), (change,) = report.jobs, true.changes
    (event,) = (one for one in report.events if one.change is not None)
    found = event.change
    assert found is not None
    assert (event.job, found.kind) == (job.id, change.kind)
    assert sorted(one.endpoint for one in found.leavers) == sorted(change.leavers)
    assert sorted(one.endpoint for one in found.joiners) == sorted(change.joiners)
    assert found.down_ns == pytest.approx(change.end_ns - change.start_ns, rel=0.02)
    assert found.state_bytes == pytest.approx(change.state_bytes, rel=0.15)
    assert job.training_time is not None
    assert sum(job.training_time.down_by_ns.values()) > 0.9 * (change.end_ns - change.start_ns)
    assert {*change.leavers, *change.joiners} <= set(job.endpoints)
    assert len(job.iterations) == pytest.approx(len(true.iterations), abs=1)


def test_another_job_on_the_same_hosts_is_no_change() -> None:
    """Its connections are new as well, but it does other work."""
    report, _ = sampled("address reuse", 904)
    assert not any(event.change for event in report.events)


def test_a_training_keeps_its_longest_part_where_all_of_it_shows_none() -> None:
    """Too few samples to be recognized again, of connections that were not replaced after all."""
    around = SampleContext(frozenset(), None, {})
    parts = [find_trainings(ring_of_four(count), around)[0][0].epochs[0] for count in (20, 40)]
    few = ring_of_four(40).take(np.arange(12))
    (kept,) = recognize_again(few, SampledTraining(tuple(parts)), around)
    assert kept.epochs[0] is parts[1]


def ring_of_four(iterations: int) -> Flows:
    """Samples of a ring."""
    return training.sampled(training.ring([0, 1, 2, 3]), training.iteration_ends(iterations, 4000.0, 0.01, 1), 500, 2)
