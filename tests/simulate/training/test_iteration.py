import numpy as np
import pytest

from datamodel.errors import InputError
from simulate.network.graph import (
    COMPUTE,
    EMBEDDING,
    EXPERT_GRADIENT,
    GRADIENT,
    KEY,
    NO_INDEX,
    PARAMETER,
    PIPELINE,
    TOKEN,
    TRANSFER,
)
from simulate.training.collective import CollectiveOptions
from simulate.training.iteration import IterationGraph, iteration
from simulate.training.plan import Plan
from simulate.training.workload import Workload
from tests.simulate.cases import VOLUMES, durations_s, job, ran, sent_bytes, workload


def built(plan: Plan, per_host: int, made: Workload | None = None) -> IterationGraph:
    """A plain iteration of a plan with so many ranks a host."""
    host = np.arange(plan.world) // per_host
    return iteration(plan, made or workload(), host, 0, checkpoint=False, evaluation=False)


def test_a_pipeline_takes_as_long_as_arithmetic_says() -> None:
    """1F1B without communication time: (batches + stages - 1) passes, the output layer none, then the step."""
    free = workload(
        volumes=VOLUMES.__class__(
            layers=1, forward_s=0.01, backward_s=0.02, optimizer_s=0.005, activation_bytes=1.0, gradient_bytes=1.0,
            parameter_bytes=1.0,
        ),
        global_norm=False,
    )  # fmt: skip
    made = job(iterations=4)
    run = ran(made.__class__(made.name, made.plan, free, made.attempts))
    assert durations_s(run)[-1] == pytest.approx((4 + 2 - 1) * 0.03 + 0.005, rel=0.005)


def test_stages_send_each_micro_batch_both_ways() -> None:
    """Each rank of a stage sends as many activations, or gradients, as there are micro-batches."""
    graph = built(Plan(tp=2, dp=4, pp=2), 2).graph
    assert sent_bytes(graph, PIPELINE) == dict.fromkeys(range(16), 4 * 4e6)


@pytest.mark.parametrize(
    "collectives", [CollectiveOptions(), CollectiveOptions(steps=4), CollectiveOptions(channels=3)]
)
def test_an_all_reduce_moves_twice_the_buffer_less_a_share(collectives: CollectiveOptions) -> None:
    """Ring, exact or in lockstep pieces, over any channels: each member sends 2 (n - 1) / n of its gradient."""
    graph = built(Plan(tp=2, dp=4, pp=2), 2, workload(collectives=collectives)).graph
    assert sent_bytes(graph, GRADIENT) == pytest.approx(dict.fromkeys(range(16), 2 * 3 / 4 * 40e6))


def test_a_tree_moves_twice_the_buffer_over_each_edge() -> None:
    """Double binary trees: up and down each of the n - 1 edges, half of the channels mirrored."""
    made = workload(collectives=CollectiveOptions(tree=True, channels=2))
    graph = built(Plan(dp=8), 1, made).graph
    assert sum(sent_bytes(graph, GRADIENT).values()) == pytest.approx(2 * 7 * 40e6)


def test_zero_scatters_gradients_and_gathers_parameters() -> None:
    """One phase each: (n - 1) / n of either buffer."""
    graph = built(Plan(tp=2, dp=4, pp=2), 2, workload(sharding="zero")).graph
    assert sent_bytes(graph, GRADIENT) == pytest.approx(dict.fromkeys(range(16), 3 / 4 * 40e6))
    assert sent_bytes(graph, PARAMETER) == pytest.approx(dict.fromkeys(range(16), 3 / 4 * 20e6))


def test_fsdp_gathers_twice_and_scatters_once() -> None:
    """Per micro-batch every layer is gathered for both passes and its gradient scattered behind the second."""
    graph = built(Plan(dp=8), 1, workload(sharding="fsdp", batches=1)).graph
    assert sent_bytes(graph, PARAMETER) == pytest.approx(dict.fromkeys(range(8), 2 * 7 / 8 * 20e6))
    assert sent_bytes(graph, GRADIENT) == pytest.approx(dict.fromkeys(range(8), 7 / 8 * 40e6))


def test_members_of_one_host_share_what_leaves_it() -> None:
    """FSDP over 4 hosts of 2: from each host goes what one member would send, by both NICs alike."""
    graph = built(Plan(dp=8), 2, workload(sharding="fsdp", batches=1)).graph
    assert sent_bytes(graph, GRADIENT) == pytest.approx(dict.fromkeys(range(8), 7 / 8 * 40e6 / 2))


def test_experts_exchange_tokens_four_times_a_layer() -> None:
    """Dispatch and combine in both passes, to each other member outside the host."""
    graph = built(Plan(tp=1, ep=4, dp=4), 1).graph
    assert sent_bytes(graph, TOKEN) == dict.fromkeys(range(4), 4 * 2 * 4 * 3 * 1e6)
    assert sent_bytes(graph, EXPERT_GRADIENT) == {}


def test_holders_of_the_same_experts_reduce_them() -> None:
    """With dp 4 and ep 2, two ranks hold each expert."""
    graph = built(Plan(ep=2, dp=4), 1).graph
    assert sent_bytes(graph, EXPERT_GRADIENT) == pytest.approx(dict.fromkeys(range(4), 10e6))


def test_keys_go_round_the_ring() -> None:
    """A layer and micro-batch take cp - 1 steps; the backward pass moves twice the bytes."""
    graph = built(Plan(cp=4, dp=2), 1).graph
    assert sent_bytes(graph, KEY) == dict.fromkeys(range(8), 4 * 2 * (1 + 2) * 3 * 2e6)


def test_the_shared_embedding_joins_first_and_last_stage() -> None:
    """Middle stages have no part in it."""
    graph = built(Plan(pp=4), 1, workload(shared_embedding=True)).graph
    assert sent_bytes(graph, EMBEDDING) == {0: 8e6, 3: 8e6}


def test_an_interleaved_pipeline_wraps_around() -> None:
    """The last stage sends activations to the first, whose next chunk they feed."""
    graph = built(Plan(pp=4), 1, workload(chunks=2)).graph
    rows = (graph.kind == TRANSFER) & (graph.src == 3) & (graph.dst == 0)
    assert rows.sum() == 4


def test_an_interleaved_stage_posts_a_buffer_when_it_has_computed() -> None:
    """For each message, after its own step before; so a late stage holds up whoever sends to it."""
    graph = built(Plan(pp=4), 1, workload(chunks=2)).graph
    messages = np.flatnonzero((graph.kind == TRANSFER) & (graph.purpose == PIPELINE))
    posted = graph.posted[messages]
    computed = graph.kind[posted] == COMPUTE
    assert (posted != NO_INDEX).all()
    assert computed.mean() > 0.8
    assert (graph.src[posted] == graph.dst[messages])[computed].all()


def test_interleaving_shortens_the_bubble() -> None:
    """Two chunks a stage: the pipeline fills in half the time."""
    plan = Plan(tp=2, dp=2, pp=4)
    plain, chunked = (durations_s(ran(job(plan, chunks=n)))[-1] for n in (1, 2))
    assert chunked < plain - 0.02


def test_unequal_members_of_a_group_on_hosts_are_refused() -> None:
    """A ring from host to host needs as many members on each."""
    with pytest.raises(InputError, match="unequally many members"):
        iteration(Plan(dp=3), workload(), np.array([0, 0, 1]), 0, checkpoint=False, evaluation=False)


def test_nothing_of_a_collective_ends_before_its_last_member_began() -> None:
    """Whoever is late, no member has its result before the last one's backward pass has ended."""
    made = job(iterations=1)
    run = ran(made)
    g = run.instances[0].seat.graph
    computes = (g.kind == COMPUTE) & (run.timing.end_ns < np.inf)
    for group in made.plan.gradient_groups():
        cells = np.unique(group // made.plan.tp)
        backward = computes & (g.purpose == 1) & np.isin(g.src, cells)
        step = computes & (g.purpose == 2) & np.isin(g.src, cells)
        assert run.timing.start_ns[step].min() >= run.timing.end_ns[backward].max()
