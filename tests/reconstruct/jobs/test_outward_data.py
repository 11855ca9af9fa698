"""Iterations that end with weights for engines, or a checkpoint, are found one by one."""

import numpy as np
import pytest

from datamodel.reconstructed.streams import Int
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.jobs.outward_data import covered_ns, differ_by_outward_data, find_outward_times
from reconstruct.streams.stream_builder import build_streams
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams
from tests.workloads.feed import Feed, Message, flows

RANKS, ITERATIONS, BYTES = 4, 31, 4_000_000
STEP_S, GIVEN_S = 1.0, 1.0


def outward(*parts: tuple[int, int, list[tuple[float, float, int]]]) -> list[list[float]]:
    """Starts and ends, in seconds, of what goes out of a job of endpoints 0 and 1 beside one of endpoint 9."""
    made = streams([(src, dst, 5 + n, own) for n, (src, dst, own) in enumerate(parts)])
    taken = np.isin(np.arange(len(made.addresses)), (0, 1, 9))
    found = find_outward_times(made, np.ones(len(parts), np.bool_), np.array([0, 1]), taken)
    return [[round(ns / SECOND, 3) for ns in column] for column in found.tolist()]


def test_a_chain_lasts_until_its_last_endpoint_has_all() -> None:
    """Neither what comes back from there, nor another job's traffic, nor the ranks' own is a part of it."""
    weights = [(0, 5, [(1.0, 2.0, 1000)]), (5, 6, [(1.5, 2.5, 1000)]), (0, 5, [(4.0, 5.0, 1000)])]
    others = [(0, 1, [(0.0, 1.0, 900)]), (5, 0, [(3.0, 3.1, 10)]), (9, 6, [(3.2, 3.3, 900)]), (0, 9, [(6.0, 7.0, 9)])]
    assert outward(*weights, *others) == [[1.0, 4.0], [2.5, 5.0]]
    assert outward(*others) == [[], []]


def test_the_time_covered_is_that_between_edges() -> None:
    """Also where it goes on beyond one of them."""
    given: Int = np.array([[10, 40], [20, 60]])
    assert covered_ns(given, np.array([0, 15, 30, 50, 70])).tolist() == [5, 5, 10, 10]
    assert covered_ns(np.zeros((2, 0), np.int64), np.array([0, 15])).tolist() == [0]


def iterations_found(every: int, taker: int | None, messages: int = 1) -> int:
    """How many iterations are found of a ring of four that rests after every so many.

    Args:
        every: iterations from one rest to the next.
        taker: to whom all ranks send meanwhile; None: to nobody.
        messages: that a rank sends in an iteration, the pause before the first one longer than the others.
    """
    random = np.random.default_rng(3)
    lasted = STEP_S * random.normal(1, 0.003, ITERATIONS)
    rests = np.arange(1, ITERATIONS + 1) % every == 0
    begins = np.cumsum(lasted + GIVEN_S * rests) - lasted - GIVEN_S * rests
    starts = (begins[:, None] + 0.5 * lasted[:, None] + 0.2 * np.arange(messages)).ravel()
    columns = [(rank, (rank + 1) % RANKS, start, 0.05, BYTES) for rank in range(RANKS) for start in starts]
    if taker is not None:
        ends = (begins + lasted)[rests]
        columns += [(rank, taker, end, GIVEN_S, 20 * BYTES) for rank in range(RANKS) for end in ends]
    src, dst, start_s, length_s, size = (np.array(c) for c in zip(*columns, strict=True))
    start_ns = np.rint(start_s * SECOND).astype(np.int64)
    ends_ns = start_ns + np.rint(length_s * SECOND).astype(np.int64)
    sent = Message(src, dst, start_ns, ends_ns, size, np.zeros(len(src), np.int64))
    jobs = find_jobs(build_streams(flows([], Feed(), [sent])), frozenset(), JobOptions()).jobs
    assert [len(job.endpoints) for job in jobs] == [RANKS]
    return len(jobs[0].edges)


@pytest.mark.parametrize("every", [2, 3])
def test_iterations_that_wait_for_weights_in_turn_are_found_one_by_one(every: int) -> None:
    """All are as long once the weights are taken off."""
    assert iterations_found(every, taker=8) == ITERATIONS


def test_iterations_that_weights_make_longer_by_little_are_found_one_by_one() -> None:
    """By 4 %. Where that is not what makes it longer, or both give data away, two are one iteration."""
    edges = np.cumsum(np.tile([1000, 1040], 10))
    weights: Int = np.stack([edges[1::2] - 40, edges[1::2]])
    numbers = np.arange(len(edges))
    assert differ_by_outward_data(numbers, edges, weights, 2)
    assert not differ_by_outward_data(numbers, edges, np.stack([edges - 40, edges]), 2)
    assert not differ_by_outward_data(numbers, np.cumsum(np.tile([800, 1240], 10)), weights, 2)


def test_what_alternates_and_gives_nothing_away_is_one_iteration() -> None:
    """A scatter, the optimizer step, a gather, and the passes."""
    assert iterations_found(2, taker=None) == ITERATIONS // 2


def test_parts_that_differ_by_more_than_what_is_given_away_are_one_iteration() -> None:
    """Two micro-batches and then weights, in every iteration."""
    assert iterations_found(1, taker=8, messages=2) == ITERATIONS
