"""Rows are sorted as by a plain comparison of their columns."""

from __future__ import annotations

import numpy as np
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


def test_many_narrow_columns() -> None:
    """Columns that do not fit into one integer together are taken in turns."""
    random = np.random.default_rng(7)
    columns = [random.integers(0, 1 << 12, 5000) for _ in range(9)]
    assert sorted_order(columns).tolist() == np.lexsort(columns[::-1]).tolist()
