"""Dwell times and the background of their spectra, as plain arithmetic has them."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.jobs.dwell_spectrum import BACKGROUND_CYCLES, LONGEST_SHARE, STEPS_A_CYCLE, dwell_ns, flattened


@pytest.mark.parametrize("points", [12, 500])
def test_time_is_spread_evenly_between_two_points(points: int) -> None:
    """Long pauses are clipped at the length which, with the longer ones, holds a share of all time."""
    random = np.random.default_rng(points)
    time_ns, position = (np.cumsum(random.exponential(size=points)) for _ in range(2))
    position -= position[0]
    gap = np.diff(time_ns)
    longest = np.sort(gap)[::-1]
    cap = longest[np.searchsorted(np.cumsum(longest), LONGEST_SHARE * np.cumsum(longest)[-1])]
    clock = np.concatenate([[0.0], np.cumsum(np.minimum(gap, cap))])
    apart = position + np.arange(points) * 1e-9 * position[-1]
    expected = np.diff(np.interp(np.linspace(0.0, apart[-1], 257), apart, clock))
    np.testing.assert_allclose(dwell_ns(time_ns, position, 256), expected, rtol=0, atol=1e-9 * cap)


def test_points_of_equal_position_keep_the_time_between_them() -> None:
    """A pause is no shorter because nothing was sent in it."""
    position = np.repeat(np.arange(6.0), 2)
    assert dwell_ns(np.arange(12.0), position, 256).sum() == pytest.approx(11.0)


@pytest.mark.parametrize("steps", [40, 1000, 3000])
def test_the_background_is_the_median_around(steps: int) -> None:
    """Also where power changes suddenly, so that the median before says nothing of the next one."""
    random = np.random.default_rng(steps)
    power = random.exponential(size=steps) * np.where(np.arange(steps) < steps // 2, 1.0, 50.0)
    stretch = min(BACKGROUND_CYCLES * STEPS_A_CYCLE, steps)
    centres = np.arange(stretch // 2, steps, stretch // 4)
    medians = [np.median(power[c - stretch // 2 : c + stretch // 2 + 1]) for c in centres.tolist()]
    expected = power / (np.interp(np.arange(steps), centres, medians) / np.log(2))
    np.testing.assert_allclose(flattened(power), expected, rtol=1e-12)
