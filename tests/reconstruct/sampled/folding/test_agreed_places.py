"""Connections of like bytes part their messages at the same places."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from reconstruct.sampled.folding.agreed_places import agreed_places

WHOLE = np.array([0.0, 1.0])


def test_a_place_that_one_of_many_shows_is_chance() -> None:
    """Eight connections of a ring send one message, though one of them seems to send two."""
    shown = [WHOLE] * 7 + [np.array([0.0, 0.3, 1.0])]
    assert all(places.tolist() == [0.0, 1.0] for places in agreed_places(shown, np.full(8, 1e9)))


def test_a_place_that_most_show_is_there_in_all() -> None:
    """Samples hide it in two; the others show it nearly there, and one of them shows a further one."""
    shown = [np.array([0.0, at, 1.0]) for at in (0.49, 0.5, 0.5, 0.51)] + [np.array([0.0, 0.25, 0.5, 1.0]), WHOLE]
    for places in agreed_places(shown, np.full(6, 1e9) + np.arange(6)):
        assert places == pytest.approx([0.0, 0.5, 1.0], abs=0.01)


def test_messages_of_a_pipeline_stay_apart() -> None:
    """Quarters that all connections show to a hundredth, though neighbors meet where their places are sorted."""
    chance = np.random.default_rng(3)
    shown = [np.array([0.0, *(np.arange(1, 4) / 4 + chance.uniform(-0.015, 0.015, 3)), 1.0]) for _ in range(32)]
    assert agreed_places(shown, np.full(32, 1e8))[0] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0], abs=0.01)


def test_connections_of_other_bytes_do_not_vote() -> None:
    """A pipeline's connections part in halves, the rings next to it send at once."""
    shown = [np.array([0.0, 0.5, 1.0])] * 2 + [WHOLE] * 6
    found = agreed_places(shown, np.array([1e6] * 2 + [1e9] * 6))
    assert [len(places) for places in found] == [3] * 2 + [2] * 6


def test_memory_grows_with_the_places_not_with_their_square() -> None:
    """The rings of a thousand GPUs show thousands of places."""
    chance = np.random.default_rng(5)
    shown = [np.array([0.0, *(np.arange(1, 9) / 9 + chance.uniform(-0.015, 0.015, 8)), 1.0]) for _ in range(600)]
    tracemalloc.start()
    try:
        found = agreed_places(shown, np.full(600, 1e9))[0]
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == pytest.approx(np.arange(10) / 9, abs=0.01)
    assert peak_bytes < 64e6
