"""What a fault may be called: as much as the fabric can show, and imbalances that nobody injected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulate.faults import Fault
from simulate.scenarios.base_job import fabric_for
from simulate.training.plan import Plan
from simulate.training.workload import Noise
from simulate.truth import true_faults, true_job, uneven_stages
from tests.simulate.cases import VOLUMES, job, ran

RAN = {"tp", "cp", "ep", "dp", "pp"}


def test_layout_is_what_ran_where_traffic_decides_it() -> None:
    """Two stages, two replicas of tp 4 on each host: when they send shows that they are replicas."""
    made = true_job(ran(job(Plan(tp=4, dp=4, pp=2)), fabric=fabric_for(32)), 0, 0)
    assert (made.layout, made.not_asked) == ({"tp": 4, "cp": 1, "ep": 1, "dp": 4, "pp": 2}, {})
    assert {len(group) for group in made.groups["tp"]} == {4}


def test_straggler_of_undecided_tensor_group_is_any_endpoint_of_its_host() -> None:
    """Two replicas of tp 2 a host and no pipeline: rings keep to their rails, so the whole host is late."""
    fabric = fabric_for(32)
    run = ran(job(Plan(tp=2, dp=16)), Fault("straggler", first=1, rank=5, size=3), fabric=fabric)
    (fault,) = true_faults(run, 0, 0)
    group = next(a.ids for a in fault.accept if a.type == "group")
    assert group == tuple(sorted(fabric.address(n) for n in range(8)))
    assert "tp" not in true_job(run, 0, 0).groups


@pytest.mark.parametrize(
    ("plan", "hidden"),
    [
        (Plan(tp=2, dp=16), {"tp", "dp"}),  # no pipeline, several GPUs a host
        (Plan(tp=8, dp=2, pp=2), set()),
        (Plan(tp=2, cp=2, dp=4, pp=2), {"tp", "cp", "dp"}),  # contexts inside a host
        (Plan(tp=8, cp=2, pp=2), {"cp", "ep", "dp"}),  # one pair: contexts or experts
        (Plan(tp=2, dp=4, pp=2), {"tp", "dp"}),  # gradients stay inside hosts
        (Plan(tp=4, ep=4, dp=4, pp=2), set()),  # a mesh over hosts shows its members
    ],
)
def test_sizes_that_no_traffic_decides_are_not_asked(plan: Plan, hidden: set[str]) -> None:
    """Each reason of its own; hosts of eight GPUs with a NIC each."""
    made = true_job(ran(job(plan), fabric=fabric_for(32)), 0, 0)
    assert set(made.not_asked) == hidden
    assert set(made.layout) == RAN - hidden
    assert made.layout | made.not_asked == {name: getattr(plan, name) for name in RAN}


def test_experts_proxied_along_rails_are_not_asked() -> None:
    """Under plain leaves tokens go from every NIC to every other: then they are."""
    for rails in (True, False):
        made = replace(job(Plan(tp=4, ep=4, dp=12, pp=2)), proxied=True)
        asked = true_job(ran(made, fabric=fabric_for(96, rail_optimised=rails)), 0, 0).layout
        assert ("ep" in asked) != rails


def test_unknown_hosts_hide_tensor_groups_behind_queue_pairs() -> None:
    """Four queue pairs of one GPU look like four GPUs behind one NIC."""
    for queue_pairs, hidden in ((1, set()), (4, {"tp"})):
        run = ran(replace(job(Plan(tp=8, dp=2, pp=2)), queue_pairs=queue_pairs), fabric=fabric_for(32))
        assert set(true_job(run, 0, 0, hosts_known=False).not_asked) == hidden
        assert true_job(run, 0, 0).not_asked == {}


def test_a_heavy_output_projection_is_an_imbalance_that_may_be_named() -> None:
    """Optional, of the last stage; none where it adds next to nothing, nor where an imbalance was injected anyway."""
    heavy = replace(VOLUMES, last_stage_s=0.004)
    run = ran(job(volumes=heavy))
    (fault,) = uneven_stages(run, 0)
    assert (fault.kinds, fault.optional, fault.start_ns) == (("imbalance",), True, None)
    chains = true_job(run, 0, 0).groups["pp"]
    assert fault.accept[0].ids == tuple(sorted(chain[-1] for chain in chains))
    assert uneven_stages(ran(job(volumes=replace(VOLUMES, last_stage_s=0.0002))), 0) == []
    assert uneven_stages(ran(job(volumes=heavy), Fault("stage_imbalance")), 0) == []


def test_the_heaviest_stage_is_the_one_to_name() -> None:
    """The output projection counts: a last stage that it makes heavier than the one scaled up is the subject."""
    made = job(volumes=replace(VOLUMES, last_stage_s=0.008), stage_scale=(1.2, 1.0))
    run = ran(made, Fault("stage_imbalance"))
    (fault,) = true_faults(run, 0, 0)
    assert fault.accept[0].ids == tuple(sorted(chain[-1] for chain in true_job(run, 0, 0).groups["pp"]))
    assert not fault.optional


def test_an_imbalance_too_small_to_report_is_optional() -> None:
    """Two per cent more work in one stage."""
    run = ran(job(stage_scale=(1.02, 1.0)), Fault("stage_imbalance"))
    assert true_faults(run, 0, 0)[0].optional


def test_uneven_work_is_asked_for_where_it_costs_enough() -> None:
    """Lengths that hardly differ, or experts that get nearly alike, lengthen no iteration by 5 %."""
    lengths = job(Plan(tp=2, dp=8), noise=Noise(jitter_ratio=0, replica_ratio=0.8))
    experts = job(Plan(tp=2, ep=4, dp=8), noise=Noise(jitter_ratio=0, expert_ratio=0.8))
    for fault, uneven in ((Fault("sequence_imbalance"), lengths), (Fault("expert_imbalance"), experts)):
        assert [found.optional for found in true_faults(ran(uneven, fault), 0, 0)] == [False]
        even = replace(uneven, workload=replace(uneven.workload, noise=Noise(replica_ratio=0.01, expert_ratio=0.01)))
        assert [found.optional for found in true_faults(ran(even, fault), 0, 0)] == [True]
