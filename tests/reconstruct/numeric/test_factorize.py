"""Few different values told apart without sorting all."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.numeric.factorize import SLOTS, factorize


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


def test_nothing_has_no_place() -> None:
    """Nor one that is the same in all rows another than the first."""
    assert [len(column) for column in factorize(np.zeros(0, np.int32))] == [0, 0]
    assert [column.tolist() for column in factorize(np.broadcast_to(np.int32(7), 3))] == [[7], [0, 0, 0]]
