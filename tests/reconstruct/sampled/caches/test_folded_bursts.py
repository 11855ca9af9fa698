"""Bursts of which some were not seen, from where they lie in iterations."""

from __future__ import annotations

import numpy as np

from reconstruct.sampled.caches.cached_bursts import cached_bursts
from reconstruct.sampled.caches.folded_bursts import fold
from tests.reconstruct.sampled.caches.cached_training import MS, SECOND, START, Burst, drawn

PLACES_S = 0.5 + 1.5 * np.arange(6)


def test_bursts_that_were_not_seen_stand_where_they_usually_are() -> None:
    """Of 1.5 drawn packets a burst, two in nine are not seen."""
    edges_s = 20.0 * np.arange(1, 31)
    bursts = [Burst(0, 1, edge - 20 + place, 0.01, 1500) for edge in edges_s for place in PLACES_S]
    found = cached_bursts(drawn(bursts, 1000, 1))
    folded = fold(found, 0, START + (edges_s * SECOND).astype(np.int64), (START, START + 600 * SECOND))
    assert folded is not None
    assert len(folded.samples) == 180
    unseen = np.count_nonzero(~folded.seen)
    assert unseen == 180 - len(found.samples)
    assert 20 <= unseen <= 65  # e^-1.5 of them are 40
    true = START + (np.array([b.start_s for b in bursts]) * SECOND).astype(np.int64)
    assert np.abs(folded.start_ns - true).max() <= 20 * MS
    assert np.allclose(folded.samples, folded.samples[0])
    assert np.isclose(folded.samples.sum(), found.samples.sum())


def test_iterations_that_take_longer_have_places_of_their_own() -> None:
    """From the 15th on the last three bursts come 1.5 s later: where the one before was."""
    lengths = np.where(np.arange(30) < 15, 20.0, 23.0)
    begin_s = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    shift = np.where(np.arange(6) < 3, 0.0, 1.5)
    bursts = [
        Burst(0, 1, float(begin_s[k] + place), 0.01, 2000)
        for k in range(30)
        for place in PLACES_S + (shift if k >= 15 else 0)
    ]
    found = cached_bursts(drawn(bursts, 1000, 2))
    edges_ns = START + (np.cumsum(lengths) * SECOND).astype(np.int64)
    folded = fold(found, 0, edges_ns, (START, int(edges_ns[-1])))
    assert folded is not None
    true = START + (np.array([b.start_s for b in bursts]) * SECOND).astype(np.int64)
    assert len(folded.start_ns) == len(true)
    assert np.abs(folded.start_ns - true).max() <= 20 * MS


def test_no_places_no_bursts() -> None:
    """What is sent at any time is not folded."""
    chance = np.random.default_rng(4)
    bursts = [Burst(0, 1, float(at), 0.01, 1500) for at in np.sort(chance.uniform(0, 600, 150))]
    edges_ns = START + (20.0 * np.arange(1, 31) * SECOND).astype(np.int64)
    assert fold(cached_bursts(drawn(bursts, 1000, 3)), 0, edges_ns, (START, START + 600 * SECOND)) is None


def test_equal_volumes_without_places_stay_where_they_were_seen() -> None:
    """Bursts that come at any time of an iteration, but are as many in each; not if some hold twice as much."""
    chance = np.random.default_rng(6)
    edges_s = 20.0 * np.arange(1, 31)
    begin_s = np.sort(edges_s[:, None] - 20 + chance.uniform(0.5, 19.0, (30, 4)), axis=1)
    edges_ns = START + (edges_s * SECOND).astype(np.int64)
    for double, is_known in ((1, True), (2, False)):
        sent = np.where(np.arange(30) % 2 == 0, 4000, 4000 * double)
        bursts = [Burst(0, 1, float(at), 0.01, int(sent[k])) for k in range(30) for at in begin_s[k]]
        found = cached_bursts(drawn(bursts, 1000, 7))
        folded = fold(found, 0, edges_ns, (START, START + 600 * SECOND))
        assert (folded is not None) == is_known
        if folded is not None:
            assert folded.seen.all()
            whole = np.bincount(np.searchsorted(edges_ns, folded.start_ns), folded.samples)
            assert np.allclose(whole, whole[0])


def test_nothing_is_placed_where_a_connection_was_silent() -> None:
    """It sends nothing in ten of thirty iterations; one of 300 s has its bursts where they were seen."""
    edges_s = np.cumsum(np.where(np.arange(30) == 4, 300.0, 20.0))
    begin_s = np.concatenate([[0.0], edges_s[:-1]])
    sent = np.flatnonzero((np.arange(30) < 10) | (np.arange(30) >= 20)).tolist()
    late = [280.0 if k == 4 else 0.0 for k in range(30)]
    bursts = [Burst(0, 1, float(begin_s[k] + late[k] + place), 0.01, 3000) for k in sent for place in PLACES_S]
    found = cached_bursts(drawn(bursts, 1000, 5))
    edges_ns = START + (edges_s * SECOND).astype(np.int64)
    folded = fold(found, 0, edges_ns, (START, int(edges_ns[-1])))
    assert folded is not None
    iteration = np.searchsorted(edges_ns, folded.start_ns)
    assert set(iteration.tolist()) == set(sent)
    paused = folded.start_ns[iteration == 4] - START
    assert (paused > (begin_s[4] + 275) * SECOND).all()
    assert folded.seen[iteration == 4].all()
    whole = np.bincount(iteration, folded.samples)[sent]
    assert np.allclose(whole, whole[0])
