"""Layouts of which hosts and shared NICs hide a part: it is left open, not taken for one."""

from __future__ import annotations

import pytest

from datamodel.reports.report import JobReport
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.scenarios.base_job import dense_volumes, fabric_for, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions
from simulate.training.plan import Plan, pack_ranks, tensor_across_hosts
from simulate.training.workload import Workload


def seen(
    plan: Plan, collectives: CollectiveOptions, nics: int, *, across: bool, known: bool = True, queue_pairs: int = 1
) -> JobReport:
    """What is said of a job on hosts of eight GPUs that share so many NICs, with an inventory or without."""
    seats = tensor_across_hosts(plan, 0, 8) if across else pack_ranks(plan, 0)
    work = Workload(volumes=dense_volumes(plan, "llama2-7b", units=2), batches=4, collectives=collectives)
    job = one_job(plan, work, 8, gpus=seats, queue_pairs=queue_pairs)
    case = simulate_case(Scenario("s", "", fabric_for(plan.world, nics_per_host=nics), (job,)), 1)
    inventory = case.inventory if known else None
    (found,) = analyze_reading(case.readings["flows"], ("flows",), inventory, AnalysisOptions()).report.jobs
    return found


def test_stages_inside_hosts_are_not_denied() -> None:
    """Eight stages on each host, whose tensor groups lie across two: their NICs begin to send at different times."""
    found = seen(Plan(tp=2, pp=8), CollectiveOptions(), 2, across=True)
    assert len(found.endpoints) == 4
    assert (found.layout.pp, found.layout.dp, found.layout.tp) == (None, None, None)


def test_rings_that_cross_between_two_rails_are_no_group_of_the_whole_host() -> None:
    """Four tensor ranks, each with two replicas a host: rings cross between two rails, four times side by side."""
    found = seen(Plan(tp=4, dp=4), CollectiveOptions(crossing=True), 8, across=False)
    assert {len(group) for group in found.groups.dp} == {4}
    assert found.layout.dp in {4, None}


def test_stages_inside_unknown_hosts_are_not_denied() -> None:
    """Two stages on each host, tensor groups across: rings of one stage begin when those of the other are under way."""
    found = seen(Plan(tp=8, dp=4, pp=2), CollectiveOptions(), 8, across=True, known=False)
    assert (found.layout.pp, found.layout.dp, found.layout.tp) == (None, None, None)


@pytest.mark.parametrize(
    ("plan", "nics", "queue_pairs", "tp", "dp"),
    [
        (Plan(tp=8, dp=2, pp=2), 8, 1, 8, 2),
        (Plan(tp=8, dp=2, pp=2), 8, 4, None, 2),
        (Plan(tp=8, dp=2, pp=2), 4, 1, None, 2),
        (Plan(tp=8, dp=2, pp=4), 1, 1, None, 2),
        (Plan(tp=4, dp=4, pp=4), 1, 1, None, 4),
        (Plan(tp=4, dp=8, pp=2), 8, 1, 4, 8),
    ],
    ids=["plain", "queue pairs", "two a NIC", "eight a NIC", "replicas of one NIC", "replicas on rails of their own"],
)
def test_times_tell_replicas_without_an_inventory(
    plan: Plan, nics: int, queue_pairs: int, tp: int | None, dp: int | None
) -> None:
    """Who begins to send in the same moments is one replica, be it GPUs or one GPU's queue pairs.

    tp is known of NICs that send one message at a time, of replicas whose rings never meet as well.
    """
    found = seen(plan, CollectiveOptions(), nics, across=False, known=False, queue_pairs=queue_pairs)
    assert (found.layout.tp, found.layout.dp, found.layout.pp) == (tp, dp, plan.pp)
