"""What chance alone may have made different."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.caches.equal_counts import EQUAL_WITHIN, even_counts, scatter


@pytest.mark.parametrize("mean", [20.0, 200.0, 20_000.0])
def test_counts_of_one_volume_are_equal(mean: float) -> None:
    """And those of two volumes are not."""
    chance = np.random.default_rng(7)
    counts = chance.poisson(mean, (2000, 28)).astype(np.float64)
    assert sum(scatter(row, row) > EQUAL_WITHIN for row in counts) <= 3  # 0.2 of 2,000 are expected
    half = np.where(np.arange(28) % 2 == 0, mean, 2 * mean)
    unequal = chance.poisson(half, (200, 28)).astype(np.float64)
    assert sum(scatter(row, row) <= EQUAL_WITHIN for row in unequal) == 0


def test_each_volume_has_one_count() -> None:
    """Whatever the order; all counts together stay as they were."""
    chance = np.random.default_rng(8)
    volume = chance.permutation(np.repeat([300.0, 500.0, 2000.0], 40))
    counts = chance.poisson(volume).astype(np.float64)
    even = even_counts(counts, counts)
    assert len(np.unique(even)) == 3
    for own in (300.0, 500.0, 2000.0):
        assert np.allclose(even[volume == own], own, rtol=0.02)
    assert even.sum() == pytest.approx(counts.sum(), rel=2e-3)


def test_small_counts_are_replaced_by_their_mean() -> None:
    """Not by one of those that count for more the more chance made them; nor are means of several."""
    chance = np.random.default_rng(10)
    counts = chance.poisson(8.0, 400).astype(np.float64) + 1
    assert even_counts(counts, counts).sum() == pytest.approx(counts.sum())
    parts = np.array([2.0, 8.0])
    means = np.array([50.0, 52.0])
    assert even_counts(means, parts * means)[0] == pytest.approx((parts * means).sum() / parts.sum())


def test_means_of_many_samples_are_told_apart_where_single_counts_are_not() -> None:
    """By how many samples they were taken from."""
    means = np.array([100.0, 103.0])
    assert len(np.unique(even_counts(means, means))) == 1
    assert len(np.unique(even_counts(means, 400 * means))) == 2
