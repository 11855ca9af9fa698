"""Runs of rows that agree."""

from __future__ import annotations

import numpy as np

from reconstruct.numeric.row_runs import place_within, run_starts

WHO = np.array([2, 2, 2, 5, 5])
WHEN = np.array([0, 0, 1, 1, 1])


def test_a_run_begins_where_any_column_differs() -> None:
    """The first row begins one; without rows there is none."""
    assert run_starts(WHO).tolist() == [True, False, False, True, False]
    assert run_starts(WHO, WHEN).tolist() == [True, False, True, True, False]
    assert run_starts(WHO[:0], WHEN[:0]).tolist() == []


def test_rows_are_counted_within_their_run() -> None:
    """From zero on."""
    assert place_within(WHO, WHEN).tolist() == [0, 1, 0, 0, 1]
    assert place_within(WHO[:0]).tolist() == []
