"""Compute of each pipeline stage, and which has more than the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.compute.pass_times import PassDelays
from diagnose.compute.send_delays import SendDelays
from diagnose.compute.stage_compute import StageCompute, stage_compute
from tests.diagnose.hand_made import DP, MS, PP, SECOND

ITERATIONS = np.arange(8)
PEERS = 2


def kind(role: int, towards: int, slot: int, **by_stage_ms: float) -> SendDelays:
    """A send with the same delay at both endpoints of a stage: `s1=20` is 20 ms in stage 1, nan in those not named."""
    delay = np.full((4 * PEERS, len(ITERATIONS)), np.nan)
    for name, value in by_stage_ms.items():
        stage = int(name[1:])
        delay[stage * PEERS : (stage + 1) * PEERS] = value * MS
    return SendDelays(role, towards, slot, delay, delay + SECOND * (role == DP))


def pipeline(last_ms: float = 45, first_ms: float = 20, batches: int = 4) -> tuple[SendDelays, ...]:
    """Three stages; the middle one computes 10 ms forward and 20 ms backward a micro-batch."""
    forward = [kind(PP, 1, n, s0=100 if n == 0 else 10, s1=10) for n in range(batches)]
    backward = [kind(PP, -1, n, s1=20, s2=last_ms) for n in range(batches)]
    return (*forward, *backward, kind(DP, 0, 0, s0=first_ms, s1=3, s2=2))


STAGES = np.repeat([0, 1, 2], PEERS)


def of_stages(kinds: tuple[SendDelays, ...], of: Int) -> tuple[SendDelays, ...]:
    """The sends of as many endpoints as have a stage."""
    return tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns[: len(of)], k.start_ns[: len(of)]) for k in kinds)


def compute(kinds: tuple[SendDelays, ...], stages: int = 3) -> StageCompute:
    """Compute of the stages over all iterations."""
    of = np.repeat(np.arange(stages), PEERS)
    found = stage_compute(of_stages(kinds, of), of, ITERATIONS)
    assert found is not None
    return found


def test_forward_and_backward_add_up() -> None:
    """10 + 20 ms in the middle, both at once at the last; at the first one the forward pass may or may not be in it."""
    found = compute(pipeline())
    np.testing.assert_allclose(found.least_ns, np.array([20, 30, 45]) * MS)
    np.testing.assert_allclose(found.most_ns, np.array([30, 30, 45]) * MS)
    assert found.micro_batches == 4


def test_delays_of_a_stage_are_looked_up_once() -> None:
    """The first stage of three sends forward only; what it takes is asked for again and again."""
    forward, backward = (next(k for k in of_stages(pipeline(), STAGES) if k.towards == way) for way in (1, -1))
    passes = PassDelays(STAGES, ITERATIONS)
    assert passes.sends(forward).tolist() == [True, True, False]
    assert passes.delays([forward, backward], 0)[0] is passes.delays([forward], 0)[0]
    assert [one.median_ns for one in passes.delays([forward, backward], 0)] == [100 * MS]


def test_the_forward_pass_is_at_most_half_of_the_backward() -> None:
    """Of the 10 ms before the first stage's messages only 6 can be compute where its backward pass takes 12."""
    found = compute(pipeline(first_ms=12))
    assert (found.least_ns[0], found.most_ns[0]) == (12 * MS, 18 * MS)


def test_with_one_micro_batch_the_first_stage_is_unknown() -> None:
    """All that is seen before its message holds the optimizer step: the middle one's compute stands for it."""
    found = compute(pipeline(batches=1))
    assert (found.least_ns[0], found.most_ns[0], found.micro_batches) == (30 * MS, 30 * MS, 1)


def test_the_heaviest_stage_is_certain_or_none() -> None:
    """45 ms stand out from 30 by more than a tenth; 32 ms do not."""
    assert compute(pipeline()).heaviest() == 2
    assert compute(pipeline(last_ms=32)).heaviest() is None
    assert compute(pipeline(last_ms=34)).heaviest() == 2


@pytest.mark.parametrize(("apart_ms", "seen_ms"), [(50, 50), (32, 15)])
def test_a_last_stage_whose_input_waits_computes_at_its_own_pace(apart_ms: int, seen_ms: int) -> None:
    """The next activations cut its 50 ms to 15 ms; gradients 32 ms apart are the pace of stages of 30 ms."""
    kinds = [
        replace(k, start_ns=k.delay_ns + k.slot * apart_ms * MS) if k.towards == -1 else k for k in pipeline(last_ms=15)
    ]
    found = compute(tuple(kinds))
    assert found.least_ns[2] == seen_ms * MS
    assert found.heaviest() == (2 if seen_ms == apart_ms else None)


def test_bounds_must_not_overlap() -> None:
    """The first stage takes 24 to 34 ms: a last one of 37 is not the heaviest for certain, one of 38 is."""
    assert compute(pipeline(last_ms=37, first_ms=24)).heaviest() is None
    assert compute(pipeline(last_ms=38, first_ms=24)).heaviest() == 2


def test_even_stages_would_save_the_excess_of_each_micro_batch() -> None:
    """Three further micro-batches take 45 instead of the mean 35 ms: 300 ms could be 270."""
    assert compute(pipeline()).slowdown_ratio(300 * MS) == pytest.approx(300 / 270)
    assert compute(pipeline(last_ms=30)).slowdown_ratio(SECOND) == 1.0


def test_of_several_sends_the_quickest_tells() -> None:
    """Others waited for their receiver; one that was ready before its turn (below a tenth) tells nothing."""
    waited = [kind(PP, -1, n, s1=ms, s2=45) for n, ms in enumerate([60, 22, 31, 0.5])]
    forward = [kind(PP, 1, n, s0=10, s1=10) for n in range(4)]
    assert compute((*forward, *waited, kind(DP, 0, 0, s0=20))).least_ns[1] == pytest.approx(32 * MS)


def test_a_message_more_in_a_few_iterations_is_no_pass() -> None:
    """A record that was lost and filled in may make one more of them; how soon it came after others says nothing."""
    further = kind(PP, -1, 4, s1=2, s2=15)
    further.delay_ns[:, 2:] = further.start_ns[:, 2:] = np.nan
    usual, found = compute(pipeline()), compute((*pipeline(), further))
    assert found.least_ns.tolist() == usual.least_ns.tolist()
    assert found.micro_batches == usual.micro_batches


def test_while_a_pipeline_fills_passes_look_shorter() -> None:
    """The next batch arrives in the middle of the first two passes: the others tell, if there are two of them."""
    forward = [kind(PP, 1, n, s0=10, s1=10) for n in range(4)]
    first = kind(DP, 0, 0, s0=20)
    backward = [kind(PP, -1, n, s1=ms, s2=30) for n, ms in enumerate([14, 17, 20, 21])]
    assert compute((*forward, *backward, first)).least_ns[1] == pytest.approx(30 * MS)
    assert compute((*forward[:3], *backward[:3], first)).least_ns[1] == pytest.approx(24 * MS)


def test_overlapped_gradients_hide_the_first_stage() -> None:
    """A collective that begins inside the backward pass leaves it unknown: taken from the middle, or no answer."""
    assert compute(pipeline(first_ms=2)).least_ns[0] == 30 * MS
    two = (kind(PP, 1, 0, s0=10), kind(PP, -1, 0, s1=30), kind(DP, 0, 0, s0=2, s1=1))
    cut = tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns[:4], k.start_ns[:4]) for k in two)
    assert stage_compute(cut, np.repeat([0, 1], PEERS), ITERATIONS) is None


def test_a_pass_that_gradients_cut_short_does_not_count() -> None:
    """Buckets that are reduced during the last backward pass are events inside it: the others tell 45 ms."""
    early = kind(DP, 0, 0, s0=2, s1=3, s2=2)
    kinds = (*pipeline()[:-2], kind(PP, -1, 3, s1=4, s2=6))
    assert compute((*kinds, replace(early, start_ns=early.delay_ns))).least_ns[2] == 45 * MS
    assert compute((*kinds, early)).least_ns[2] == 6 * MS


def test_two_stages_are_measured() -> None:
    """Without a middle one the first is bounded and the last exact."""
    two = (kind(PP, 1, 0, s0=12), kind(PP, -1, 0, s1=50), kind(DP, 0, 0, s0=20, s1=1))
    found = compute(two, stages=2)
    assert (found.least_ns.tolist(), found.most_ns.tolist()) == ([20 * MS, 50 * MS], [30 * MS, 50 * MS])
    assert found.heaviest() == 1


def test_no_pipeline_is_no_measurement() -> None:
    """One stage, or a pipeline whose messages were not seen, has no compute by stage."""
    assert stage_compute(pipeline(), np.zeros(4 * PEERS, np.int64), ITERATIONS) is None
    gradients = (kind(DP, 0, 0, s0=20, s1=20, s2=20),)
    assert stage_compute(gradients, np.repeat([0, 1, 2, 3], PEERS), ITERATIONS) is None


def test_a_stage_that_was_not_seen_is_no_answer() -> None:
    """Messages of the last stage are missing: no stage can be called the heaviest."""
    kinds = (kind(PP, 1, 0, s0=10, s1=10), kind(PP, -1, 0, s1=20), kind(DP, 0, 0, s0=20))
    cut = tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns[:6], k.start_ns[:6]) for k in kinds)
    assert stage_compute(cut, STAGES, ITERATIONS) is None


def test_an_interleaved_pipeline_is_not_measured() -> None:
    """The last stage sends forward to the first: what arrives during a pass hides how long it took."""
    wraps = [kind(PP, -2, n, s2=10) for n in range(4)]
    assert stage_compute(of_stages((*pipeline(), *wraps), STAGES), STAGES, ITERATIONS) is None


@pytest.mark.parametrize("role", ["tp", "cp", "ep"])
def test_exchanges_of_each_layer_over_the_fabric_hide_passes(role: str) -> None:
    """What leads to a message is the last of them, not a whole pass."""
    exchange = kind(ROLES.index(role), 0, 0, s0=5, s1=5, s2=5)
    cut = tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns[:6], k.start_ns[:6]) for k in (*pipeline(), exchange))
    assert [compute(kinds).heaviest() for kinds in (cut, cut[:-1])] == [None, 2]


def test_two_interleaved_stages_are_not_measured() -> None:
    """The first seems to compute 60 ms a micro-batch, and yet sends two 40 ms apart: they are chunks of its layers."""
    for apart_ms, known in ((60, True), (40, False)):
        sends = [kind(PP, 1, n, s0=10 if n < 2 else 60) for n in range(4)]
        timed = [
            SendDelays(k.role, 1, n, k.delay_ns, np.where(k.delay_ns > 0, apart_ms * n * MS, np.nan))
            for n, k in enumerate(sends)
        ]
        kinds = (*timed, *(kind(PP, -1, n, s1=30) for n in range(4)), kind(DP, 0, 0, s0=40, s1=1))
        cut = tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns[:4], k.start_ns[:4]) for k in kinds)
        assert (stage_compute(cut, np.repeat([0, 1], PEERS), ITERATIONS) is not None) == known


def test_of_two_stages_the_last_pass_of_an_iteration_waited_for_nobody() -> None:
    """Where a last stage is quicker before the others, these were forward passes of a chunk: it may compute as much."""
    for last_ms, heaviest in ((20, 0), (40, None)):
        sent = [kind(PP, 1, n, s0=12 if n < 2 else 40) for n in range(4)]
        forward = [replace(k, start_ns=np.where(k.delay_ns > 0, 40 * k.slot * MS, np.nan)) for k in sent]
        backward = [kind(PP, -1, n, s1=20 if n < 3 else last_ms) for n in range(4)]
        found = compute((*forward, *backward, kind(DP, 0, 0, s0=27, s1=1)), stages=2)
        assert found.heaviest() == heaviest


def test_passes_that_differ_by_themselves_tell_no_stage_apart() -> None:
    """The last stage takes 45 ms on the median, the others 30, but every pass may take half or twice as long."""
    uneven = np.tile([0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 1.5, 2.0], (3 * PEERS, 1))
    kinds = tuple(
        SendDelays(k.role, k.towards, k.slot, k.delay_ns[: 3 * PEERS] * uneven, k.start_ns[: 3 * PEERS])
        for k in pipeline()
    )
    found = stage_compute(kinds, STAGES, ITERATIONS)
    assert found is not None
    assert found.spread_ratio == pytest.approx(0.1875)
    assert compute(pipeline()).heaviest() == 2
    wider = tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns * uneven, k.start_ns) for k in kinds)
    spread = stage_compute(wider, STAGES, ITERATIONS)
    assert spread is not None
    assert spread.spread_ratio > 0.3
    assert StageCompute(found.least_ns, found.most_ns, 4, spread_ratio=0.6).heaviest() is None


def test_no_stage_computes_longer_than_the_iteration() -> None:
    """Four passes of 45 ms do not fit into 100 ms: what was measured is no compute."""
    assert compute(pipeline()).slowdown_ratio(100 * MS) == 1.0


def test_gradients_ahead_of_the_last_message_overlap() -> None:
    """A collective that begins before a later stage sends its last message is no end of the first stage's pass."""
    early = [k if k.role != DP else SendDelays(DP, 0, 0, k.delay_ns, k.start_ns - 2 * SECOND) for k in pipeline()]
    assert compute(pipeline(first_ms=12)).least_ns[0] == 12 * MS
    assert compute(tuple(early)).least_ns[0] == 30 * MS  # unknown: the middle one stands for it


def test_messages_that_go_together_hide_what_set_a_pass_going() -> None:
    """Two micro-batches that leave the middle stage as one message: its delay runs from long before."""
    together = tuple(k for k in pipeline(batches=2) if (k.towards, k.slot) != (1, 1))
    last = kind(PP, 1, 1, s0=10)
    assert stage_compute(of_stages((*together, last), STAGES), STAGES, ITERATIONS) is None


def test_stages_of_unequal_size_are_no_grid() -> None:
    """Where the layout is not known well enough to be even, stages are not compared."""
    cut = tuple(SendDelays(k.role, k.towards, k.slot, k.delay_ns[:5], k.start_ns[:5]) for k in pipeline())
    assert stage_compute(cut, np.array([0, 0, 1, 1, 2]), ITERATIONS) is None
