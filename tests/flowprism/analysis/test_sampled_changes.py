"""Changes of members that samples of 1 packet in 4,096 show, from simulated datagrams to the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datamodel.reports.report import Report
from datamodel.reports.truth import TrueJob
from flowprism.evaluation.cases.membership import membership_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec


def sampled(kind: str, number: int) -> tuple[Report, TrueJob]:
    """The report of a case, and the truth of its first job."""
    plan = membership_case(number, kind)
    case = simulate_case(replace(plan.scenario, feeds=(FeedSpec("sflow", rate=4096),)), number)
    report = analyze_reading(case.readings["sflow"], (), case.inventory, AnalysisOptions(tables=False)).report
    return report, case.truth.jobs[0]


@pytest.mark.parametrize(("kind", "number"), [
    ("restart", 905), *(pytest.param(kind, 904, marks=pytest.mark.slow) for kind in ("live migration", "elastic")),
])  # fmt: skip
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
