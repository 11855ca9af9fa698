"""Streams without a rhythm belong to a job when they carry in its iterations what others of it do."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Streams
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.jobs.time_aligned_streams import align_in_bytes
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams

RANKS, ITERATIONS, BYTES = 6, 20, 12_000_000
# Of an iteration: what the slow stream sends for, and when the others, which wait for it, have ended.
BUSY, ENDED = 0.998, 0.995
# The stream that the rank behind the slow one sends, and what it carries.
NEXT = np.array([0]), np.array([float(BYTES)])
Rows = list[tuple[float, float, int]]


def ring(busy: Rows) -> Streams:
    """A ring of ranks that gather three times an iteration and pause in between; rows of the last stream are given."""
    paused: Rows = [(n + at, n + at + 0.2, BYTES // 3) for n in range(ITERATIONS) for at in (0.0, 0.39, ENDED - 0.2)]
    every = [(n, (n + 1) % RANKS, n, paused if n < RANKS - 1 else busy) for n in range(RANKS)]
    return streams(every)


def without_pauses(each_bytes: list[int], cuts: int = 5) -> Rows:
    """Rows that follow one another, parted elsewhere in each iteration: so much as is given in each."""
    random = np.random.default_rng(3)
    rows: Rows = []
    for n, size in enumerate(each_bytes):
        share = np.concatenate([[0.0], np.sort(random.uniform(0.05, 0.95, cuts)), [1.0]])
        sent = np.rint(share * size).astype(np.int64)
        at = n + BUSY * share
        pairs = zip(at[:-1].tolist(), at[1:].tolist(), np.diff(sent).tolist(), strict=True)
        rows += [(begin, end - 1e-6, size) for begin, end, size in pairs]
    return rows


def test_a_stream_that_is_busy_all_through_the_iteration_is_part_of_its_ring() -> None:
    """Behind a slow link no place pauses in most iterations; the stream carries what the others do."""
    rows = ring(without_pauses([BYTES] * ITERATIONS))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    assert len(job.endpoints) == RANKS
    assert RANKS - 1 in job.stream_numbers.tolist()


@pytest.mark.parametrize(
    ("each", "taken"),
    [
        ([BYTES] * ITERATIONS, True),
        ([BYTES] * (ITERATIONS - 3) + [BYTES // 2] * 3, True),
        ([BYTES // 2] * ITERATIONS, False),
        ([BYTES + 300_000 * (n % 4 - 2) for n in range(ITERATIONS)], False),
    ],
    ids=["as much", "as much in most", "constant, but less", "as much on average"],
)
def test_as_much_as_members_carry_in_most_iterations(each: list[int], taken: bool) -> None:
    """Bytes decide, whenever they are sent."""
    rows = ring(without_pauses(each))
    edges_ns = np.rint((np.arange(ITERATIONS) + BUSY) * SECOND).astype(np.int64)
    found = align_in_bytes(rows, [RANKS - 1], edges_ns, *NEXT)
    assert bool(found) == taken


def test_as_much_as_a_member_elsewhere_carries_is_chance() -> None:
    """Of the many streams of a job one has any number of bytes; at its own ends there are few."""
    rows = ring(without_pauses([BYTES] * ITERATIONS))
    edges_ns = np.rint((np.arange(ITERATIONS) + BUSY) * SECOND).astype(np.int64)
    assert not align_in_bytes(rows, [RANKS - 1], edges_ns, np.array([2]), np.array([float(BYTES)]))


def test_it_is_cut_once_an_iteration() -> None:
    """All rows that begin before an edge are of its iteration, those behind the last edge of none."""
    rows = ring(without_pauses([BYTES] * ITERATIONS))
    edges_ns = np.rint((np.arange(ITERATIONS - 1) + BUSY) * SECOND).astype(np.int64)
    (found,) = align_in_bytes(rows, [RANKS - 1], edges_ns, *NEXT)
    assert found.iteration.tolist() == [*range(ITERATIONS - 1), -1]
    assert (found.high - found.low).tolist() == [6] * ITERATIONS
    assert found.bursts_per_iteration == 1
