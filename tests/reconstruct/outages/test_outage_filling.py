"""What a collector missed while it was away is put back; what a job did not send is not made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import Streams
from datamodel.telemetry.flows import Flows
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.outages.outage_filling import fill_outages, outage_warnings
from reconstruct.streams.stream_builder import build_streams
from tests.workloads.feed import EPOCH_NS, Feed, address, flows
from tests.workloads.grid import Grid
from tests.workloads.training import MIB, Fault, Training, Workload, train

COUNT = 24
WORKLOAD = Workload(Grid(tp=2, dp=4, pp=2), gpus=2, iterations=COUNT)
COHERENCE = JobOptions().coherence
ALL_SENDERS = tuple(range(16))


@pytest.fixture(scope="module", name="training")
def plain() -> Training:
    """Sixteen GPUs that train for two dozen iterations."""
    return train(WORKLOAD)


def away_span_ns(training: Training, away: float, since: float = 10.3) -> tuple[int, int]:
    """Absence that begins inside the eleventh iteration, or after so many, and lasts for so many."""
    at = np.interp([since, since + away], np.arange(COUNT + 1), np.concatenate([[0], training.ends_ns])).astype(int)
    return EPOCH_NS + int(at[0]), EPOCH_NS + int(at[1])


def seen(training: Training, away: float, senders: tuple[int, ...] = ALL_SENDERS, since: float = 10.3) -> Streams:
    """Streams of a feed whose collector was away, or one of two, that hears some of the senders."""
    feed = flows([training], Feed())
    end_ns, (gone_ns, back_ns) = feed.frame["time_flow_end_ns"], away_span_ns(training, away, since)
    own = np.isin(feed.frame["src_addr"], [feed.addresses.index(address(n)) for n in senders])
    missed = own & (end_ns >= gone_ns) & (end_ns < back_ns)
    return build_streams(Flows(feed.frame.take(np.flatnonzero(~missed)), feed.addresses))


def edges_of(streams: Streams) -> list[int]:
    """How many iterations each job is seen to have."""
    return [len(job.edges_ns) for job in find_jobs(streams, frozenset(), JobOptions()).jobs]


@pytest.mark.parametrize(
    ("away", "senders"),
    [(0.4, ALL_SENDERS), (1.5, ALL_SENDERS), (4.2, ALL_SENDERS), (1.5, tuple(range(8))), (4.2, (2, 3))],
)
def test_what_was_missed_is_put_back(training: Training, away: float, senders: tuple[int, ...]) -> None:
    """To the byte, for each stream, inside the time of the absence; so that all iterations are there."""
    whole, short = seen(training, 0.0), seen(training, away, senders)
    assert short.total_bytes().sum() < whole.total_bytes().sum()
    filled = fill_outages(short, COHERENCE)
    assert filled.total_bytes().tolist() == pytest.approx(whole.total_bytes().tolist(), rel=1e-6)
    assert edges_of(filled) == [COUNT]
    ((begin_ns, end_ns),) = filled.outages_ns.tolist()
    gone_ns, back_ns = away_span_ns(training, away)
    iteration_ns = int(np.diff(training.ends_ns).mean())
    assert gone_ns - iteration_ns < begin_ns < end_ns < back_ns + iteration_ns
    (said,) = outage_warnings(filled)
    assert said.startswith("an exporter or the collector was away from ")


@pytest.mark.parametrize(
    ("slow_rank", "factor", "since", "away", "hosts"),
    [
        pytest.param(15, 20, 10.081, 1.979, (1, 2, 3), id="rings-that-stop-after-others-are-silent-too"),
        pytest.param(14, 8, 10.622, 2.828, (0, 1, 2, 3), id="turned-slow-before-so-that-cycles-beside-it-count"),
        pytest.param(0, 1, 10.776, 0.986, (0, 2), id="bursts-cut-at-both-ends"),
    ],
)
def test_all_streams_of_a_job_lose_the_same_iterations(
    slow_rank: int, factor: int, since: float, away: float, hosts: tuple[int, ...]
) -> None:
    """Whatever place of the iteration each of them had come to when their exporters went."""
    slow = (Fault("link", slow_rank, 2, float(factor)),) if factor > 1 else ()
    training = train(replace(WORKLOAD, gradient_bytes=128 * MIB, faults=slow))
    senders = tuple(4 * host + k for host in hosts for k in range(4))
    whole, short = seen(training, 0.0), seen(training, away, senders, since)
    filled = fill_outages(short, COHERENCE)
    assert filled.total_bytes().tolist() == pytest.approx(whole.total_bytes().tolist(), rel=1e-3)
    assert edges_of(filled) == [COUNT]


def test_rows_stay_in_order_and_numbers_of_filled_ones_move(training: Training) -> None:
    """Those that packet numbers had shown to be lost are the same rows as before."""
    short = seen(training, 2.4)
    short = replace(short, filled_rows=np.array([3, len(short.start_ns) - 2]))
    filled = fill_outages(short, COHERENCE)
    assert len(filled.filled_rows) == 2
    for before, after in zip(short.filled_rows, filled.filled_rows, strict=True):
        assert short.start_ns[before] == filled.start_ns[after]
    for n in range(len(filled)):
        assert (np.diff(filled.start_ns[filled.rows(n)]) >= 0).all()


@pytest.mark.parametrize("pause_s", [0.9, 2.0])
def test_a_pause_is_not_filled(pause_s: float) -> None:
    """A checkpoint, at the end of an iteration: everybody goes on where it stopped."""
    streams = seen(train(replace(WORKLOAD, pauses={10: pause_s})), 0.0)
    assert fill_outages(streams, COHERENCE) is streams


def test_an_evaluation_is_not_filled() -> None:
    """Gradients rest while activations go on: whoever sends both was seen."""
    streams = seen(train(replace(WORKLOAD, evaluations=(8, 16))), 0.0)
    assert fill_outages(streams, COHERENCE) is streams


@pytest.mark.parametrize("seed", [0, 2])
def test_other_work_behind_a_pause_of_a_larger_job_is_not_filled(seed: int) -> None:
    """What its streams did not send is no loss that they agree on; those of the larger job only paused."""
    large = train(replace(WORKLOAD, pauses={10: 2.0}))
    own = Workload(Grid(tp=1, dp=4, pp=2), gpus=2, iterations=COUNT, pauses={10: 2.0}, placement=tuple(range(16, 24)))
    small = train(own)
    feed = flows([large, small], Feed())
    frame = feed.frame
    behind = np.flatnonzero(
        np.isin(frame["src_addr"], [feed.addresses.index(address(n)) for n in own.placement or ()])
        & (frame["time_flow_start_ns"] > EPOCH_NS + int(small.ends_ns[10]))
    )
    connection, number = np.unique(frame["dst_qp"][behind], return_inverse=True)
    skipped = np.random.default_rng(seed).integers(0, 9, len(connection))
    missed = np.concatenate([behind[number == n][: skipped[n]] for n in range(len(connection))])
    streams = build_streams(Flows(frame.take(np.setdiff1d(np.arange(len(frame)), missed)), feed.addresses))
    assert fill_outages(streams, COHERENCE) is streams


def test_losses_that_do_not_fit_into_a_common_time_are_not_filled(training: Training) -> None:
    """Whoever was away missed all senders at once, not each for one and a half iterations of its own."""
    feed = flows([training], Feed())
    end_ns, missed = feed.frame["time_flow_end_ns"], np.zeros(len(feed.frame), np.bool_)
    gone_ns, back_ns = away_span_ns(training, 1.5)
    for n in range(16):
        later_ns = n * (back_ns - gone_ns) // 18
        own = feed.frame["src_addr"] == feed.addresses.index(address(n))
        missed |= own & (end_ns >= gone_ns + later_ns) & (end_ns < back_ns + later_ns)
    streams = build_streams(Flows(feed.frame.take(np.flatnonzero(~missed)), feed.addresses))
    assert fill_outages(streams, COHERENCE) is streams
