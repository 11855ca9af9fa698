"""Restarts of one job one after the other, in one window."""

from __future__ import annotations

from dataclasses import replace

from flowprism.evaluation.cases.membership import membership_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case


def test_restarts_one_after_the_other_leave_one_job() -> None:
    """A host is replaced, and later all start again: two events, and iterations of three attempts."""
    scenario = membership_case(900, "restart").scenario
    (job,) = scenario.jobs
    first, second = (replace(one, iterations=8, crashes=False) for one in job.attempts)
    case = simulate_case(replace(scenario, jobs=(replace(job, attempts=(first, second, second)),)), 900)
    report = analyze_reading(case.readings["flows"], (), case.inventory, AnalysisOptions(tables=False)).report
    (found,), (true,) = report.jobs, case.truth.jobs
    changes = [event.change for event in report.events if event.change is not None]
    assert [one.kind for one in changes] == [one.kind for one in true.changes] == ["restart", "restart"]
    assert [sorted(place.endpoint for place in one.leavers) for one in changes] == [
        sorted(one.leavers) for one in true.changes
    ]
    assert len(found.iterations) == len(true.iterations)
