"""Who waited for whom."""

from __future__ import annotations

from flowprism.dashboard.timeline.waits import Wait, awaited_s, waits
from tests.flowprism.dashboard.timeline.spans import CHAIN, spans


def test_waits_add_up_by_pair_the_longest_first() -> None:
    """Two waits of one pair are one line with their sum and the longer of them; waits for nobody are left out."""
    rows = (*CHAIN, (1, 2, "wait", 40, 43, 0, 0, -1), (1, 2, "wait", 50, 51, -1, 0, -1))
    assert waits(spans(*rows)) == [Wait(0, 1, 0.018, 0.018, 1), Wait(1, 0, 0.010 + 0.003, 0.010, 2)]


def test_awaited_seconds_are_those_of_all_waiters() -> None:
    """Each endpoint's sum over whoever waited for it, the most first."""
    found = waits(spans(*CHAIN, (2, 1, "wait", 0, 5, 1, 0, -1)))
    assert list(awaited_s(found).items()) == [(1, 0.023), (0, 0.010)]


def test_nobody_waited() -> None:
    """No span of waiting, no line."""
    assert waits(spans(CHAIN[0])) == []
