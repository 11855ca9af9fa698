"""Edges, closure, chains and kinds of groups, on edges made by hand."""

from __future__ import annotations

from strategy.chains import pipelines
from strategy.closure import tied
from strategy.collectives import collectives
from strategy.edges import Edge

NAN = float("nan")


def edge(src: int, dst: int, volume: float, together: float = NAN, first_ns: float = 0.0, transfers: int = 1) -> Edge:
    """An edge late in the iteration unless it has many transfers."""
    phase = 0.5 if transfers > 1 else 0.9
    return Edge(src, dst, (100 * src + dst,), volume, transfers, phase, first_ns, False, together)


def ring(members: list[int], volume: float, transfers: int = 1) -> list[Edge]:
    """Everybody to the next."""
    following = [*members[1:], members[0]]
    return [edge(a, b, volume, transfers=transfers) for a, b in zip(members, following, strict=True)]


def mesh(members: list[int], volume: float, transfers: int) -> list[Edge]:
    """Everybody to everybody."""
    return [edge(a, b, volume, 1.0, transfers=transfers) for a in members for b in members if a != b]


def both_ways(a: int, b: int, volume: float, first_ns: float = 0.0) -> list[Edge]:
    """A pipeline's pair: `a` sends first."""
    return [edge(a, b, volume, 0.0, first_ns), edge(b, a, volume, 0.0, first_ns + 50.0)]


def test_pairs_close_into_classes() -> None:
    """Members ascending, classes by first member, nothing from nothing."""
    assert tied([(5, 3), (3, 9), (1, 2)]) == ((1, 2), (3, 5, 9))
    assert tied([]) == ()


def test_a_chain_runs_from_who_sends_first() -> None:
    """Stages 7 -> 2 -> 5, whatever their addresses."""
    assert pipelines([*both_ways(7, 2, 10.0), *both_ways(2, 5, 10.0, 20.0)]) == [(7, 2, 5)]


def test_a_circle_opens_where_least_is_carried() -> None:
    """An interleaved pipeline wraps around from its last stage to its first once less often."""
    edges = [
        *both_ways(0, 1, 20.0),
        *both_ways(1, 2, 20.0, 1.0),
        *both_ways(2, 3, 20.0, 2.0),
        *both_ways(3, 0, 10.0, 3.0),
    ]
    assert pipelines(edges) == [(0, 1, 2, 3)]


def test_a_star_is_no_chain() -> None:
    """One endpoint that takes turns with three others is no pipeline."""
    assert pipelines([e for n in (1, 2, 3) for e in both_ways(0, n, 10.0)]) == []


def test_edges_between_stages_reduce_no_data_parallel_gradient() -> None:
    """First and last stage exchange embeddings: the gradient groups stay apart."""
    embedding = [edge(0, 2, 5.0, 1.0), edge(2, 0, 5.0, 1.0)]
    found = collectives([*ring([0, 1], 9.0), *ring([2, 3], 9.0), *embedding], [(0, 2), (1, 3)])
    assert found.dp == ((0, 1), (2, 3))


def test_groups_that_another_set_crosses_are_experts() -> None:
    """Pairs busy in the passes, crossed by rings of equal experts, inside a gradient ring: ep, and one dp group."""
    dense = ring(list(range(8)), 90.0)
    tokens = [e for a in range(0, 8, 2) for e in mesh([a, a + 1], 30.0, 16)]
    experts = [*ring([0, 2, 4, 6], 10.0), *ring([1, 3, 5, 7], 10.0)]
    found = collectives([*dense, *tokens, *experts], [])
    assert found.ep == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert found.dp == (tuple(range(8)),)
    assert found.cp == ()


def test_rings_that_nothing_crosses_are_context_groups() -> None:
    """The same pairs without equal experts pass keys and values."""
    tokens = [e for a in range(0, 8, 2) for e in mesh([a, a + 1], 30.0, 16)]
    found = collectives([*ring(list(range(8)), 90.0), *tokens], [])
    assert found.cp == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert found.ep == ()


def test_a_mesh_that_nothing_crosses_is_unclear() -> None:
    """Tokens or sequence slices: four all to all inside eight may be either."""
    found = collectives([*ring(list(range(8)), 90.0), *mesh([0, 1, 2, 3], 30.0, 16), *mesh([4, 5, 6, 7], 30.0, 16)], [])
    assert found.unclear == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert (found.ep, found.cp) == ((), ())


def test_gradients_reduced_in_two_steps_are_split() -> None:
    """Rings busy in the passes and rings at the end that cross them: shards with replicas, or tensor groups."""
    inner = [*ring([0, 1], 30.0, 16), *ring([2, 3], 30.0, 16)]
    assert collectives([*inner, *ring([0, 2], 10.0), *ring([1, 3], 10.0)], []).split
    assert not collectives(ring([0, 1, 2, 3], 10.0), []).split
