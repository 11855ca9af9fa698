"""Distance from peers and from the past, by function."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTION_NAMES, FUNCTIONS
from diagnose.patterns.function_distance import function_distances

BACKWARD, DP = FUNCTION_NAMES.index("backward"), FUNCTION_NAMES.index("dp")
NAN = float("nan")


def patterns(
    duration_s: npt.ArrayLike, rate_bps: npt.ArrayLike = NAN, function: int = BACKWARD, stages: int = 1
) -> Frame:
    """One function of some endpoints; stages take turns."""
    durations = np.asarray(duration_s, np.float64)
    count = len(durations)
    same = dict.fromkeys(("critical_share", "rate_spread_bps", "duty", "late_s"), np.zeros(count))
    given = {"endpoint": np.arange(count), "function": np.full(count, function), "stage": np.arange(count) % stages}
    return Frame(FUNCTIONS, {**same, **given, "duration_s": durations, "rate_bps": np.broadcast_to(rate_bps, count)})


def test_longer_than_peers_is_unlike_and_shorter_is_not() -> None:
    """In units of 1 %, where peers are as alike as healthy GPUs."""
    found = function_distances(patterns([1.0, 1.0, 1.05, 1.0, 0.9]))
    assert found.tolist() == pytest.approx([0, 0, 4.88, 0, 0], abs=0.01)


def test_stages_are_not_compared_with_each_other() -> None:
    """One takes twice as long as the other."""
    found = function_distances(patterns([1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.2], stages=2))
    assert np.flatnonzero(found > 1).tolist() == [7]


def test_noisy_peers_make_all_alike() -> None:
    """5 % among peers that differ by as much."""
    noisy = np.exp(np.random.default_rng(1).normal(0, 0.05, 200))
    noisy[7] = np.median(noisy) * 1.05
    assert function_distances(patterns(noisy))[7] < 1.5


def test_a_slower_link_is_unlike() -> None:
    """As long as the others, as all wait for it, at half the rate."""
    found = function_distances(patterns([1.0] * 5, [4e9, 4e9, 2e9, 4e9, 4e9], DP))
    assert np.flatnonzero(found > 3).tolist() == [2]


def test_what_was_always_so_is_no_change() -> None:
    """The third was as long before; the fourth became longer; a newcomer is compared with its peers alone."""
    before = patterns([1.0, 1.0, 1.1, 1.0])
    found = function_distances(patterns([1.0, 1.0, 1.1, 1.1, 1.2, *[1.0] * 6]), before)
    assert found[2] == pytest.approx(0, abs=1e-3)
    assert found[3] > 3
    assert found[4] > 3
    alone = patterns([1.0, 1.0, 1.1])
    assert function_distances(alone, patterns([])).tolist() == function_distances(alone).tolist()


def test_unknown_values_and_no_rows_are_no_distance() -> None:
    """No rate of compute, and a table without rows."""
    assert function_distances(patterns([NAN, 1.0, 1.0])).tolist() == [0, 0, 0]
    assert len(function_distances(patterns([]))) == 0
