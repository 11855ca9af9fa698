"""Few different values told apart without sorting all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.numeric.factorize import SLOTS, factorize, factorize_rows

WORDS = st.one_of(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1))


@pytest.mark.parametrize("different", [1, 50, SLOTS // 2, SLOTS // 2 + 1, 5 * SLOTS])
def test_values_have_their_place_among_the_different_ones(different: int) -> None:
    """Negative ones, those of two halves and those that fill a table too."""
    random = np.random.default_rng(different)
    some = np.concatenate([random.integers(-9, 1 << 24, different), np.arange(different) << 32 | 5])[:different]
    values = random.choice(some, 20 * different)
    expected = np.unique(values, return_inverse=True)
    found = factorize(values)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=60))
def test_rows_have_their_place_among_the_different_ones(rows: list[tuple[int, int, int]]) -> None:
    """Kinds come in the order of tuples, whatever the numbers, each with its first row."""
    first, kind = factorize_rows(*(np.array(values, np.int64) for values in zip(*rows, strict=True)))
    kinds = sorted(set(rows))
    assert kind.tolist() == [kinds.index(row) for row in rows]
    assert first.tolist() == [rows.index(one) for one in kinds]


def test_no_rows_are_of_no_kind() -> None:
    """Columns without rows have neither first rows nor places."""
    nothing = np.zeros(0, np.int64)
    assert [len(column) for column in factorize_rows(nothing, nothing)] == [0, 0]


def test_nothing_has_no_place() -> None:
    """Nor one that is the same in all rows another than the first."""
    assert [len(column) for column in factorize(np.zeros(0, np.int32))] == [0, 0]
    assert [column.tolist() for column in factorize(np.broadcast_to(np.int32(7), 3))] == [[7], [0, 0, 0]]
