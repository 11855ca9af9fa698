"""Jobs told from one another and from other traffic."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from datamodel.flows import Flows
from datamodel.streams import Float
from reconstruct.jobs import JobOptions, Recognition, recognise
from reconstruct.lockstep import step, tied
from reconstruct.streams import streams
from reconstruct.transfers import transfers
from tests.workloads.feed import EPOCH_NS, Feed, address, calls, flows, storage_reads
from tests.workloads.grid import Grid
from tests.workloads.training import GRADIENT, Training, Workload, train

PLAIN = Workload(Grid(tp=2, dp=4, pp=2), gpus=2)
REACH = JobOptions().lockstep_share


def found(feed: Flows) -> Recognition:
    """Jobs of a feed without an inventory."""
    return recognise(streams(feed), frozenset(), JobOptions())


@pytest.fixture(scope="module", name="training")
def plain() -> Training:
    """Sixteen GPUs, tp 2 x dp 4 x pp 2."""
    return train(PLAIN)


def edges(random: np.random.Generator, n: int, spread: float) -> Float:
    """Ends of `n` iterations of about one second, each longer or shorter than the mean by `spread`."""
    return np.cumsum(1e9 * (1 + spread * random.standard_normal(n)))


@pytest.mark.parametrize("seed", range(20))
def test_independent_sequences_of_one_pace_are_nottied(seed: int) -> None:
    """Two jobs of one period walk apart, however slowly."""
    random = np.random.default_rng(seed)
    assert not tied(edges(random, 40, 0.004), edges(random, 40, 0.004), REACH)


@pytest.mark.parametrize("seed", range(20))
def test_one_sequence_seen_twice_istied(seed: int) -> None:
    """Ranks of one job end an iteration with some noise about the same moment."""
    random = np.random.default_rng(seed)
    common = edges(random, 40, 0.01)
    assert tied(common + 3e6 * random.standard_normal(40), common + 3e6 * random.standard_normal(40), REACH)


def test_a_fault_may_move_tied_sequences_apart_once() -> None:
    """From iteration 20 on one side ends 5 % of an iteration later: still one job."""
    random = np.random.default_rng(1)
    common = edges(random, 40, 0.01)
    later = common + 2e6 * random.standard_normal(40) + np.where(np.arange(40) >= 20, 5e7, 0.0)
    assert tied(common, later, REACH)


def test_a_step_is_found_where_it_is() -> None:
    """The best two levels part at the jump; a ramp has none."""
    assert step(np.array([0.0, 0.0, 0.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert np.ptp(step(np.arange(40.0))) == 0.0


def test_storage_and_remote_calls_are_in_no_job(training: Training) -> None:
    """A store that all endpoints read from every iteration and calls at any time leave the job as it is."""
    begins = np.concatenate([[0], training.ends_ns[:-1]])
    reads = storage_reads(40, range(16), begins, 3_000_000)
    rpc = calls([0, 3, 8, 41, 42], float(training.ends_ns[-1]) / 1e9, 5)
    recognition = found(flows([training], Feed(), [reads, rpc]))
    assert len(recognition.jobs) == 1
    assert len(recognition.jobs[0].endpoints) == 16
    assert sum(recognition.unassigned.values()) == 3


def test_services_named_by_the_inventory_are_left_out(training: Training) -> None:
    """Streams of a named service are not looked at, and it is counted with the reason."""
    rows = streams(flows([training], Feed(), [storage_reads(40, range(16), training.ends_ns, 3_000_000)]))
    code = rows.addresses.index(address(40))
    recognition = recognise(rows, frozenset({code}), JobOptions())
    assert recognition.unassigned == {"named as a service by the inventory": 1}


def test_traffic_without_rhythm_is_no_job() -> None:
    """Remote calls alone give no job and a reason for each endpoint."""
    recognition = found(flows([], Feed(), [calls(range(8), 60.0, 3)]))
    assert recognition.jobs == ()
    assert sum(recognition.unassigned.values()) == 8


@pytest.mark.parametrize("trains", [False, True], ids=["messages", "trains"])
def test_the_order_of_rows_does_not_matter(training: Training, trains: bool) -> None:
    """Shuffled records give the same transfers and edges to the byte."""
    feed = flows([training], Feed(trains=trains))
    shuffled = Flows(feed.frame.take(np.random.default_rng(2).permutation(len(feed))), feed.addresses)
    results = []
    for given in (feed, shuffled):
        rows = streams(given)
        jobs = recognise(rows, frozenset(), JobOptions()).jobs
        tables = [transfers(rows, j) for j in jobs]
        results.append(
            [[j.edges_ns.tobytes() for j in jobs], [c.tobytes() for t in tables for c in t.columns().values()]]
        )
    assert results[0] == results[1]


def test_every_byte_of_a_job_is_in_one_transfer(training: Training) -> None:
    """Transfers of a stream add up to what it carried."""
    rows = streams(flows([training], Feed()))
    (job,) = recognise(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    carried = np.bincount(table["stream"], table["bytes"], len(rows)).astype(np.int64)
    assert carried.tolist() == rows.total_bytes().tolist()


def test_transfers_belong_to_the_iteration_in_which_they_are_sent(training: Training) -> None:
    """Every transfer of iteration i ends after edge i - 1 and by edge i."""
    rows = streams(flows([training], Feed()))
    (job,) = recognise(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    inside = table.take(table["iteration"] > 0)
    assert len(inside) > 0
    assert (inside["end_ns"] <= job.edges_ns[inside["iteration"]]).all()
    assert (inside["start_ns"] >= job.edges_ns[inside["iteration"] - 1]).all()


def test_edges_are_the_last_byte_of_the_last_gradient_connection(training: Training) -> None:
    """An iteration's edge is the end of the last gradient message before the optimizer."""
    (job,) = found(flows([training], Feed())).jobs
    gradient = training.end_ns[training.connection == GRADIENT]
    last = [int(gradient[gradient <= end].max()) for end in training.ends_ns]
    assert (job.edges_ns - EPOCH_NS).tolist() == last


def test_sequences_of_varying_length_follow_the_beat() -> None:
    """Pipeline streams without a constant quantum are cut by time: as many transfers an iteration as micro-batches."""
    rows = streams(flows([train(replace(PLAIN, sequence_spread=0.5))], Feed()))
    (job,) = recognise(rows, frozenset(), JobOptions()).jobs
    assert len(job.followers) == 16
    table = transfers(rows, job)
    often = np.bincount(table["iteration"][table["stream"] == job.followers[0].stream])
    assert set(often.tolist()) == {PLAIN.batches}


def test_queue_pairs_that_take_turns_are_one_stream(training: Training) -> None:
    """Four queue pairs used by turns give the streams that one gives."""
    one, four = (streams(flows([training], Feed(queue_pairs=n))) for n in (1, 4))
    assert len(one) == len(four)
    assert one.total_bytes().tolist() == four.total_bytes().tolist()


@pytest.mark.slow
def test_two_thousand_endpoints_take_seconds() -> None:
    """With tp 2 x dp 250 x pp 4, one ring step in 25 recorded: recognition stays far below a minute."""
    training = train(Workload(Grid(tp=2, dp=250, pp=4), gpus=2, iterations=8))
    ring = np.flatnonzero(training.connection == GRADIENT)
    ring = ring[np.lexsort([training.start_ns[ring], training.src[ring]])]
    keep = np.ones(len(training.src), bool)
    keep[ring[np.arange(len(ring)) % 25 != 0]] = False
    names = ("src", "dst", "start_ns", "end_ns", "bytes", "connection")
    thinned = replace(training, **{n: getattr(training, n)[keep] for n in names})
    rows = streams(flows([thinned], Feed()))
    begun = time.perf_counter()
    (job,) = recognise(rows, frozenset(), JobOptions()).jobs
    assert len(job.endpoints) == 2000
    assert time.perf_counter() - begun < 60
