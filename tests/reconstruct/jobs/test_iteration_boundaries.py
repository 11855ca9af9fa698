"""Where iterations end, of streams that pause for long: the moment at which all pause, iteration by iteration."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Int
from reconstruct.jobs.iteration_boundaries import Boundaries, cut_where_most_pause
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.periods.boundary_times import BoundaryTimes, peaks
from reconstruct.streams.stream_builder import build_streams
from tests.workloads.feed import EPOCH_NS, Feed, Message, flows

ITERATIONS, REPLICAS, PERIOD_NS = 40, 4, 1000
PASSES_END_NS, GRADIENTS_NS = 600, (720, 1050)  # after the iteration began; its passes begin at once


def pauses(late_ns: Int) -> BoundaryTimes:
    """Of each replica's passes and gradients, if the passes of one end late; gradients begin where the own passes end.

    The passes pause from their end to the next iteration, gradients from their end to the next ones.
    """
    begun = PERIOD_NS * np.arange(ITERATIONS + 1)
    first, last = GRADIENTS_NS
    end, begin = [], []
    for replica in range(REPLICAS):
        late = late_ns if replica == 1 else np.zeros(ITERATIONS, np.int64)
        end.append(begun[:-1] + PASSES_END_NS + late)
        begin.append(begun[1:] + 100)
        end.append(begun[:-1] + last)
        begin.append(begun[1:] + first + np.append(late[1:], 0))
    offsets = ITERATIONS * np.arange(2 * REPLICAS + 1)
    return BoundaryTimes(offsets, np.concatenate(end), np.concatenate(begin))


def ends_with_gradients(met: BoundaryTimes) -> bool:
    """Whether the passes and the gradients of one iteration are counted as one."""
    shifts = cut_where_most_pause(met)
    return len(np.unique(shifts)) == 1


def test_iterations_end_at_the_longest_of_the_moments_at_which_all_pause() -> None:
    """Here all pause for longer between passes and gradients than between gradients and passes."""
    assert not ends_with_gradients(pauses(np.zeros(ITERATIONS, np.int64)))


def test_iterations_do_not_end_before_gradients_that_a_late_replica_delays() -> None:
    """The other replicas begin their gradients before its passes end, in a third of the iterations: not all pause."""
    late_ns = np.where(np.arange(ITERATIONS) % 3 == 0, 200, 0)
    assert ends_with_gradients(pauses(late_ns))


@pytest.mark.parametrize(
    ("counts", "lows", "weights", "highest"),
    [
        ([3, 5, 5, 2, 4, 1], [1, 3, 4, 2, 2, 1], [0, 1, 2, 0, 0, 0], [2, 4]),
        ([5, 1, 2, 5], [4, 1, 1, 2], [1, 0, 0, 2], [3]),
        ([4, 5, 4, 4, 5, 4], [3, 4, 4, 4, 4, 4], [1, 0, 0, 2, 3, 0], [4]),
        ([3, 3, 3], [2, 2, 2], [0, 2, 1], [1]),
        ([8, 8], [4, 4], [1, 0], [0, 1]),
    ],
    ids=["two", "across the end", "a dip that is no fall", "flat", "a fall between places"],
)
def test_peaks_are_parted_by_a_fall(counts: list[int], lows: list[int], weights: list[int], highest: list[int]) -> None:
    """Of equal ones the one that weighs most."""
    assert sorted(peaks(np.array(counts), np.array(lows), np.array(weights, np.float64), 1.5).tolist()) == highest


def sharded_ring(iterations: int) -> Message:
    """Messages of four ranks: each second they gather for 50 ms, compute for 650 ms and sum gradients for 280 ms.

    The gradients of each rank begin within 5 ms of one another's.
    """
    ranks, random = np.arange(4), np.random.default_rng(3)
    second_ns = np.repeat(np.arange(iterations) * 1_000_000_000, 2 * len(ranks))
    gathers = np.tile(np.repeat([True, False], len(ranks)), iterations)
    src = np.tile(ranks, 2 * iterations)
    late_ns = random.integers(0, 5_000_000, len(src))
    start_ns = second_ns + np.where(gathers, 0, 700_000_000 + late_ns)
    end_ns = second_ns + np.where(gathers, 50_000_000, 980_000_000)
    size = np.where(gathers, 20_000_000, 300_000_000)
    return Message(src, (src + 1) % len(ranks), start_ns, end_ns, size, np.zeros(len(src), np.int64))


def test_a_job_seen_from_its_first_byte_begins_an_iteration_with_it() -> None:
    """All streams pause longest inside the iteration, but a window seldom begins and ends in a pause of 20 ms."""
    (job,) = find_jobs(build_streams(flows([], Feed(), [sharded_ring(20)])), frozenset(), JobOptions()).jobs
    assert np.array_equal(job.edges_ns - EPOCH_NS, np.arange(20) * 1_000_000_000 + 980_000_000)


def test_a_window_cut_out_of_a_job_may_begin_in_a_long_pause() -> None:
    """It holds whole cycles then, and iterations are cut at the longest pause."""
    window = flows([], Feed(from_s=0.4, to_s=18.4), [sharded_ring(20)])
    (job,) = find_jobs(build_streams(window), frozenset(), JobOptions()).jobs
    assert np.array_equal((job.edges_ns - EPOCH_NS) % 1_000_000_000, np.full(len(job.edges_ns), 50_000_000))


def boundaries(crossed: list[str], late_ns: list[int]) -> Boundaries:
    """Streams that cross the boundaries marked `#`, each so late, in iterations of 1000 ns."""
    met = np.array([[mark == "#" for mark in row] for row in crossed])
    end = EPOCH_NS + PERIOD_NS * np.arange(1, met.shape[1] + 1) + np.array(late_ns)[:, None]
    begin = np.where(met & np.roll(met, -1, axis=1), end + 100, 0)
    return Boundaries(np.zeros(len(met), np.int64), met.argmax(axis=1), np.where(met, end, 0), begin)


@pytest.mark.parametrize(
    ("crossed", "complete"),
    [
        (["####", "####", "####"], [0, 1, 2, 3]),
        (["####", "##..", "##.."], [0, 1]),  # a hang, or the end of a feed
        (["####", "..##", "..##"], [2, 3]),  # not seen before
        (["########", "###.....", "...##...", ".....###"], [0, 1, 2, 3, 4, 5, 6, 7]),  # replaced, and again
        (["########", "###.....", ".....###"], [0, 1, 2, 5, 6, 7]),  # replaced later: who ends last is away meanwhile
    ],
)
def test_streams_that_were_replaced_do_not_close_iterations_after_that(crossed: list[str], complete: list[int]) -> None:
    """Nor those that replaced them before; the first stream ends earlier than the others."""
    numbers, _ = boundaries(crossed, [0] + [200] * (len(crossed) - 1)).edges()
    assert numbers.tolist() == complete
