"""Rows of samples as points of curves."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.jit import to_contiguous
from reconstruct.sampled.curves.curve_builder import AMBIGUOUS, DRAWN, FEW, drawn, in_turn, typical


@pytest.mark.parametrize("coarse", [1, 40])
def test_rows_stand_by_connection_time_and_number(coarse: int) -> None:
    """However they came; of equal ones the first that came is the first."""
    random = np.random.default_rng(coarse)
    number, time_ns, sequence = (random.integers(0, most, 500) for most in (4, 400, 9))
    time_ns = time_ns // coarse
    rows, bounds = in_turn(to_contiguous(number), 5, to_contiguous(time_ns), to_contiguous(sequence))
    np.testing.assert_array_equal(rows, np.lexsort([sequence, time_ns, number]))
    np.testing.assert_array_equal(bounds, np.searchsorted(number[rows], np.arange(6)))


@pytest.mark.parametrize("odd", [0.1, 0.6])
def test_what_is_typical_is_the_median(odd: float) -> None:
    """Whether one value is that of more than half or not, and of an even number of them."""
    random = np.random.default_rng(3)
    number = random.integers(0, 5, 301)
    values = np.where(random.random(301) < odd, random.integers(0, 99, 301), 50)
    rows, bounds = np.argsort(number, kind="stable"), np.searchsorted(np.sort(number), np.arange(6))
    expected = [np.median(values[number == n]) for n in range(5)]
    np.testing.assert_array_equal(typical(to_contiguous(number), to_contiguous(values), rows, bounds), expected)


def test_curves_are_drawn_of_enough_samples_whose_wraps_can_be_told() -> None:
    """Positions go on over a wrap, times never go back along them."""
    count = 40
    bounds = np.array([0, count, 2 * count, 2 * count + 5])
    sequence = np.tile((2**32 - 20_000 + 1000 * np.arange(count)) % 2**32, 3)[: bounds[-1]]
    sequence[[10, 11]] = sequence[[11, 10]]
    time_ns = 100 * np.arange(len(sequence))
    came_out, points = drawn(
        np.arange(len(sequence)),
        bounds,
        to_contiguous(sequence),
        np.full(3, 1000.0),
        np.array([10.0, 1e7, 10.0]),
        np.ones(3, np.bool_),
        (to_contiguous(time_ns), to_contiguous(time_ns - 30), to_contiguous(time_ns + 250)),
    )
    assert came_out.tolist() == [DRAWN, AMBIGUOUS, FEW]
    when, earliest_ns, doubt_ns, position = (column[:count] for column in points)
    np.testing.assert_array_equal(position, 1000.0 * np.arange(count))
    np.testing.assert_array_equal(when[9:13], [900.0, 1085.0, 1085.0, 1200.0])
    np.testing.assert_array_equal(earliest_ns[9:13], [870.0, 1070.0, 1070.0, 1170.0])
    np.testing.assert_array_equal(doubt_ns[9:13], [280.0, 180.0, 180.0, 280.0])
