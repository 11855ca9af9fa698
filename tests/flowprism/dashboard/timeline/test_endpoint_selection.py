"""Which endpoints are drawn of too many."""

from __future__ import annotations

import numpy as np

from flowprism.dashboard.timeline.endpoint_selection import chosen
from flowprism.rendering.endpoint_order import Position

PLACED = [Position(f"10.0.0.{n + 1}", n + 1, 0, n) for n in range(100)]
LATE = np.zeros(100)
LATE[[17, 71]] = 0.3, 0.2


def test_all_are_drawn_where_there_is_room() -> None:
    """Nothing is left out without need."""
    assert chosen(PLACED, LATE, (), np.full(100, 10.0), 1000) == PLACED


def test_suspects_and_the_latest_are_never_left_out() -> None:
    """With room for a tenth: the suspect, the latest, and others spread over the whole job, in the usual order."""
    drawn = [p.number for p in chosen(PLACED, LATE, {"10.0.0.40"}, np.full(100, 10.0), 100)]
    assert {40, 18, 72} <= set(drawn)
    assert drawn == sorted(drawn)
    assert len(drawn) == 10
    assert min(drawn) <= 10
    assert max(drawn) >= 75


def test_at_least_one_is_drawn() -> None:
    """Even where one endpoint alone has too many spans."""
    assert len(chosen(PLACED, LATE, (), np.full(100, 10.0), 1)) == 1
