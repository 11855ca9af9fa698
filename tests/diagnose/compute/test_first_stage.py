"""Bounds of what the first stage of a pipeline computes."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.compute.first_stage import first_stage
from diagnose.compute.pass_times import PassDelays
from diagnose.compute.send_delays import SendDelays
from tests.diagnose.hand_made import DP, MS, PP, SECOND

ITERATIONS = np.arange(8)
STAGES = np.array([0, 1, 2, 3])
# Of stages 1 to 3: 10 ms forward and 20 ms backward each; the last one's passes are not told apart.
OTHERS = (np.array([10.0, 10.0, 0.0]) * MS, np.array([30.0, 30.0, 30.0]) * MS)


def kind(role: int, towards: int, slot: int, delay_ms: dict[int, float], start_ms: float = 0) -> SendDelays:
    """A send of some stages, by stage."""
    delay = np.full((len(STAGES), len(ITERATIONS)), np.nan)
    for stage, value in delay_ms.items():
        delay[stage] = value * MS
    return SendDelays(role, towards, slot, delay, np.where(np.isnan(delay), np.nan, start_ms * MS))


def bounds(forward_ms: list[float], gradient_ms: float, ahead: bool, message_ms: float = 0) -> tuple[float, float]:
    """Of a pipeline whose first stage sends with those delays; `ahead`: gradients begin before the last message."""
    sent = []
    for slot, delay in enumerate(forward_ms):
        both = kind(PP, 1, slot, {0: delay, 1: 10, 2: 10}, start_ms=100 * slot)
        both.start_ns[1] = both.start_ns[0] + (message_ms + 10) * MS
        sent.append(both)
    back = kind(PP, -1, 0, {1: 20, 2: 20, 3: 30}, start_ms=SECOND / MS)
    gradient = kind(DP, 0, 0, {0: gradient_ms, 1: 3, 2: 3, 3: 3}, start_ms=(0.5 if ahead else 2) * SECOND / MS)
    least, most = first_stage([*sent, back], [gradient], PassDelays(STAGES, ITERATIONS), OTHERS)
    return least / MS, most / MS


def test_turns_longer_than_any_other_stage_takes_are_its_own() -> None:
    """Backward and forward pass lie between a gradient and the fifth message: 45 ms, when no other takes over 30."""
    assert bounds([100, 15, 15, 15, 45, 45], gradient_ms=30, ahead=False) == (45, 45)


@pytest.mark.parametrize("turn_ms", [30, 32])
def test_turns_at_the_pace_of_another_stage_tell_nothing(turn_ms: float) -> None:
    """The first stage may have waited: its last backward pass tells, and a forward pass of half of that at most."""
    assert bounds([100, 10, 10, 10, turn_ms, turn_ms], gradient_ms=20, ahead=False) == (20, 30)


def test_forward_passes_tell_where_gradients_are_reduced_meanwhile() -> None:
    """14 ms between its first messages, when the others' forward passes take 10: three times that in all."""
    assert bounds([100, 14, 14, 14], gradient_ms=7, ahead=True) == (42, 42)


def test_a_slow_message_holds_back_the_next_one() -> None:
    """The same 14 ms say nothing where a message takes 4 ms: the next stage was not ready before."""
    least, _ = bounds([100, 14, 14, 14], gradient_ms=7, ahead=True, message_ms=4)
    assert np.isnan(least)


def test_exchanges_inside_the_passes_hide_how_long_the_others_take() -> None:
    """The same turns of 45 ms say nothing where experts exchange tokens: what the others take is not known."""
    sent = [kind(PP, 1, slot, {0: 45}) for slot in range(6)]
    gradient = kind(DP, 0, 0, {0: 60}, start_ms=2 * SECOND / MS)
    least, most = first_stage(sent, [gradient], PassDelays(STAGES, ITERATIONS), None)
    assert (least / MS, most / MS) == (60, 90)
