"""When rings end, and how well samples tell it."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float
from reconstruct.sampled.rings.ring_ends import Burst, ring_ends

MS = 1e6
ITERATIONS, MEMBERS = 30, 6


def burst(seed: int, scatter_ms: float, pace_ms: Float, lag_ms: Float, points: int = 5) -> tuple[Burst, Float]:
    """Samples of a ring that moves its bytes in `pace_ms`, members early by `lag_ms` when slowed; and the true ends."""
    chance = np.random.default_rng(seed)
    ends = 1000 * MS * np.arange(1, ITERATIONS + 1) + 5 * MS * chance.standard_normal(ITERATIONS)
    row = np.repeat(np.arange(ITERATIONS), MEMBERS * points)
    member = np.tile(np.repeat(np.arange(MEMBERS), points), ITERATIONS)
    left = chance.uniform(0, 0.25, len(row))
    time_ns = ends[row] - MS * (pace_ms[row] * left + lag_ms[member] * (pace_ms[row] / pace_ms[0] - 1))
    time_ns += scatter_ms * MS * chance.standard_normal(len(row))
    return Burst(row, member, left, time_ns, time_ns, np.zeros(len(row))), ends


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """95 % intervals of 20 windows contain 93 to 97 % of the ends, up to one offset a window."""
    held = []
    for seed in range(20):
        points, ends = burst(seed, 4.0, np.full(ITERATIONS, 200.0), np.zeros(MEMBERS))
        found = ring_ends(points, ITERATIONS)
        off = found.time_ns - ends
        held += (np.abs(off - off.mean()) < 1.96 * found.error_ns).tolist()
    assert 0.93 <= np.mean(held) <= 0.97


def test_more_scatter_is_a_larger_error() -> None:
    """Ten times the scatter, about ten times the error."""
    errors = [
        float(np.median(ring_ends(burst(3, s, np.full(ITERATIONS, 200.0), np.zeros(MEMBERS))[0], ITERATIONS).error_ns))
        for s in (0.4, 4.0)
    ]
    assert 7 < errors[1] / errors[0] < 14


def test_a_slow_link_does_not_move_the_end() -> None:
    """A ring becomes five times slower and all but one member end early: before and after, the last one is meant."""
    pace = np.where(np.arange(ITERATIONS) < 15, 200.0, 1000.0)
    points, ends = burst(5, 1.0, pace, np.array([0.0, 10.0, 14.0, 18.0, 12.0, 16.0]), points=20)
    found = ring_ends(points, ITERATIONS)
    off = (found.time_ns - ends) / MS
    assert abs(off[15:].mean() - off[:15].mean()) < 3.0
    assert np.abs(off[:15] - off[:15].mean()).max() < 1.0
    assert found.moving_ns[0] / MS == np.float64(found.moving_ns[14] / MS)
    assert 150 < found.moving_ns[0] / MS < 250
    assert 900 < found.moving_ns[20] / MS < 1100


def test_the_last_of_many_members_is_told_from_few_points_each() -> None:
    """One of 60 members ends 40 ms after the others, and 14 points show it; where all end alike, chance names none."""
    pace, count = np.full(ITERATIONS, 200.0), 60 * 14
    chance = np.random.default_rng(9)
    member, row = np.repeat(np.arange(60), 14), chance.integers(0, ITERATIONS, count)
    left = chance.uniform(0, 0.25, count)
    alike = 1000 * MS * (row + 1.0) - MS * pace[row] * left + 5 * MS * chance.standard_normal(count)
    late = alike + np.where(member == 7, 40 * MS, 0.0)
    ends = [
        ring_ends(Burst(row, member, left, times, times, np.zeros(count)), ITERATIONS).time_ns
        for times in (alike, late)
    ]
    after = (np.array(ends) / MS - 1000 * np.arange(1, ITERATIONS + 1)).mean(axis=1)
    assert np.abs(after - [0, 40]).max() < 6


def test_an_iteration_without_samples_has_no_end() -> None:
    """One of which a single sample was taken has one, less well known than the others."""
    points, ends = burst(7, 2.0, np.full(ITERATIONS, 200.0), np.zeros(MEMBERS))
    alone = np.flatnonzero(points.row == 9)[0]
    found = ring_ends(points.take((points.row != 4) & ((points.row != 9) | (np.arange(len(points.row)) == alone))), 30)
    assert np.isnan(found.time_ns[4])
    assert abs(found.time_ns[9] - ends[9]) < 10 * MS
    assert found.error_ns[9] > 3 * np.nanmedian(found.error_ns)


def test_an_iteration_between_two_paces_goes_with_the_nearer_one() -> None:
    """A ring becomes five times slower; the first such iteration, at 3.3 times, is laid over the slow ones."""
    pace = np.where(np.arange(ITERATIONS) < 15, 200.0, 1000.0)
    pace[15] = 660.0
    found = ring_ends(burst(6, 1.0, pace, np.zeros(MEMBERS), points=20)[0], ITERATIONS)
    assert 180 < found.moving_ns[14] / MS < 220
    assert 900 < found.moving_ns[15] / MS < 1100
