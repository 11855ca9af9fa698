"""Robust slopes and running medians: NumPy's own, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.lib.stride_tricks import sliding_window_view

from datamodel.reconstructed.streams import Float
from reconstruct.numeric.robust_statistics import (
    MOST_CROWDED,
    WIDE,
    calm_medians,
    evenly,
    in_order,
    median,
    quantile,
    running_deviations,
    running_medians,
    slope,
)

NUMBERS = st.floats(-1e9, 1e9).map(lambda x: round(x, 1))


@given(arrays(np.float64, st.integers(1, 40), elements=NUMBERS), st.integers(1, 12))
def test_every_stretch_has_its_median(values: Float, window: int) -> None:
    """Also where values are equal; there is none where there are fewer values than a stretch has."""
    expected = np.median(sliding_window_view(values, window), axis=1) if len(values) >= window else np.zeros(0)
    np.testing.assert_array_equal(running_medians(values, window), expected)


@pytest.mark.parametrize("window", [WIDE + 1, WIDE + 2, 2999, 3000, 3001])
def test_wide_stretches_have_their_medians_too(window: int) -> None:
    """Also where many values are equal."""
    values = np.round(np.random.default_rng(window).standard_normal(3000), 1)
    expected = np.median(sliding_window_view(values, window), axis=1) if window <= 3000 else np.zeros(0)
    np.testing.assert_array_equal(running_medians(values, window), expected)


@given(arrays(np.float64, st.integers(1, 40), elements=NUMBERS), st.integers(1, 12))
def test_every_stretch_has_its_median_distance(values: Float, window: int) -> None:
    """From its own median, an even number of values or an odd one."""
    np.testing.assert_array_equal(running_deviations(values, window), _deviations(values, window))


@given(arrays(np.float64, st.integers(1, 40), elements=NUMBERS), st.integers(1, 12), st.floats(0.0, 1e9))
def test_what_is_called_calm_is(values: Float, window: int, most: float) -> None:
    """The median of median distances is no more than was said, and medians are as ever."""
    medians, calm = calm_medians(values, window, most)
    np.testing.assert_array_equal(medians, running_medians(values, window))
    deviations = _deviations(values, window)
    assert not calm or np.median(deviations) <= most
    assert calm or not len(deviations) or most < np.ptp(values)


def _deviations(values: Float, window: int) -> Float:
    if len(values) < window:
        return np.zeros(0)
    rows = sliding_window_view(values, window)
    return np.asarray(np.median(np.abs(rows - np.median(rows, axis=1)[:, None]), axis=1), np.float64)


@given(arrays(np.float64, (2, 9), elements=NUMBERS), st.floats(0.0, 1e6))
def test_a_slope_is_the_median_of_those_of_pairs_far_enough_apart(points: Float, least: float) -> None:
    """Pairs nearer to one another than that say nothing."""
    a, b = np.triu_indices(9, 1)
    x, y = points
    apart = np.abs(x[a] - x[b]) > least
    expected = np.median((y[a] - y[b])[apart] / (x[a] - x[b])[apart]) if apart.any() else np.nan
    np.testing.assert_array_equal(slope(x, y, least), expected)


@given(st.integers(0, 1000), st.integers(1, 50))
def test_places_lie_evenly_from_the_first_to_the_last(count: int, most: int) -> None:
    """As a line of so many points, cut to whole numbers."""
    expected = np.linspace(0, count - 1, min(count, most)).astype(np.int64)
    np.testing.assert_array_equal(evenly(count, most), expected)


@given(arrays(np.float64, st.integers(1, 40), elements=NUMBERS), st.floats(0.0, 1.0))
def test_medians_and_quantiles_are_numpys(values: Float, share: float) -> None:
    """To the last digit: reports do not depend on who computes them."""
    assert median(values) == np.median(values)
    assert quantile(values, share) == np.quantile(values, share)


def test_nothing_has_no_median() -> None:
    """And no quantile."""
    assert np.isnan([median(np.zeros(0)), quantile(np.zeros(0), 0.5)]).all()


@pytest.mark.parametrize("crowd", [1, MOST_CROWDED, 20 * MOST_CROWDED])
def test_places_are_put_in_order_however_they_crowd(crowd: int) -> None:
    """Those of one place stay as they were; places outside 0 to 1, and none at all, are no matter."""
    random = np.random.default_rng(crowd)
    places = random.permutation(np.concatenate([np.repeat(random.random(200), crowd), [-1.0, 0.0, 1.0, 2.0]]))
    values = np.arange(float(len(places)))
    order = np.argsort(places, kind="stable")
    np.testing.assert_array_equal(in_order(places, values), (places[order], values[order]))
    assert [len(column) for column in in_order(np.zeros(0), np.zeros(0))] == [0, 0]
