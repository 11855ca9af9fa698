"""The fundamental behind the peaks of a spectrum."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.jobs.dwell_spectrum import STEPS_A_CYCLE, Spectrum
from reconstruct.sampled.jobs.fundamental import fundamental


def spectrum(peaks: dict[float, float], cycles: int = 400, connections: int = 16) -> Spectrum:
    """Noise of many connections, with peaks of given height at given cycles."""
    power = np.random.default_rng(3).gamma(connections, 1 / connections, cycles * STEPS_A_CYCLE)
    for place, height in peaks.items():
        power[round(place * STEPS_A_CYCLE)] = height
    return Spectrum(power, connections)


def test_the_first_harmonic_need_not_show() -> None:
    """Sharded training shows the second, fourth, fifth and ninth multiple of 26 cycles."""
    found = fundamental(spectrum({52: 4.3, 103.75: 20.0, 129.75: 12.0, 233.5: 10.0}))
    assert found is not None
    assert found.cycles == pytest.approx(25.95, abs=0.05)


def test_the_strongest_peak_need_not_be_the_first() -> None:
    """Four micro-batches an iteration stand out more than the iteration."""
    found = fundamental(spectrum({30: 20.0, 60: 12.0, 90: 8.0, 120: 35.0}))
    assert found is not None
    assert found.cycles == pytest.approx(30, abs=0.1)


def test_a_pure_rhythm_is_its_own_fundamental() -> None:
    """A half of it would explain the peaks as well; the greatest that does is meant."""
    found = fundamental(spectrum({40: 20.0, 80: 9.0}))
    assert found is not None
    assert found.cycles == pytest.approx(40, abs=0.1)


def test_noise_has_none() -> None:
    """What chance makes of sixteen connections is no peak."""
    assert fundamental(spectrum({})) is None


def test_multiples_are_measured_by_what_lower_ones_tell() -> None:
    """Half a step at the first peak is two cycles at the eighth: each peak sharpens what the next is measured by."""
    true = 27.86
    peaks = {round(k * true * STEPS_A_CYCLE) / STEPS_A_CYCLE: 60.0 / k for k in range(1, 9)}
    peaks[27.75] = peaks.pop(min(peaks))
    found = fundamental(spectrum(peaks))
    assert found is not None
    assert found.cycles == pytest.approx(true, abs=0.05)
    assert len(found.peaks) >= 8
