"""Rows are sorted as by a plain comparison of their columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.row_order import sorted_order

VALUES = st.one_of(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**40))


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=40))
def test_order_is_that_of_tuples(rows: list[tuple[int, int, int]]) -> None:
    """Any integers, few bits or all 64, come in the order of tuples, equal ones as they were."""
    columns = [np.array(values, np.int64) for values in zip(*rows, strict=True)]
    expected = sorted(range(len(rows)), key=lambda row: rows[row])
    assert sorted_order(columns).tolist() == expected


@pytest.mark.parametrize("ties", [1, 30, 5000])
def test_rows_that_agree_in_leading_columns(ties: int) -> None:
    """Wide columns behind are sorted within the rows that agree, few or many, of any kind of integer."""
    random = np.random.default_rng(ties)
    first = random.integers(0, 1 << 50, ties)[random.integers(0, ties, 5000)]
    second = random.integers(0, 2**64 - 1, ties, dtype=np.uint64)[random.integers(0, ties, 5000)]
    columns = [first, second, first % 2 == 0, random.integers(-(2**63), 2**63 - 1, 5000)]
    assert sorted_order(columns).tolist() == np.lexsort(columns[::-1]).tolist()


def test_many_narrow_columns() -> None:
    """Columns that do not fit into one integer together are taken in turns."""
    random = np.random.default_rng(7)
    columns = [random.integers(0, 1 << 12, 5000) for _ in range(9)]
    assert sorted_order(columns).tolist() == np.lexsort(columns[::-1]).tolist()
