"""Edges of endpoints that are not seen to send, on edges made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from strategy.traffic.silent_edges import complete_edges
from tests.strategy.hand_made import Edge, both_ways, mesh, ring, table

EACH_ALONE = np.arange(16)


def completed(edges: list[Edge], silent: list[int], host: list[int] | None = None) -> set[tuple[int, int]]:
    """Ends of all edges once those are added that `silent` endpoints must send."""
    seen = table(*(e for e in edges if e.src not in silent))
    found = complete_edges(seen, np.array(silent), EACH_ALONE if host is None else np.array(host))
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
    found = complete_edges(table(*edges[:-1]), np.array([5]), EACH_ALONE)
    assert (found.src[-1], found.dst[-1]) == (5, 4)
    assert found.first_ns[-1] == found.first_ns[3]
    assert found.concurrency[found.dst == 5].tolist() == [0.0]


def test_short_paths_that_may_be_one_ring_stay_open() -> None:
    """Two rings of three look as a ring of six that is broken twice; on the same hosts they are two."""
    edges = [*ring([0, 1, 2], 90.0), *ring([3, 4, 5], 90.0)]
    seen = {(e.src, e.dst) for e in edges if e.src not in (1, 4)}
    assert completed(edges, [1, 4]) == seen
    assert completed(edges, [1, 4], host=[0, 1, 2, 0, 1, 2]) == {(e.src, e.dst) for e in edges}
