"""Uneven work: iterations last as long as the cell with most of it, and another one has it each time."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float
from datamodel.reconstructed.transfers import ROLES
from diagnose.model.own_time import OwnTime
from diagnose.model.uneven_work import EVEN, UnevenWork, exchanged_bytes, uneven_work
from diagnose.options import MODEL
from tests.diagnose.hand_made import PP, SECOND, Op, operations

CELLS, COUNT = 4, 20
EP = ROLES.index("ep")


def own_s(spread_s: float, usual_s: tuple[float, ...] = (0.5,) * CELLS) -> Float:
    """Own times that differ by up to so much, another one longest each time."""
    return np.array(usual_s)[:, None] + np.random.default_rng(2).uniform(-spread_s, spread_s, (CELLS, COUNT))


def measured(own: Float, durations_s: Float, received: Float | None = None) -> UnevenWork:
    """What is lost by four cells of one stage."""
    got = np.zeros((CELLS, COUNT)) if received is None else received
    stage = np.zeros(CELLS, np.int64)
    return uneven_work(OwnTime(np.arange(CELLS), own * SECOND), stage, got, durations_s * SECOND, MODEL)


def test_the_last_one_beyond_the_mean_is_lost() -> None:
    """Iterations of 0.5 s behind the last of four that differ by 0.2 s: what they wait on average."""
    own = own_s(0.2)
    found = measured(own, own.max(axis=0) + 0.5)
    lost = np.median(own.max(axis=0) - own.mean(axis=0)) / np.median(own.max(axis=0) + 0.5)
    assert found.ratio == pytest.approx(lost, abs=0.02)
    assert not found.experts
    assert found.exceeds(0.05) > 0.95 > found.exceeds(0.3)


def test_what_changes_while_nobody_waits_is_not_lost() -> None:
    """Iterations that take their own course do not follow the last one."""
    durations = 1 + np.random.default_rng(3).uniform(0, 0.01, COUNT)
    assert measured(own_s(0.2), durations) == EVEN


def test_own_time_that_iterations_hardly_follow_is_not_lost() -> None:
    """They go up and down with the last one, by a tenth of what it takes longer: the rest is no work."""
    own = own_s(0.2)
    last = own.max(axis=0)
    assert measured(own, 1 + 0.9 * last) != EVEN
    assert measured(own, 1 + 0.1 * last) == EVEN


def test_a_cell_that_always_takes_longer_is_no_changing_work() -> None:
    """It is a straggler's, or its place's."""
    own = own_s(0.001, (0.5, 0.5, 0.5, 0.8))
    assert measured(own, own.max(axis=0) + 0.5).ratio < 0.01


def test_work_that_goes_with_what_experts_get_is_the_experts() -> None:
    """Those that are favoured all the time count as well."""
    tokens = own_s(0.2, (0.4, 0.5, 0.5, 0.8))
    found = measured(tokens, np.ones(COUNT), tokens * 1e9)
    assert found.experts
    assert found.ratio == pytest.approx(0.25, abs=0.05)


def test_an_iteration_without_exchanges_hides_no_experts() -> None:
    """A window may end before the exchanges of its last iteration."""
    tokens = own_s(0.2, (0.4, 0.5, 0.5, 0.8))
    received = tokens * 1e9
    received[:, -1] = 0
    assert measured(tokens, np.ones(COUNT), received).experts


def test_what_is_exchanged_alike_every_time_shows_no_experts() -> None:
    """However unlike it is: keys of a ring go to some more than to others by their place."""
    own = own_s(0.01, (0.4, 0.5, 0.5, 0.8))
    assert measured(own, np.ones(COUNT), np.broadcast_to([[4e8], [5e8], [5e8], [8e8]], own.shape)) == EVEN


def test_exchanged_bytes_are_those_inside_the_passes() -> None:
    """Of iteration 1: two messages to cell 0, endpoints 0 and 1; what goes between stages is none."""
    ops = [
        Op(2, 0, 5, 6, iteration=1, role=EP, bytes=10),
        Op(2, 1, 5, 6, iteration=1, role=EP, bytes=20),
        Op(0, 2, 5, 6, iteration=1, role=PP, bytes=40),
        Op(0, 2, 9, 10, iteration=3, role=EP, bytes=80),
    ]
    got = exchanged_bytes(operations(ops), np.arange(3), np.array([0, 0, 1]), 3)
    assert got.tolist() == [[0, 30, 0], [0, 0, 0]]
