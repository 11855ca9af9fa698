"""Stages that exchange one message an iteration are found by what they answer one another."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.periods.answered_messages import are_answered
from tests.reconstruct.traffic_classes.hand_made import streams

SIZES = np.random.default_rng(1).integers(1_000_000, 2_000_000, 16)


def test_channels_of_unequal_counts_share_out_no_messages() -> None:
    """One of two channels lacks a message: which parts belong together is not known."""
    made = [
        (a, b, channel, [(n + late, n + late + 0.1, int(size)) for n, size in enumerate(SIZES)][channel - 1 :])
        for a, b, late in ((0, 1, 0.0), (1, 0, 0.4))
        for channel in (1, 2)
    ]
    assert not are_answered(streams(made), np.arange(4)).any()


@pytest.mark.parametrize(
    ("delay_s", "extra", "first", "answered"),
    [(0.4, 0, 0, True), (0.4, 0, 1, True), (0.0, 0, 0, False), (1.1, 0, 0, False), (0.4, 9, 0, False)],
    ids=["later", "later, from the second on", "at once", "after the next one", "in another size"],
)
def test_what_comes_back_in_its_size_before_the_next(delay_s: float, extra: int, first: int, answered: bool) -> None:
    """Activations of one batch, over two channels, and their gradients."""
    ways = [(0, 1, 0.0, 0, first), (1, 0, delay_s, extra, 0)]
    made = [
        (a, b, channel, [(n + late, n + late + 0.1, int(size) + more) for n, size in enumerate(SIZES)][since:])
        for a, b, late, more, since in ways
        for channel in (1, 2)
    ]
    assert are_answered(streams(made), np.arange(4)).tolist() == [answered] * 4


@pytest.mark.parametrize(("messages", "answered"), [(9, True), (7, False)])
def test_as_many_answers_as_a_window_holds_iterations_are_enough(messages: int, answered: bool) -> None:
    """Fewer may be those of a checkpoint or an evaluation."""
    made = [
        (a, b, 1, [(n + late, n + late + 0.1, int(size)) for n, size in enumerate(SIZES[:messages])])
        for a, b, late in ((0, 1, 0.0), (1, 0, 0.4))
    ]
    assert are_answered(streams(made), np.arange(2)).tolist() == [answered] * 2
