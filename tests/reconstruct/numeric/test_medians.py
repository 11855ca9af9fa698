"""Medians of tables with gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from datamodel.reconstructed.streams import Float
from reconstruct.numeric.medians import group_medians, median_over, medians_of_own_group, row_medians, typical_over

CELLS = st.one_of(st.just(np.nan), st.floats(-1e9, 1e9))


@given(arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 9)), elements=CELLS))
def test_rows_have_the_median_of_what_was_seen(values: Float) -> None:
    """As NumPy's nanmedian, row by row; nan where a row holds nothing."""
    expected = [np.nanmedian(row) if np.isfinite(row).any() else np.nan for row in values]
    np.testing.assert_allclose(row_medians(values), np.array(expected).reshape(len(values)))


def test_no_iterations_have_no_median() -> None:
    """An empty baseline is not seen anywhere."""
    assert np.isnan(median_over(np.ones((3, 4)), np.zeros(0, np.int64))).all()


def test_what_is_seen_rarely_is_not_typical() -> None:
    """One of three iterations is too few, two are enough."""
    values = np.array([[1.0, np.nan, np.nan], [1.0, 3.0, np.nan]])
    typical = typical_over(values, np.arange(3))
    assert np.isnan(typical[0])
    assert typical[1] == 2.0


@given(arrays(np.float64, 12, elements=CELLS), arrays(np.int64, 12, elements=st.integers(0, 4)))
def test_groups_have_the_median_of_their_members(values: Float, group: np.ndarray) -> None:
    """As NumPy's nanmedian, group by group; nan for a group without values."""
    found = group_medians(values, group, 6)
    for n in range(6):
        own = values[(group == n) & np.isfinite(values)]
        np.testing.assert_allclose(found[n], np.median(own) if len(own) else np.nan)


def test_each_value_has_the_median_of_its_own_group() -> None:
    """Those of a group that holds nothing have none."""
    values, group = np.array([1.0, 5.0, 3.0, np.nan, 7.0]), np.array([0, 2, 0, 1, 0])
    np.testing.assert_array_equal(medians_of_own_group(values, group), [3.0, 5.0, 3.0, np.nan, 3.0])
    assert not len(medians_of_own_group(values[:0], group[:0]))
