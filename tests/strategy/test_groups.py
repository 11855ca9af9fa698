"""Closure, chains and kinds of groups, on edges made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strategy.behaviour import PARTS
from strategy.chains import pipelines
from strategy.closure import components, tied
from strategy.collectives import Collectives, collectives
from strategy.parts import parts
from tests.strategy.hand_made import Edge, both_ways, mesh, ring, table


def sorted_out(edges: list[Edge], stage: dict[int, int] | None = None) -> Collectives:
    """Kinds of the edges of a job."""
    return collectives(table(*edges), stage or {}, np.arange(100))


def test_pairs_close_into_classes() -> None:
    """Members ascending, classes by first member, nothing from nothing."""
    assert tied(np.array([5, 3, 1]), np.array([3, 9, 2])) == ((1, 2), (3, 5, 9))
    none = np.zeros(0, np.int64)
    assert tied(none, none) == ()
    assert components(none, none).tolist() == []


def test_a_chain_runs_from_who_sends_first() -> None:
    """Stages 7 -> 2 -> 5, whatever their addresses."""
    assert pipelines(table(*both_ways(7, 2, 10.0), *both_ways(2, 5, 10.0, 0.05))) == [(7, 2, 5)]


def test_many_chains_are_followed_at_once() -> None:
    """Chains of different lengths, on endpoints in any order."""
    edges = [e for n in range(20) for e in both_ways(n, 99 - n, 10.0)]
    edges += [*both_ways(99, 50, 10.0, 0.05), *both_ways(50, 40, 10.0, 0.1)]
    found = pipelines(table(*edges))
    assert found[0] == (0, 99, 50, 40)
    assert found[1:] == [(n, 99 - n) for n in range(1, 20)]


def test_a_circle_opens_where_least_is_carried() -> None:
    """An interleaved pipeline wraps around from its last stage to its first once less often."""
    edges = [
        *both_ways(0, 1, 20.0),
        *both_ways(1, 2, 20.0, 0.01),
        *both_ways(2, 3, 20.0, 0.02),
        *both_ways(3, 0, 10.0, 0.03),
    ]
    assert pipelines(table(*edges)) == [(0, 1, 2, 3)]


def test_a_star_is_no_chain() -> None:
    """One endpoint that takes turns with three others is no pipeline; nor is a circle with a tail."""
    assert pipelines(table(*(e for n in (1, 2, 3) for e in both_ways(0, n, 10.0)))) == []
    tail = [e for a, b in ((0, 1), (1, 2), (2, 0), (2, 3)) for e in both_ways(a, b, 10.0)]
    assert pipelines(table(*tail)) == []


def test_edges_between_stages_reduce_no_data_parallel_gradient() -> None:
    """First and last stage exchange embeddings: the gradient groups stay apart."""
    embedding = [Edge(0, 2, 5.0), Edge(2, 0, 5.0)]
    found = sorted_out([*ring([0, 1], 9.0), *ring([2, 3], 9.0), *embedding], {0: 0, 2: 1, 1: 0, 3: 1})
    assert found.groups["dp"] == ((0, 1), (2, 3))


def experts(tokens: float, gradients: float, first: float = 0.0) -> list[Edge]:
    """Eight ranks in pairs that exchange tokens; rings of equal experts cross them, a dense ring spans all."""
    exchange = [e for a in range(0, 8, 2) for e in mesh([a, a + 1], tokens, first)]
    return [
        *ring(list(range(8)), 90.0),
        *exchange,
        *ring([0, 2, 4, 6], gradients, 0.9),
        *ring([1, 3, 5, 7], gradients, 0.9),
    ]


def test_groups_that_another_set_crosses_are_experts() -> None:
    """Pairs busy in the passes, crossed by later rings of equal experts, inside a gradient ring: ep, and one dp."""
    found = sorted_out(experts(30.0, 10.0))
    assert found.groups["ep"] == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert found.groups["dp"] == (tuple(range(8)),)
    assert found.groups["cp"] == ()


def test_equal_volumes_at_different_times_stay_apart() -> None:
    """Tokens that happen to weigh as much as the experts' gradients are no part of their rings."""
    assert sorted_out(experts(10.0, 10.0)).groups == sorted_out(experts(30.0, 10.0)).groups


@pytest.mark.parametrize(("first", "groups"), [(0.13, 4), (0.21, 0)])
def test_layers_before_the_first_experts_are_short_of_a_forward_pass(first: float, groups: int) -> None:
    """Tokens may go only when the first of few layers has computed; gradients not before a whole forward pass."""
    assert len(sorted_out(experts(30.0, 10.0, first)).groups["ep"]) == groups


def test_rings_that_nothing_crosses_are_context_groups() -> None:
    """The same pairs without equal experts pass keys and values."""
    keys = [e for a in range(0, 8, 2) for e in mesh([a, a + 1], 30.0)]
    found = sorted_out([*ring(list(range(8)), 90.0), *keys])
    assert found.groups["cp"] == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert found.groups["ep"] == ()


def test_a_mesh_that_nothing_crosses_is_unclear() -> None:
    """Tokens or sequence slices: four all to all inside eight may be either."""
    found = sorted_out([*ring(list(range(8)), 90.0), *mesh([0, 1, 2, 3], 30.0), *mesh([4, 5, 6, 7], 30.0)])
    assert found.groups["unclear"] == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert (found.groups["ep"], found.groups["cp"]) == ((), ())


def over_hosts(members: int, a_host: int) -> list[Edge]:
    """Tokens from everybody to everybody but who shares a host, and then a ring of gradients."""
    tokens = [e for e in mesh(list(range(members)), 30.0) if e.src // a_host != e.dst // a_host]
    return [*tokens, *ring(list(range(members)), 90.0)]


def test_hosts_show_as_those_that_exchange_nothing() -> None:
    """Eight experts, two a host that nobody knows: each sends to six others, and no ring does."""
    found = sorted_out(over_hosts(8, 2))
    assert (found.groups["ep"], found.groups["cp"]) == ((tuple(range(8)),), ())


def test_four_that_send_to_two_each_may_be_a_ring() -> None:
    """Tokens between two hosts of two, or keys passed both ways round: neither is told."""
    found = sorted_out(over_hosts(4, 2))
    assert found.groups["unclear"] == ((0, 1, 2, 3),)
    assert (found.groups["ep"], found.groups["cp"]) == ((), ())


def test_a_ring_that_is_done_before_gradients_go_is_a_context_group() -> None:
    """Everybody passes keys to everybody's next, and reduces with the same: one context group, no replicas."""
    found = sorted_out([*ring([0, 1, 2, 3], 30.0, 0.0, 0.8), *ring([0, 1, 2, 3], 90.0, 0.82)])
    assert found.groups["cp"] == ((0, 1, 2, 3),)
    gathers = sorted_out([*ring([0, 1, 2, 3], 30.0, 0.0, 1.0), *ring([0, 1, 2, 3], 90.0, 0.4)])
    assert gathers.groups["cp"] == ()
    assert gathers.groups["dp"] == ((0, 1, 2, 3),)


def test_what_works_in_the_passes_of_a_pipeline_is_no_gradient() -> None:
    """Gradients overlap the last pass; before, all of a stage go round: keys, and between two keys or tokens."""
    pipeline = [e for n in range(4) for e in both_ways(n, n + 4, 5.0, 0.05)]
    for members, kind in (([0, 1, 2, 3], "cp"), ([0, 1], "unclear")):
        other = [m + 4 for m in members]
        keys = [*ring(members, 30.0, 0.0, 0.8), *ring(other, 30.0, 0.05, 0.8)]
        gradients = [*ring(members, 90.0, 0.7), *ring(other, 90.0, 0.7)]
        found = sorted_out([*pipeline, *keys, *gradients], {n: n // 4 for n in range(8)})
        assert found.groups[kind] == (tuple(members), tuple(other))


def test_rings_that_close_inside_hosts_are_unclear() -> None:
    """0 sends keys to 1 and 2 to 3; 1 and 3 pass them on to 2 and 0 over NVLink: cp 4, or crossing rings."""
    keys = [Edge(0, 1, 30.0, 0.0, 0.7), Edge(2, 3, 30.0, 0.0, 0.7)]
    gradients = [*ring([0, 3], 90.0), *ring([1, 2], 90.0)]
    assert sorted_out([*keys, *gradients]).groups["unclear"] == ((0, 1), (2, 3))


def test_gradients_reduced_in_two_steps_are_split() -> None:
    """Rings busy in the passes and rings at the end that cross them: shards with replicas, or tensor groups."""
    inner = [*ring([0, 1], 30.0, 0.0), *ring([2, 3], 30.0, 0.0)]
    assert sorted_out([*inner, *ring([0, 2], 10.0), *ring([1, 3], 10.0)]).split
    assert not sorted_out(ring([0, 1, 2, 3], 10.0)).split


def test_rings_inside_the_passes_of_a_pipeline_are_tensor_groups() -> None:
    """Nothing is reduced at the end: what goes round in every pass is no gradient."""
    stages = {n: n // 4 for n in range(8)}
    pipeline = [e for n in range(4) for e in both_ways(n, n + 4, 5.0, 0.05)]
    sums = [*ring([0, 1, 2, 3], 50.0, 0.0, 0.9), *ring([4, 5, 6, 7], 50.0, 0.06, 0.9)]
    found = sorted_out([*pipeline, *sums], stages)
    assert found.groups["tp"] == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert found.groups["dp"] == ()
    late = [*ring([0, 1, 2, 3], 50.0, 0.75), *ring([4, 5, 6, 7], 50.0, 0.75)]
    assert sorted_out([*pipeline, *late], stages).groups["dp"] == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_tensor_groups_have_nothing_to_do_while_their_stage_has_not() -> None:
    """They sum up from the first pass on and are done with the last; gradients begin later, or go on."""
    stages = {n: n // 4 for n in range(8)}
    pipeline = [e for n in range(4) for e in both_ways(n, n + 4, 5.0, 0.05)]
    for first, last, kind in ((0.1, 0.69, "tp"), (0.3, 0.69, "dp"), (0.1, 0.8, "dp")):
        edges = table(*pipeline, *ring([0, 1, 2, 3], 50.0, first, last), *ring([4, 5, 6, 7], 50.0, first, last))
        early = (np.arange(PARTS) + 0.5) / PARTS < first + 0.1
        idle = replace(edges, spread=np.where(early, edges.spread, 0.0))  # a bubble as long as can be
        assert collectives(idle, stages, np.arange(100)).groups[kind] == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_passes_are_those_of_the_pipeline() -> None:
    """Where gradients take most of the iteration, they are busy in each third of it and yet not in the passes."""
    short = [Edge(0, 1, 5.0, 0.02, 0.08, turns=True), Edge(1, 0, 5.0, 0.03, 0.09, turns=True)]
    long = table(*short, Edge(0, 2, 90.0, 0.1, 1.0))
    assert not parts(long, np.array([2]), np.arange(3))[0].throughout
    alone = table(Edge(0, 2, 90.0, 0.05, 1.0))
    assert parts(alone, np.array([0]), np.arange(3))[0].throughout
