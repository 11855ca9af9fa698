"""Edges of endpoints that are not seen to send, on edges made by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from strategy.candidates.hidden_links import complete_edges
from strategy.closure import tied
from strategy.traffic.silent_edges import Place, add_answers, close_rings
from tests.strategy.hand_made import Edge, both_ways, mesh, ring, table

EACH_ALONE = np.arange(16)


def completed(edges: list[Edge], silent: list[int], host: list[int] | None = None) -> set[tuple[int, int]]:
    """Ends of all edges once those are added that `silent` endpoints must send."""
    seen = table(*(e for e in edges if e.src not in silent))
    members = np.unique([(e.src, e.dst) for e in edges])
    found = complete_edges(seen, np.array(silent), members, EACH_ALONE if host is None else np.array(host), {})
    return set(zip(found.src.tolist(), found.dst.tolist(), strict=True))


@pytest.mark.parametrize(
    ("edges", "silent"),
    [
        pytest.param([*both_ways(0, 1, 30.0), *both_ways(1, 2, 30.0), *both_ways(3, 4, 30.0)], [2], id="stages"),
        pytest.param(mesh([0, 1, 2, 3], 40.0), [3], id="mesh"),
        pytest.param(ring([0, 1, 2, 3], 90.0), [1], id="ring"),
        pytest.param([*ring([0, 1, 2], 90.0), *ring([3, 4, 5], 90.0)], [1], id="one of two rings"),
    ],
)
def test_what_silent_endpoints_must_send_is_added(edges: list[Edge], silent: list[int]) -> None:
    """Answers to what they are sent, and the end of their ring."""
    assert completed(edges, silent) == {(e.src, e.dst) for e in edges}


def test_answer_is_like_that_of_another_pair_at_the_same_time() -> None:
    """Of two stages' messages the later one is answered as late as the other pair's is."""
    edges = [*both_ways(0, 1, 30.0), *both_ways(2, 3, 30.0, first=0.2), *both_ways(4, 5, 30.0, first=0.2)]
    found = add_answers(table(*edges[:-1]), np.array([5]))
    assert (found.src[-1], found.dst[-1]) == (5, 4)
    assert found.first_ns[-1] == found.first_ns[3]
    assert found.concurrency[found.dst == 5].tolist() == [0.0]


def test_short_paths_that_may_be_one_ring_stay_open() -> None:
    """Two rings of three look as a ring of six that is broken twice; on the same hosts they are two."""
    edges = [*ring([0, 1, 2], 90.0), *ring([3, 4, 5], 90.0)]
    seen = {(e.src, e.dst) for e in edges if e.src not in (1, 4)}
    assert completed(edges, [1, 4]) == seen
    assert completed(edges, [1, 4], host=[0, 1, 2, 0, 1, 2]) == {(e.src, e.dst) for e in edges}


def test_short_paths_of_two_stages_are_rings_of_their_own() -> None:
    """Messages in turns link the members of one with those of the other, and a ring is of one stage."""
    rings = [*ring([0, 1, 2], 90.0), *ring([3, 4, 5], 90.0)]
    stages = [e for a in (0, 1, 2) for e in both_ways(a, a + 3, 30.0)]
    assert completed([*rings, *stages], [1, 4]) == {(e.src, e.dst) for e in [*rings, *stages]}


def closed(edges: list[Edge], silent: list[int], place: Mapping[int, Place]) -> set[frozenset[int]]:
    """Sets of endpoints that are tied once rings of endpoints at known stages and rails are closed."""
    seen = table(*(e for e in edges if e.src not in silent))
    found = close_rings(seen, np.array(silent), EACH_ALONE, place)
    return {frozenset(own) for own in tied(found.src, found.dst)}


def test_a_ring_passes_the_silent_endpoint_of_its_stage_that_no_record_shows() -> None:
    """Both of its neighbors, one of them silent as well, are in the path; it is alone on its stage and rail."""
    edges = ring([0, 1, 2, 3], 90.0)
    assert closed(edges, [2, 3], dict.fromkeys(range(4), (0, 0))) == {frozenset(range(4))}


def test_as_many_silent_endpoints_as_a_path_has_may_be_a_ring_of_their_own() -> None:
    """Groups of three, or one of six."""
    edges = ring([0, 1, 2], 90.0)
    assert closed(edges, [2, 3, 4, 5], dict.fromkeys(range(6), (0, 0))) == {frozenset(range(3))}


def test_paths_of_one_stage_are_one_ring_where_all_of_another_stage_are() -> None:
    """Both silent members of the second stage part its ring into paths of two."""
    edges = [*ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0)]
    stages = {e: (e // 4, 0) for e in range(8)}
    assert closed(edges, [5, 7], stages) == {frozenset(range(4)), frozenset(range(4, 8))}
    alone = [e for e in edges if e.src > 3]
    assert closed(alone, [5, 7], stages) == {frozenset({4, 5}), frozenset({6, 7})}
