"""What a fault may be called: as much as the fabric can show, and imbalances that nobody injected."""

from __future__ import annotations

from dataclasses import replace

from simulate.base import fabric_for
from simulate.collective import CollectiveOptions
from simulate.faults import Fault
from simulate.plan import Plan
from simulate.truth import true_faults, true_job, uneven_stages
from tests.simulate.cases import VOLUMES, job, ran


def test_replicas_that_share_a_host_are_one_subject() -> None:
    """Two replicas of tp 2 on hosts of eight GPUs: rings keep to their rails, so the whole host is late, as tp 4 is."""
    fabric = fabric_for(32)
    run = ran(job(Plan(tp=2, dp=16)), Fault("straggler", first=1, rank=5, size=3), fabric=fabric)
    (fault,) = true_faults(run, 0, 0)
    group = next(a.ids for a in fault.accept if a.type == "group")
    assert group in true_job(run, 0, 0).groups["tp"]
    assert group == tuple(sorted(fabric.address(n) for n in range(8)))


def test_experts_inside_a_host_count_as_tensor_parallel() -> None:
    """They exchange tokens in every layer, and so keep step; replicas that share a NIC with them do not."""
    fabric = replace(fabric_for(32), nics_per_host=1)
    sizes = true_job(ran(job(Plan(tp=2, ep=2, dp=16)), fabric=fabric), 0, 0).layout
    assert sizes == {"tp": 4, "cp": 1, "ep": 1, "dp": 8, "pp": 1}


def test_what_crossing_rings_tie_together_reduces_gradients() -> None:
    """Contexts inside a host are members of rings that leave by another NIC than they come in by; not of trees."""
    for tree, tp, dp in ((False, 1, 16), (True, 8, 2)):
        options = CollectiveOptions(crossing=True, tree=tree)
        made = job(Plan(cp=2, dp=8), collectives=options)
        sizes = true_job(ran(made, fabric=fabric_for(16)), 0, 0).layout
        assert sizes == {"tp": tp, "cp": 1, "ep": 1, "dp": dp, "pp": 1}


def test_proxied_tokens_keep_to_rails_where_there_are_rails() -> None:
    """Under plain leaves they are sent from every NIC to every other: replicas of one host meet on the fabric."""
    for rails, tp, ep, dp in ((True, 8, 2, 6), (False, 4, 4, 12)):
        made = replace(job(Plan(tp=4, ep=4, dp=12)), proxied=True)
        sizes = true_job(ran(made, fabric=fabric_for(48, rail_optimised=rails)), 0, 0).layout
        assert sizes == {"tp": tp, "cp": 1, "ep": ep, "dp": dp, "pp": 1}


def test_replicas_inside_a_host_count_as_tensor_parallel_whatever_rings_may_do() -> None:
    """No ring leaves the host, so that none crosses."""
    made = job(Plan(tp=2, dp=4, pp=2), collectives=CollectiveOptions(crossing=True))
    assert true_job(ran(made, fabric=fabric_for(16)), 0, 0).layout == {"tp": 8, "cp": 1, "ep": 1, "dp": 1, "pp": 2}


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
