"""Bursts of drawn packets -> the volumes that come back."""

from __future__ import annotations

import numpy as np

from reconstruct.sampled.caches.cached_bursts import EvenBursts, cached_bursts
from reconstruct.sampled.caches.equal_parts import even_bursts
from tests.reconstruct.sampled.caches.cached_training import Burst, drawn

RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def evened(bursts: list[Burst], seed: int = 1) -> tuple[EvenBursts, list[bool]]:
    """The bursts without chance, and which connections are faint."""
    even, faint = even_bursts(cached_bursts(drawn(bursts, 1000, seed)))
    return even, faint.tolist()


def test_bursts_of_a_ring_are_equal_to_the_last_sample() -> None:
    """All members of it, in all iterations."""
    even, faint = evened([Burst(a, b, 5.0 * k, 0.8, 900_000) for k in range(20) for a, b in RING])
    assert faint == [False] * 4
    assert len(even.samples) == 80
    assert np.allclose(even.samples, even.samples[0])
    assert abs(even.samples[0] - 900) < 4 * np.sqrt(900 / 80)


def test_two_bursts_of_an_iteration_keep_their_volumes() -> None:
    """Gathering and scattering, one half of the other."""
    ends = [(k, a, b) for k in range(20) for a, b in RING]
    first = [Burst(a, b, 8.0 * k, 0.5, 300_000) for k, a, b in ends]
    second = [Burst(a, b, 8.0 * k + 2, 0.5, 600_000) for k, a, b in ends]
    even, faint = evened(sorted(first + second, key=lambda burst: burst.start_s))
    assert faint == [False] * 4
    samples = even.samples.reshape(-1, 2)
    assert np.allclose(samples.sum(axis=1), samples.sum(axis=1)[0])
    assert np.allclose(samples[:, 0], 300, rtol=0.03)
    assert np.allclose(samples[:, 1], 600, rtol=0.03)


def test_a_burst_that_a_straggler_breaks_in_two_is_as_much_as_before() -> None:
    """A tenth of the ring's bytes goes out, and the rest when the straggler is there."""
    whole = [Burst(a, b, 5.0 * k, 0.4, 800_000) for k in range(10) for a, b in RING]
    broken = [
        b
        for k in range(10, 20)
        for a, c in RING
        for b in (Burst(a, c, 50 + 7.0 * (k - 10), 0.05, 80_000), Burst(a, c, 50 + 7.0 * (k - 10) + 1.5, 0.4, 720_000))
    ]
    even, faint = evened(whole + broken)
    assert faint == [False] * 4
    iterations = [np.add.reduceat(own, [*range(10), *range(10, 30, 2)]) for own in even.samples.reshape(4, 30)]
    assert np.allclose(iterations, iterations[0][0])


def test_what_the_window_cuts_off_is_no_whole_part() -> None:
    """The first burst stays a third of the others."""
    bursts = [Burst(a, b, 5.0 * k, 0.8, 900_000 if k else 300_000) for k in range(20) for a, b in RING]
    even, faint = evened(bursts)
    assert faint == [False] * 4
    first = even.samples.reshape(4, 20)[:, 0]
    assert (first < 0.5 * even.samples[1]).all()


def test_volumes_that_differ_by_more_than_chance_are_not_made_equal() -> None:
    """Sequences of varying length."""
    chance = np.random.default_rng(3)
    size = (chance.uniform(0.7, 1.3, 20) * 900_000).astype(int)
    counted = cached_bursts(drawn([Burst(0, 1, 5.0 * k, 0.8, int(size[k])) for k in range(20)], 1000, 1))
    even, faint = even_bursts(counted)
    assert faint.tolist() == [True]
    assert np.array_equal(even.samples, counted.samples)


def test_a_part_of_bursts_too_faint_to_be_seen_each_time_is_one_burst() -> None:
    """Eight bursts of five drawn packets an iteration."""
    bursts = [Burst(0, 1, 20.0 * k + 1.5 * n, 0.01, 5000) for k in range(20) for n in range(8)]
    even, faint = evened(bursts)
    assert faint == [True]
    assert len(even.samples) == 20
    assert np.allclose(even.samples, even.samples[0])
