"""An iteration of a pipeline ends where all is answered; replicas that save their state now and then are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int, Streams
from datamodel.telemetry.flows import FLOWS, UDP, Flows
from reconstruct.jobs.job_fragments import align_to_iteration
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.jobs.microbatch_count import Microbatches, count_microbatches, pair_streams
from reconstruct.periods.byte_period import StreamPeriods, find_periods
from reconstruct.periods.cycles import CycleTable, cut_cycles
from reconstruct.streams.stream_builder import build_streams

MS, MESSAGE_BYTES = 1_000_000, 30_000_000


def exchange(forth_ns: Int, back_ns: Int) -> Streams:
    """Messages of 2 ms from one endpoint to another, and back; each way has an exporter of its own."""
    start_ns = np.concatenate([forth_ns, back_ns])
    back = np.repeat([0, 1], [len(forth_ns), len(back_ns)])
    columns = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns + 2 * MS,
        "sampler_address": back,
        "src_addr": back,
        "dst_addr": 1 - back,
        "dst_qp": 10 + back,
        "proto": np.full(len(start_ns), UDP),
        "bytes": np.full(len(start_ns), MESSAGE_BYTES),
        "packets": np.full(len(start_ns), 7500),
    }
    return build_streams(Flows(Frame(FLOWS, columns), ("10.0.0.1", "10.0.1.1")))


def pipeline(batches: int, iterations: int, step_ns: int = 230 * MS, unseen: slice = slice(0)) -> Streams:
    """Two stages: each message forward but the first leaves with the one backward of the batch before.

    Those backward are not seen in the iterations `unseen`.
    """
    noise = np.random.default_rng(1).integers(-3 * MS, 3 * MS, (iterations, batches + 1))
    slots = np.arange(batches + 1) * step_ns + noise
    begin = np.arange(iterations)[:, None] * (batches + 1) * step_ns
    seen = np.delete(np.arange(iterations), unseen)
    return exchange((begin + slots[:, :-1]).ravel(), (begin + slots[:, 1:])[seen].ravel())


def replicas(saves_every: int, iterations: int, step_ns: int = 230 * MS) -> Streams:
    """Two that exchange gradients at once, and pause for one more step now and then."""
    noise = np.random.default_rng(1).integers(-3 * MS, 3 * MS, iterations)
    begin = np.arange(iterations) * step_ns + np.arange(iterations) // saves_every * step_ns + noise
    return exchange(begin, begin)


def heard(flow: Streams) -> CycleTable:
    """Both streams at their own beat."""
    return cut_cycles(flow, np.arange(2), find_periods(flow, np.arange(2), 0.5))


def counted(flow: Streams) -> Microbatches:
    """What makes an iteration of both streams."""
    part = heard(flow)
    return count_microbatches(flow, pair_streams(flow, np.arange(2)), part, part.quantum_bytes)


def one_forward_one_back(batches: int, iterations: int, evaluated: int = 0) -> Streams:
    """Two stages, passes backward twice as long as passes forward, micro-batches of other lengths.

    After three of the iterations some more go forward alone.
    """
    random = np.random.default_rng(2)
    forth: list[float] = []
    back: list[float] = []
    now = 0.0
    for iteration in range(iterations):
        length = random.uniform(0.7, 1.3, batches)
        sent = [now + length[0] / 3, now + (length[0] + length[1]) / 3]
        first, second = sent[1], sent[0]  # when each stage is free again
        for k in range(batches):
            second = max(second, sent[k]) + length[k]
            back.append(second)
            first = max(first, second) + length[k] * 2 / 3
            if k + 2 < batches:
                first += length[k + 2] / 3
                sent.append(first)
        now = first + 0.1
        if iteration in (4, 11, 21):
            sent += [now + 0.4 * k for k in range(evaluated)]
            now += 0.4 * evaluated
        forth += sent
    return exchange(
        *(np.array(times, np.float64).astype(np.int64) for times in (np.array(forth) * 3e8, np.array(back) * 3e8))
    )


def test_iterations_end_where_all_is_answered() -> None:
    """However long micro-batches take."""
    flow = one_forward_one_back(8, 30)
    assert [len(job.edges) for job in find_jobs(flow, frozenset(), JobOptions()).jobs] == [30]


def test_evaluations_are_not_answered_so_iterations_are_those_of_the_answers() -> None:
    """Messages forward number 258, messages back 30 times 8."""
    flow = one_forward_one_back(8, 30, evaluated=6)
    paired, forth = pair_streams(flow, np.arange(2)), heard(flow).take(np.array([0]))
    found = count_microbatches(flow, paired, forth, forth.quantum_bytes)
    assert (found.times, found.stream.tolist()) == (8, [1])
    assert found.quantum_bytes == pytest.approx(8 * MESSAGE_BYTES, rel=1e-4)


def test_some_longer_records_make_no_longer_iterations() -> None:
    """A meter writes two iterations into each of its first eight records, one into each later one."""
    begin = np.array([*range(0, 16, 2), *range(16, 28)]) * 800 * MS
    flow = exchange(begin, begin + 400 * MS)
    size = np.tile(np.repeat([2, 1], [8, 12]) * MESSAGE_BYTES, 2)
    paired, part = pair_streams(flow, np.arange(2)), heard(flow)
    longer = replace(flow, bytes=size)
    assert count_microbatches(longer, paired, part, np.full(2, float(MESSAGE_BYTES))).times == 1


@pytest.mark.parametrize("unseen", [slice(13), slice(11, 24)])
def test_answers_that_could_not_be_seen_are_not_missing(unseen: slice) -> None:
    """Where answers were seen for half of the time, what they answer shows more iterations than they do."""
    flow = pipeline(8, 24, unseen=unseen)
    forth = heard(flow).take(np.array([0]))
    found = count_microbatches(flow, pair_streams(flow, np.arange(2)), forth, forth.quantum_bytes)
    assert (found.times, found.stream.tolist()) == (8, [])


def test_answers_that_another_part_has_are_cut_once() -> None:
    """A part whose answers are taken is left out, whichever comes first."""
    flow = one_forward_one_back(8, 30, evaluated=6)
    forth, back = (heard(flow).take(np.array([n])) for n in (0, 1))
    for parts in ([forth], [forth, back], [back, forth]):
        (part,) = align_to_iteration(flow, parts, np.arange(2))
        assert part.stream.tolist() == [1]


@pytest.mark.parametrize("unseen", [slice(13), slice(11, 24)])
def test_messages_whose_answers_nobody_could_see_do_not_go_alone(unseen: slice) -> None:
    """One of two exporters is heard later, or falls silent."""
    flow = pipeline(8, 24, unseen=unseen)
    assert counted(flow).times == 8


@pytest.mark.parametrize(("batches", "times"), [(2, 1), (4, 4), (8, 8), (16, 16)])
def test_messages_that_go_alone_end_an_iteration(batches: int, times: int) -> None:
    """Whatever the number of micro-batches; of two the pauses alternate, and the beat is the iteration already."""
    flow = pipeline(batches, 12)
    assert counted(flow).times == times
    found = find_jobs(flow, frozenset(), JobOptions())
    assert [len(job.edges) for job in found.jobs] == [12]


def test_a_pause_of_both_directions_ends_none() -> None:
    """Replicas that save their state after every eighth iteration have no lone messages."""
    flow = replicas(8, 96)
    assert counted(flow).times == 1
    assert len(find_jobs(flow, frozenset(), JobOptions()).jobs[0].edges) == 96


def test_what_happens_once_is_no_rule() -> None:
    """A message that one direction sends alone, in three iterations of a hundred, is an accident."""
    both = np.arange(100) * 230 * MS
    flow = exchange(both + 100 * MS * np.isin(np.arange(100), (10, 45, 90)), both)
    assert counted(flow).times == 1


def aligned(flow: Streams, messages: tuple[int, int]) -> list[int]:
    """Messages an iteration of the streams that are kept, where so many were heard to come back."""
    beats = StreamPeriods(np.array(messages) * float(MESSAGE_BYTES), np.full(2, float(MESSAGE_BYTES)), np.ones(2))
    part = align_to_iteration(flow, [cut_cycles(flow, np.arange(2), beats)], np.arange(2))[0]
    messages_per_iteration: list[int] = np.rint(part.quantum_bytes / MESSAGE_BYTES).astype(int).tolist()
    return messages_per_iteration


def test_evaluations_that_one_direction_sends_make_no_longer_iterations() -> None:
    """Eight further messages after every twelfth iteration come back three times: that stream is left to be aligned."""
    begin = (np.arange(40) * 100 + np.arange(40) // 12 * 60) * MS
    further = (begin[11:36:12, None] + np.arange(80, 160, 10) * MS).ravel()
    assert aligned(exchange(np.sort(np.concatenate([begin, further])), begin + 50 * MS), (20, 1)) == [1]


def test_gradients_that_are_seen_a_few_times_end_iterations_of_many_micro_batches() -> None:
    """They are silent during seven micro-batches of eight."""
    begin = np.arange(48) * 100 * MS
    assert aligned(exchange(begin, begin[7::8] + 50 * MS), (1, 1)) == [8, 1]
