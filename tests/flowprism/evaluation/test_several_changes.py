"""Jobs whose members change two or three times in one window: each change, with what it cost, and all iterations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reports.findings import Event
from datamodel.reports.truth import TrueChange
from flowprism.evaluation.cases.training import Training, draw, hosts_of
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import Scenario
from simulate.training.job import Attempt
from simulate.training.plan import Plan

PLANS = (Plan(tp=8, dp=6), Plan(tp=8, dp=3, pp=2), Plan(tp=8, dp=4, pp=2), Plan(tp=4, dp=4, pp=4))


def several_changes(number: int, live: tuple[bool, ...]) -> Scenario:
    """Each time one host is replaced by one beyond, by a live migration or by a restart, after about ten iterations."""
    random = np.random.default_rng([number, 26])
    drawn = draw(Training(PLANS, batches=(4,), units=2), random, 40).job
    attempts, hosts = [replace(drawn.attempts[0], iterations=int(random.integers(8, 13)))], hosts_of(drawn.plan)
    for goes_on in live:
        gpus = attempts[-1].gpus.copy()
        lost = gpus // GPUS_PER_HOST == int(random.choice(np.unique(gpus // GPUS_PER_HOST)))
        gpus[lost] = hosts * GPUS_PER_HOST + gpus[lost] % GPUS_PER_HOST
        hosts += 1
        down_s = float(random.uniform(0.5, 4) if goes_on else random.uniform(5, 20))
        attempts.append(Attempt(gpus, int(random.integers(8, 13)), down_s=down_s, state_bytes=1e9, live=goes_on))
    job = replace(drawn, attempts=tuple(attempts))
    return Scenario("", "", fabric_for(hosts * GPUS_PER_HOST, services=4), (job,))


@pytest.mark.parametrize(
    ("number", "live"), [(4, (True, True, True)), (2, (True, False)), (3, (False, True))]
)  # fmt: skip
def test_every_change_is_reported_with_its_members_and_downtime(number: int, live: tuple[bool, ...]) -> None:
    """Also where connections that one change sets up are replaced by the next."""
    case = simulate_case(several_changes(number, live), number)
    report = analyze_reading(case.readings["flows"], (), case.inventory, AnalysisOptions(tables=False)).report
    (job,), (truth,) = report.jobs, case.truth.jobs
    changes = [event for event in report.events if event.change is not None]
    assert [members(event) for event in changes] == [true_members(one) for one in truth.changes]
    assert len(job.iterations) == len(truth.iterations)
    usual = float(np.median([end - start for start, end in truth.iterations]))
    for event, true in zip(changes, truth.changes, strict=True):
        assert event.change is not None
        assert event.change.down_ns == pytest.approx(true.end_ns - true.start_ns, abs=0.05 * usual)


def members(event: Event) -> tuple[str | None, list[str], list[str]]:
    """Kind of a change, who left and who joined."""
    assert event.change is not None
    found = event.change
    return found.kind, sorted(p.endpoint for p in found.leavers), sorted(p.endpoint for p in found.joiners)


def true_members(one: TrueChange) -> tuple[str | None, list[str], list[str]]:
    """The same of the truth."""
    return one.kind, sorted(one.leavers), sorted(one.joiners)
