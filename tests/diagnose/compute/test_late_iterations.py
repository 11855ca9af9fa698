"""Iterations in which a cell is late, among iterations that differ in length."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float, Int
from diagnose.compute.late_iterations import find_late_iterations, find_slow_iterations
from diagnose.measures.lesser_half import lesser_halves
from diagnose.measures.stream_rates import Rates
from diagnose.model.own_time import OwnTime
from diagnose.options import MODEL

COUNT = 28
SINCE = np.arange(16, COUNT)
NOW_AND_THEN = np.array([9, 14, 15, 20, 26])
ITERATION_NS, OWN_NS = 1e9, 0.6e9


def job(cells: int, late: Int, times: float, costs: float) -> tuple[OwnTime, Float]:
    """Own times that go with the lengths of sequences, 8 % more or less; the last cell is late, which costs so much."""
    random = np.random.default_rng(3)
    length = np.exp(random.normal(0, 0.08, COUNT))
    own_ns = OWN_NS * length * np.exp(random.normal(0, 0.003, (cells, COUNT)))
    own_ns[-1, late] *= times
    durations_ns = ITERATION_NS + OWN_NS * (length - 1)
    durations_ns[late] += costs * ITERATION_NS
    durations_ns[0] = np.nan
    return OwnTime(np.arange(cells), own_ns), durations_ns


@pytest.mark.parametrize("late", [SINCE, NOW_AND_THEN], ids=["from then on", "now and then"])
@pytest.mark.parametrize(("cells", "stages"), [(8, 1), (8, 4), (4, 4)], ids=["peers", "one peer", "other stages"])
def test_who_exceeds_its_peers_is_late_however_long_sequences_are(late: Int, cells: int, stages: int) -> None:
    """By 15 % of its own time, which all wait for."""
    own, durations_ns = job(cells, late, 1.15, 0.09)
    found = find_late_iterations(own, np.arange(cells) * stages // cells, durations_ns, 0.05, MODEL)
    assert found is not None
    assert found.interval.only == tuple(late.tolist())
    assert found.interval.slowdown_ratio == pytest.approx(1.09, abs=0.015)
    np.testing.assert_allclose(found.own.own_ns[0] / OWN_NS, 1.0, rtol=0.1)


@pytest.mark.parametrize(
    ("times", "costs"), [(1.0, 0.0), (1.15, 0.0), (1.15, 0.03)], ids=["nothing", "slack", "little"]
)
def test_what_nobody_waits_for_is_not_late(times: float, costs: float) -> None:
    """Iterations must be longer for it."""
    own, durations_ns = job(8, SINCE, times, costs)
    assert find_late_iterations(own, np.zeros(8, np.int64), durations_ns, 0.05, MODEL) is None


def test_iterations_of_unknown_length_count_for_neither() -> None:
    """Records were lost in two of the late ones and three of the others."""
    own, durations_ns = job(8, SINCE, 1.15, 0.09)
    durations_ns[[2, 5, 6, 20, 21]] = np.nan
    found = find_late_iterations(own, np.zeros(8, np.int64), durations_ns, 0.05, MODEL)
    assert found is not None
    assert found.interval.only == tuple(n for n in SINCE.tolist() if n not in {20, 21})
    assert not {2, 5, 6, 20, 21} & set(found.interval.baseline)


def test_who_has_no_time_of_its_own_is_compared_with_nobody() -> None:
    """One cell never has any, another in most iterations; a third one is late."""
    own, durations_ns = job(8, SINCE, 1.15, 0.09)
    own.own_ns[0] = 0.0
    own.own_ns[1, 1:20] = 0.0
    found = find_late_iterations(own, np.zeros(8, np.int64), durations_ns, 0.05, MODEL)
    assert found is not None
    assert found.interval.only == tuple(SINCE.tolist())


def test_ends_that_fell_on_one_instant_are_no_iterations() -> None:
    """Timestamps of whole seconds leave iterations of no time."""
    own, _ = job(8, SINCE, 1.15, 0.09)
    assert find_late_iterations(own, np.zeros(8, np.int64), np.zeros(COUNT), 0.05, MODEL) is None


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_the_lesser_half_of_nothing_is_not_known(rows: int) -> None:
    """Of no rows, or of a column in which no value is known."""
    values = np.full((rows, 2), np.nan)
    values[:, 1] = np.arange(rows)
    expected = [np.nan, np.nan if rows == 0 else (rows - 1) // 2]
    np.testing.assert_array_equal(lesser_halves(values), expected)


def test_two_iterations_are_no_fault() -> None:
    """As elsewhere three are needed."""
    own, durations_ns = job(8, NOW_AND_THEN[:2], 1.5, 0.3)
    assert find_late_iterations(own, np.zeros(8, np.int64), durations_ns, 0.05, MODEL) is None


def test_a_pause_of_all_makes_nobody_late() -> None:
    """Of the cell that computes least it is the largest share."""
    own, durations_ns = job(4, NOW_AND_THEN, 1.0, 0.5)
    own.own_ns[-1] *= 0.3
    own.own_ns[:, NOW_AND_THEN] += 0.5 * ITERATION_NS
    assert find_late_iterations(own, np.arange(4), durations_ns, 0.05, MODEL) is None


def streams(slow: Int, times: float) -> Rates:
    """Four streams whose rates differ by 2 % from iteration to iteration; the last is slower in some of them."""
    count = np.arange(4)
    rate = 1e11 * np.exp(np.random.default_rng(5).normal(0, 0.02, (4, COUNT)))
    rate[-1, slow] /= times
    volume = np.full((4, COUNT), 1e9)
    nothing = np.zeros((4, COUNT))
    return Rates(count, count, count + 4, 0 * count, rate, rate, volume * 8e9 / rate, volume, nothing, nothing)


@pytest.mark.parametrize("slow", [SINCE, NOW_AND_THEN], ids=["from then on", "now and then"])
def test_iterations_in_which_a_stream_is_slow_are_found_however_long_sequences_are(slow: Int) -> None:
    """Their times alone vary by as much as the link costs."""
    _, durations_ns = job(4, slow, 1.0, 0.09)
    found = find_slow_iterations(streams(slow, 2.0), durations_ns, 0.05, MODEL)
    assert found is not None
    assert found.only == tuple(slow.tolist())
    assert found.slowdown_ratio == pytest.approx(1.09, abs=0.04)


@pytest.mark.parametrize(
    ("slow", "times", "costs"),
    [(SINCE, 1.0, 0.09), (SINCE, 2.0, 0.0), (NOW_AND_THEN[:2], 2.0, 0.5), (np.arange(COUNT), 2.0, 0.0)],
    ids=["no stream", "hidden behind compute", "two iterations", "all along"],
)
def test_iterations_without_a_slow_stream_or_any_loss_are_not_found(slow: Int, times: float, costs: float) -> None:
    """Both are needed: the rate shows where, and the time that it matters."""
    _, durations_ns = job(4, slow, 1.0, costs)
    assert find_slow_iterations(streams(slow, times), durations_ns, 0.05, MODEL) is None


def test_streams_that_pause_show_no_slow_iterations() -> None:
    """What is not sent in every iteration has no rate in some."""
    rates = streams(SINCE, 2.0)
    rates.delivered_bps[:, 3] = np.nan
    _, durations_ns = job(4, SINCE, 1.0, 0.09)
    assert find_slow_iterations(rates, durations_ns, 0.05, MODEL) is None
