"""Micro-batches whose messages are alike make an iteration of those that take turns in how long they last."""

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jobs.job_recognition import JobOptions, Recognition, find_jobs
from reconstruct.periods.cycles_in_turn import count_cycles_in_turn
from reconstruct.streams.stream_builder import build_streams
from tests.reconstruct.traffic_classes.hand_made import SECOND
from tests.workloads.feed import Feed, Message, flows

RANKS, BATCHES, ITERATIONS, BYTES = 4, 4, 16, 4_000_000
STEP_RATIO = 0.1


def lasted(pattern: list[float], turns: int, spread: float = 0.003) -> Float:
    """Times of cycles that repeat a pattern, with noise."""
    return np.tile(pattern, turns) * np.random.default_rng(5).normal(1, spread, turns * len(pattern))


def counted(lasted_s: Float) -> int:
    """Cycles of an iteration, numbered from 3 on."""
    return count_cycles_in_turn(np.arange(3, 3 + len(lasted_s)), lasted_s * SECOND)


@pytest.mark.parametrize(
    "pattern", [[1.0, 1.1], [1.0, 1.0, 1.0, 1.1], [1.15, 1.15, 1.0, 1.6], [1.3, 1, 1, 1, 1, 1]], ids=str
)
def test_the_optimizer_step_ends_an_iteration_of_several_cycles(pattern: list[float]) -> None:
    """One of two to six cycles is longer; others may differ among themselves."""
    assert counted(lasted(pattern, 14)) == len(pattern)


def test_sequences_of_varying_length_hide_no_turns() -> None:
    """A third longer once an iteration, where micro-batches vary by a twentieth."""
    assert counted(lasted([1.0, 1.0, 1.0, 1.33], 16, spread=0.05)) == 4


def test_a_cycle_that_is_not_known_is_left_out() -> None:
    """The others keep their places in their turns."""
    known = np.arange(64) != 21
    assert count_cycles_in_turn(np.flatnonzero(known), lasted([1.0, 1.0, 1.0, 1.1], 16)[known] * SECOND) == 4


@pytest.mark.parametrize("turns", [2, 7])
def test_what_came_back_a_few_times_may_be_a_checkpoint(turns: int) -> None:
    """Eight turns are the fewest."""
    assert counted(lasted([1.0, 1.0, 1.0, 1.5], turns)) == 1


def test_a_checkpoint_after_every_twelfth_iteration_makes_no_turns() -> None:
    """However often it was seen: more than eight cycles are no turn."""
    assert counted(lasted([1.0] * 11 + [3.0], 20)) == 1


def test_cycles_of_no_length_are_counted() -> None:
    """As where the timeouts of a meter hide every second edge; what is around a cycle may have no length at all."""
    assert counted(lasted([0.0, 1.6], 14)) == 2
    assert counted(np.zeros(24)) == 1
    assert counted(np.concatenate([np.zeros(9), lasted([1.0, 1.0], 20)])) == 1


@pytest.mark.parametrize("most", [4.0, 0.25, 20.0])
@pytest.mark.parametrize("cycles", [24, 32, 64])
def test_what_gets_longer_and_longer_takes_no_turns(most: float, cycles: int) -> None:
    """Or shorter: of forty jobs none, though each cycle differs from the one before."""
    for draw in range(40):
        noise = np.random.default_rng(draw).normal(1, 0.01, cycles)
        assert counted(np.geomspace(1, most, cycles) * noise) == 1
        assert counted(np.linspace(1, most, cycles) * noise) == 1


def test_what_is_longer_by_less_than_messages_take_is_no_optimizer_step() -> None:
    """By 3 %, however regularly."""
    assert counted(lasted([1.0, 1.0, 1.0, 1.03], 16, spread=0.0003)) == 1


@pytest.mark.parametrize("pattern", [[1.0, 1.3], [1.0, 1.0, 1.3]], ids=str)
def test_faults_that_set_in_one_after_the_other_hide_no_turns(pattern: list[float]) -> None:
    """Each makes all cycles five times as long, where places of a turn differ by a third."""
    cycles = len(pattern) * 34
    slower = 5.0 ** (np.arange(cycles) * 3 // cycles)
    assert counted(slower * lasted(pattern, 34)) == len(pattern)


def test_cycles_that_are_alike_take_no_turns_when_faults_set_in() -> None:
    """Of five hundred jobs none, with two changes of pace."""
    random = np.random.default_rng(11)
    slower = 5.0 ** (np.arange(64) * 3 // 64)
    assert {counted(slower * cycles) for cycles in random.lognormal(0, 0.1, (500, 64))} == {1}


def test_iterations_of_a_recording_that_is_played_again_and_again_take_no_turns() -> None:
    """They differ by place to the microsecond, and one is shorter than all others; none is longer than all."""
    assert counted(lasted([1.000, 0.995, 1.010, 0.996, 1.012, 0.952], 10, spread=0.0)) == 1


def test_cycles_that_are_alike_take_no_turns() -> None:
    """Of a hundred jobs none, with one cycle in twenty that takes three times as long."""
    random = np.random.default_rng(7)
    alike = random.lognormal(0, 0.05, (100, 64)) * np.where(random.random((100, 64)) < 0.05, 3.0, 1.0)
    assert {counted(cycles) for cycles in alike} == {1}


@pytest.mark.parametrize(("every", "since"), [(1, 18), (3, 0), (3, 18)])
def test_a_fault_that_sets_in_or_lasts_for_several_iterations_takes_no_turns(every: int, since: int) -> None:
    """Slow in every third iteration, in the last two thirds of the window; or for three iterations of six."""
    cycle = np.arange(60)
    slow = cycle % 3 == 2 if every == 1 else cycle // every % 2 == 1
    assert counted(np.where(slow & (cycle >= since), 3.0, 1.0) * lasted([1.0], 60)) == 1


def recognized(counts: list[int]) -> Recognition:
    """Jobs found of rings of four ranks each, which send equal messages once a micro-batch, so many of them."""
    step_s = lasted([1.0] * (BATCHES - 1) + [1 + STEP_RATIO], ITERATIONS)
    start_s = np.cumsum(step_s) - step_s[0]
    columns = [
        (RANKS * rail + rank, RANKS * rail + (rank + 1) % RANKS, start)
        for rail, count in enumerate(counts)
        for rank in range(RANKS)
        for start in start_s[:count].tolist()
    ]
    src, dst, begin_s = (np.array(column) for column in zip(*columns, strict=True))
    begin_ns: Int = np.rint(begin_s * SECOND).astype(np.int64)
    none, size = np.zeros(len(src), np.int64), np.full(len(src), BYTES)
    sent = Message(src, dst, begin_ns, begin_ns + SECOND // 20, size, none)
    return find_jobs(build_streams(flows([], Feed(), [sent])), frozenset(), JobOptions())


def test_iterations_of_equal_micro_batches_are_found_whole() -> None:
    """The step after four of them makes one a tenth longer: sixteen iterations, not 64."""
    (job,) = recognized([BATCHES * ITERATIONS]).jobs
    assert len(job.edges) == ITERATIONS
    assert np.median(np.diff(job.edges_ns)) == pytest.approx((BATCHES + STEP_RATIO) * SECOND, rel=0.01)


def test_rails_that_hang_in_different_micro_batches_are_one_job() -> None:
    """One went on for three more of them, which are a part of an iteration."""
    (job,) = recognized([BATCHES * ITERATIONS - 3, BATCHES * ITERATIONS]).jobs
    assert len(job.endpoints) == 2 * RANKS
