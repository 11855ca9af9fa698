"""Gradients that a short window holds a few bursts of show how many micro-batches make an iteration."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.periods.rare_bursts import count_cycles_between_bursts
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams

CYCLES, MICROBATCHES = 24, 8
EDGES_NS = np.arange(1, CYCLES + 1) * SECOND
RANKS = np.arange(4)


def ring(*bursts: tuple[float, int]) -> list[tuple[float, float, int]]:
    """Transfers that begin behind so many cycles, each of so many bytes."""
    return [(cycle + 0.2, cycle + 0.6, size) for cycle, size in bursts]


def counted(*each: list[tuple[float, float, int]]) -> int:
    """Cycles between the bursts of streams around a ring of four ranks."""
    made = streams([(n, (n + 1) % 4, 5, own) for n, own in enumerate(each)])
    return count_cycles_between_bursts(made, np.arange(len(each)), RANKS, EDGES_NS)


THREE = ring((8, 100), (8.1, 50), (16, 100), (16.1, 50), (24, 100), (24.1, 50))


def test_bursts_part_iterations() -> None:
    """Three of them, with two steps each."""
    assert counted(*[THREE] * 4) == MICROBATCHES


def test_stages_that_are_done_early_reduce_their_gradients_early() -> None:
    """Half an iteration before they gather weights with the others."""
    early = ring((4, 100), (8, 50), (12, 100), (16, 50), (20, 100), (24, 50))
    assert counted(THREE, THREE, early, early) == MICROBATCHES


def test_a_slow_rank_holds_the_last_burst_up() -> None:
    """By two of its micro-batches, for one of the rings."""
    late = ring((7, 100), (15, 100), (24, 100))
    assert counted(THREE, THREE, THREE, late) == MICROBATCHES


def test_the_window_cuts_the_first_and_the_last_burst() -> None:
    """What is left of them counts as one."""
    assert counted(*[ring((0, 30), (8, 100), (16, 100), (24, 10))] * 4) == MICROBATCHES


@pytest.mark.parametrize("own", [
    THREE[:4], ring((8, 100), (11, 100), (24, 100)), ring((6, 100), (12, 30), (18, 100), (24, 100)),
    ring(*((cycle, 100) for cycle in range(CYCLES))), ring((3, 500)),
], ids=["two", "irregular", "unlike", "each cycle", "once"])  # fmt: skip
def test_what_does_not_come_back_shows_nothing(own: list[tuple[float, float, int]]) -> None:
    """Nor what comes back in each cycle."""
    assert counted(*[own] * 4) == 1


def test_bursts_of_a_few_ranks_show_nothing() -> None:
    """All ranks reduce gradients; a copy between two does not part iterations."""
    assert counted(THREE) == 1


def test_without_streams_there_is_nothing_to_count() -> None:
    """Where all have a rhythm."""
    made = streams([(0, 1, 5, THREE)])
    assert count_cycles_between_bursts(made, np.zeros(0, np.int64), RANKS, EDGES_NS) == 1
