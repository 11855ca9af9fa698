"""Two clocks that saw the same moments: how far one is ahead, or that it cannot be told."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Int
from reconstruct.clocks.offset_fit import shift

MS, S = 10**6, 10**9
RANDOM = np.random.default_rng(1)


def messages(iterations: int, jitter_ns: float = 4.0 * MS) -> Int:
    """Eight messages an iteration of 2 s, a fifth of a second apart; iterations and messages vary by chance."""
    begin = np.cumsum(RANDOM.normal(2 * S, jitter_ns, iterations))
    within = np.arange(8) * 0.2 * S + RANDOM.normal(0, jitter_ns / 4, (iterations, 8)).cumsum(axis=1)
    return np.asarray(np.sort((begin[:, None] + within).ravel()), np.int64)


def by_other_clock(moments: Int, offset_ns: float, drift_ppm: float) -> Int:
    """The same moments by a clock that is ahead and runs faster."""
    return np.asarray((moments + offset_ns + drift_ppm * 1e-6 * (moments - moments[0])), np.int64)


@pytest.mark.parametrize("offset_ms", [-230, 0, 150, 390])
@pytest.mark.parametrize("drift_ppm", [-100, 50])
def test_offset_and_drift_are_found(offset_ms: int, drift_ppm: int) -> None:
    """Of messages stamped to the ms, to a tenth of one; though all messages but one fit at a fifth of a second."""
    true = messages(30)
    other = by_other_clock(true, offset_ms * MS, drift_ppm)
    found = shift([(other // MS * MS, true // MS * MS)])
    assert found is not None
    assert found.lead_ns == pytest.approx(np.mean(other - true), abs=0.1 * MS + 4 * found.error_ns)
    assert found.drift_ppm == pytest.approx(drift_ppm, abs=5)
    assert found.error_ns < 0.2 * MS


def test_an_hour_is_followed_to_its_ends() -> None:
    """60 ppm in an hour are 216 ms: more than lies between two messages."""
    true = messages(1800)
    found = shift([(by_other_clock(true, 100 * MS, 60), true)])
    assert found is not None
    assert found.drift_ppm == pytest.approx(60, abs=0.1)


def test_sparse_samples_show_it_within_their_gaps() -> None:
    """Several connections whose first packet seen comes 3 ms late in the mean."""
    moments = []
    for _ in range(6):
        true = messages(30, jitter_ns=12.0 * MS)
        seen = [np.sort(m + RANDOM.exponential(3 * MS, len(m)).astype(np.int64)) for m in (true + 150 * MS, true)]
        moments.append((seen[0], seen[1]))
    found = shift(moments)
    assert found is not None
    assert found.lead_ns == pytest.approx(150 * MS, abs=2 * MS)


def test_what_fits_at_several_shifts_is_not_told() -> None:
    """Moments like clockwork fit one period further as well."""
    true = np.arange(400) * 200 * MS
    assert shift([(true + 30 * MS, true)]) is None


def test_what_has_nothing_to_do_with_each_other_is_not_told() -> None:
    """Chance makes no shift stand out."""
    one, other = (np.sort(RANDOM.integers(0, 60 * S, 300)) for _ in range(2))
    assert shift([(one, other)]) is None
    assert shift([]) is None


def test_a_clock_that_jumps_is_not_told() -> None:
    """Half of the time it is 300 ms further ahead than in the other half."""
    true = messages(200)
    other = true + 100 * MS + np.where(true > true[len(true) // 2] + 20 * S, 300 * MS, 0)
    assert shift([(other, true)]) is None


@pytest.mark.parametrize("seed", range(10))
def test_a_drift_within_its_error_is_none(seed: int) -> None:
    """Of noisy moments in half a minute a slope is chance; at the ends it would be a millisecond or more."""
    random = np.random.default_rng(seed)
    true = messages(12)
    found = shift([(np.sort(true + random.normal(0, 0.6 * MS, len(true)).astype(np.int64)), true)])
    assert found is not None
    assert found.drift_ppm == 0.0


def test_clocks_do_not_drift_apart_by_a_thousandth() -> None:
    """Where moments lie on such a line it is something else that draws them apart."""
    true = messages(12, 0.1 * MS)
    assert shift([(by_other_clock(true, 0, 1000), true)]) is None
