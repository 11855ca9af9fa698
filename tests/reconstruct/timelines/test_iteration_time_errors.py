"""How well iteration times are known of which every byte was seen but the optimizer's step."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import ROLES
from reconstruct.timelines.iteration_time_errors import PIECES, UNSEEN_SHARE, computing_ns, errors, estimate_hidden_step

PP, DP = ROLES.index("pp"), ROLES.index("dp")
PERIOD_NS = 4e9


def edges_of(steps: Float) -> Int:
    """Ends of iterations that take so long."""
    return np.cumsum([0.0, *steps]).astype(np.int64)


def operations(*rows: tuple[int, int, int, int, int]) -> Frame:
    """Endpoint, role, iteration, slot and start in nanoseconds of each."""
    told = zip(("endpoint", "role", "iteration", "slot", "start_ns"), np.array(rows).T, strict=True)
    return Frame(OPERATIONS, {c.name: np.zeros(len(rows)) for c in OPERATIONS if c.required} | dict(told))


def test_intervals_hold_nineteen_of_twenty_iterations() -> None:
    """Equal pieces that jitter by themselves, the unseen step as one of them, by its share of their time."""
    chance, held, seen, told = np.random.default_rng(3), [], [], []
    for _ in range(100):
        pieces = PERIOD_NS * (1 - UNSEEN_SHARE) / PIECES * (1 + 0.01 * chance.standard_normal((41, PIECES)))
        step_ns = PERIOD_NS * UNSEEN_SHARE * (1 + 0.01 * chance.standard_normal(41))
        ends_ns = np.cumsum(pieces.sum(axis=1) + np.concatenate([[0.0], step_ns[:-1]])).astype(np.int64)
        off, known = np.abs(np.diff(step_ns)), errors(ends_ns, np.diff(ends_ns).astype(np.float64))
        held += (off <= 1.96 * known.interval_ns()).tolist()
        seen.append(off.mean())
        told.append(known.mean_ns().mean())
    assert 0.93 <= np.mean(held) <= 0.97
    assert abs(np.mean(told) / np.mean(seen) - 1) < 0.15


def test_where_computing_comes_to_take_longer_so_may_the_step_but_not_for_a_pause() -> None:
    """At the iteration at which it does; one checkpoint between two iterations says nothing about the step."""
    steps = PERIOD_NS * (1 + 0.001 * np.random.default_rng(4).standard_normal(40))
    longer, paused = steps.copy(), steps.copy()
    longer[20:] *= 1.5
    paused[20] += 60e9
    usual, slower, once = (errors(edges_of(s), s) for s in (steps, longer, paused))
    assert slower.known_ns[20] == pytest.approx(UNSEEN_SHARE * 0.5 * PERIOD_NS, rel=0.01)
    assert np.count_nonzero(slower.known_ns) == 1
    assert not once.known_ns.any()
    np.testing.assert_allclose(once.mean_ns(), usual.mean_ns(), rtol=0.5)


def test_gradients_that_take_longer_are_no_computing() -> None:
    """A link turns slow: the step does not."""
    steps = np.where(np.arange(40) < 20, PERIOD_NS, 1.4 * PERIOD_NS)
    assert errors(edges_of(steps), steps).known_ns.any()
    assert not errors(edges_of(steps), np.full(40, 0.8 * PERIOD_NS)).known_ns.any()


def test_computing_ends_where_the_last_endpoint_sends_gradients() -> None:
    """Its first ones; messages between stages are none. Where none are seen in an iteration, all of it may be."""
    told = operations(
        (3, DP, 1, 0, 170), (4, DP, 1, 0, 160), (4, DP, 1, 1, 190), (3, PP, 1, 0, 180), (4, PP, 2, 0, 250)
    )
    np.testing.assert_array_equal(computing_ns(told, np.array([100, 200, 300])), [70, 100])


def test_of_a_pipeline_whose_gradients_are_not_seen_the_last_pass_is_not_either() -> None:
    """Four messages an iteration through two stages: time for five passes there and back, two thirds of one is back."""
    pipeline = [(0, PP, 1, slot, 1) for slot in range(4)]
    assert estimate_hidden_step(operations(*pipeline), 3, 2) == pytest.approx(UNSEEN_SHARE + 2 / 15)
    assert estimate_hidden_step(operations(*pipeline, (0, DP, 1, 0, 1)), 3, 2) == UNSEEN_SHARE
