"""Intervals: the textbook's values, and that they hold what they should hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowprism.evaluation.intervals import bootstrap, poisson_upper, wilson


def test_wilson_is_the_textbooks() -> None:
    """Newcombe (Statistics in Medicine 17, 1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20 and 1 of 29."""
    found = [tuple(round(end, 4) for end in wilson(*case)) for case in ((81, 263), (15, 148), (0, 20), (1, 29))]
    assert found == [(0.2553, 0.3662), (0.0624, 0.1605), (0.0, 0.1611), (0.0061, 0.1718)]


def test_nothing_measured_is_nothing_known() -> None:
    """No case leaves every share possible."""
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 200), st.integers(1, 200))
def test_wilson_holds_its_share(hits: int, more: int) -> None:
    """The share lies inside, and the interval inside what shares can be."""
    low, high = wilson(hits, hits + more)
    assert 0 <= low <= hits / (hits + more) <= high <= 1


@pytest.mark.parametrize("count", range(6))
def test_poisson_bound_leaves_a_twentieth(count: int) -> None:
    """Were the rate at the bound, so few events or fewer would be seen one time in twenty."""
    rate = poisson_upper(count)
    fewer = sum(math.exp(-rate) * rate**k / math.factorial(k) for k in range(count + 1))
    assert fewer == pytest.approx(0.05)


def test_bootstrap_is_about_two_standard_errors_wide_and_repeats() -> None:
    """On a thousand normal values."""
    values = np.random.default_rng(7).normal(10, 2, 1000).tolist()
    low, high = bootstrap(values)
    assert (low, high) == bootstrap(values)
    assert high - low == pytest.approx(4 * 2 / math.sqrt(1000), rel=0.15)
    assert low < np.mean(values) < high


def test_a_weighted_bootstrap_follows_the_heavy_ones() -> None:
    """A value of no weight does not count."""
    assert bootstrap([1.0, 1.0, 5.0], [1.0, 1.0, 0.0]) == (1.0, 1.0)
