"""Rows of samples as points of curves."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.compiled import whole
from reconstruct.sampled.curves import AMBIGUOUS, DRAWN, FEW, drawn, in_turn


@pytest.mark.parametrize("coarse", [1, 40])
def test_rows_stand_by_connection_time_and_number(coarse: int) -> None:
    """However they came; of equal ones the first that came is the first."""
    random = np.random.default_rng(coarse)
    number, time_ns, sequence = (random.integers(0, most, 500) for most in (4, 400, 9))
    time_ns = time_ns // coarse
    rows, bounds = in_turn(whole(number), 5, whole(time_ns), whole(sequence))
    np.testing.assert_array_equal(rows, np.lexsort([sequence, time_ns, number]))
    np.testing.assert_array_equal(bounds, np.searchsorted(number[rows], np.arange(6)))


def test_curves_are_drawn_of_enough_samples_whose_wraps_can_be_told() -> None:
    """Typical packets are medians; positions go on over a wrap, times never go back along them."""
    count = 40
    number = np.repeat([0, 1, 2], [count, count, 5])
    bounds = np.array([0, count, 2 * count, len(number)])
    sequence = np.tile((2**32 - 20_000 + 1000 * np.arange(count)) % 2**32, 3)[: len(number)]
    sequence[[10, 11]] = sequence[[11, 10]]
    sent = np.where(np.arange(len(number)) % 3 == 0, 500, np.arange(len(number)) + 1000)
    rates, time_ns = np.where(number == 1, 10**7, 10), 100 * np.arange(len(number))
    came_out, packet_bytes, points = drawn(
        np.arange(len(number)),
        bounds,
        whole(sequence),
        whole(sent),
        whole(rates),
        np.ones(3, np.bool_),
        (whole(time_ns), whole(time_ns - 30), whole(time_ns + 250)),
    )
    assert came_out.tolist() == [DRAWN, AMBIGUOUS, FEW]
    np.testing.assert_array_equal(packet_bytes, [np.median(sent[number == n]) for n in range(3)])
    when, earliest_ns, doubt_ns, position = (column[:count] for column in points)
    np.testing.assert_array_equal(position, 1000.0 * np.arange(count))
    np.testing.assert_array_equal(when[9:13], [900.0, 1085.0, 1085.0, 1200.0])
    np.testing.assert_array_equal(earliest_ns[9:13], [870.0, 1070.0, 1070.0, 1170.0])
    np.testing.assert_array_equal(doubt_ns[9:13], [280.0, 180.0, 180.0, 280.0])
