"""Power at any frequencies, as the sum over all values has it."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.numeric.nonuniform_fft import transform


@pytest.mark.parametrize("most", [7.5, 60.0, 100.0, 127.9])
def test_power_is_that_of_the_sum_over_all_values(most: float) -> None:
    """To rounding error: where values are thinned out, by many or none, and up to two values a cycle."""
    values, cycles = np.random.default_rng(1).exponential(size=256), np.linspace(0.3, most, 97)
    waves = np.exp(-2j * np.pi * cycles[:, None] * np.arange(256) / 256)
    expected = np.abs(waves @ values) ** 2
    np.testing.assert_allclose(transform(256, cycles).power(values), expected, rtol=0, atol=1e-11 * expected.max())


def test_low_frequencies_are_told_by_few_of_many_values() -> None:
    """A harmonic of 32 cycles is transformed at a few hundred points, however many values there are."""
    prepared = transform(1 << 15, np.linspace(29.0, 32.0, 81))
    assert len(prepared.even) < 600
