"""Closure of pairs, and chains of stages, on edges made by hand."""

from __future__ import annotations

import numpy as np

from strategy.candidates.pipelines import find_pipelines
from strategy.closure import Members, components, tied
from tests.strategy.hand_made import Edge, both_ways, table


def chains(*edges: Edge) -> list[Members]:
    """Chains of edges that are all point-to-point."""
    return find_pipelines(table(*edges), np.arange(len(edges)))


def test_pairs_close_into_classes() -> None:
    """Members ascending, classes by first member, nothing from nothing."""
    assert tied(np.array([5, 3, 1]), np.array([3, 9, 2])) == ((1, 2), (3, 5, 9))
    none = np.zeros(0, np.int64)
    assert tied(none, none) == ()
    assert components(none, none).tolist() == []


def test_chain_starts_at_the_first_sender() -> None:
    """Stages 7 -> 2 -> 5, whatever their addresses."""
    assert chains(*both_ways(7, 2, 10.0), *both_ways(2, 5, 10.0, 0.05)) == [(7, 2, 5)]


def test_many_chains_of_different_lengths_are_found() -> None:
    """On endpoints in any order."""
    edges = [e for n in range(20) for e in both_ways(n, 99 - n, 10.0)]
    edges += [*both_ways(99, 50, 10.0, 0.05), *both_ways(50, 40, 10.0, 0.1)]
    found = chains(*edges)
    assert found[0] == (0, 99, 50, 40)
    assert found[1:] == [(n, 99 - n) for n in range(1, 20)]


def test_circle_opens_at_its_smallest_link() -> None:
    """An interleaved pipeline wraps around from its last stage to its first once less often."""
    links = [(0, 1, 20.0, 0.0), (1, 2, 20.0, 0.01), (2, 3, 20.0, 0.02), (3, 0, 10.0, 0.03)]
    assert chains(*(e for link in links for e in both_ways(*link))) == [(0, 1, 2, 3)]


def test_star_is_no_chain() -> None:
    """One endpoint that takes turns with three others is no pipeline; nor is a circle with a tail."""
    assert chains(*(e for n in (1, 2, 3) for e in both_ways(0, n, 10.0))) == []
    tail = [e for a, b in ((0, 1), (1, 2), (2, 0), (2, 3)) for e in both_ways(a, b, 10.0)]
    assert chains(*tail) == []
