"""Links between two silent stages, on edges made by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from strategy.candidates.hidden_links import complete_edges
from strategy.placement import Seat
from tests.strategy.hand_made import Edge, ring, table

# Two replicas of six stages, on hosts of their own. A pipeline takes turns, and its first message goes forward.
FIRST, SECOND = tuple(range(6)), tuple(range(6, 12))
GRADIENTS = [edge for pair in zip(FIRST, SECOND, strict=True) for edge in ring(list(pair), 900.0)]


def stages(*chain: int, begin: int = 0) -> list[Edge]:
    """Messages between neighbors from a stage on, forward ones first."""
    found = []
    for n, (a, b) in enumerate(pairwise(chain), begin):
        found += [Edge(a, b, 30.0, first=0.1 + 0.05 * n, turns=True, transfers=4)]
        found += [Edge(b, a, 30.0, first=0.7 - 0.05 * n, turns=True, transfers=4)]
    return found


def added(edges: list[Edge], silent: list[int], rails: dict[int, int] | None = None) -> set[tuple[int, int]]:
    """Ends of what is added to those edges but for answers, which are among them."""
    seats = {e: Seat(f"h{e}", 0, 1) for e in range(12)}
    seats |= {e: Seat(f"h{e}", rail, 1) for e, rail in (rails or {}).items()}
    seen = table(*(e for e in edges if e.src not in silent))
    found = complete_edges(seen, np.array(silent), np.arange(12), np.arange(12), seats)
    return set(zip(found.src.tolist(), found.dst.tolist(), strict=True)) - {(e.src, e.dst) for e in edges}


@pytest.mark.parametrize("gradients", [[], GRADIENTS], ids=["by lengths", "by gradients"])
def test_two_parts_of_a_chain_are_joined_between_silent_endpoints(gradients: list[Edge]) -> None:
    """The other chain shows how many stages there are."""
    parts = [*stages(6, 7, 8), *stages(9, 10, 11, begin=3)]
    assert added([*stages(*FIRST), *parts, *gradients], [8, 9]) == {(8, 9), (9, 8)}


def test_parts_between_silent_ends_are_joined_in_the_order_of_their_gradients() -> None:
    """Each of two parts may come first; who shares gradients with the first stage does."""
    parts, silent = [*stages(9, 10, 11, begin=3), *stages(6, 7, 8)], [6, 8, 9, 11]
    assert added([*stages(*FIRST), *parts, *GRADIENTS], silent) == {(8, 9), (9, 8)}
    assert added([*stages(*FIRST), *parts], silent) == set()


def test_stages_that_are_silent_alone_are_joined() -> None:
    """Nothing shows a link of theirs, but gradients say which stages they are."""
    edges = [*stages(0, 1), *stages(2, 3)]
    gradients = [edge for group in ((0, 4, 2), (1, 5, 3)) for edge in ring(list(group), 900.0)]
    assert added([*edges, *gradients], [4, 5]) == {(4, 5), (5, 4)}


def test_parts_on_other_rails_and_without_a_whole_chain_stay_apart() -> None:
    """A chain keeps its rail; where all chains end with silent endpoints more stages may follow."""
    parts = [*stages(6, 7, 8), *stages(9, 10, 11, begin=3)]
    assert added([*stages(*FIRST), *parts], [8, 9], {9: 1, 10: 1, 11: 1}) == set()
    assert added([*stages(*FIRST), *parts], [0, 8, 9]) == set()
