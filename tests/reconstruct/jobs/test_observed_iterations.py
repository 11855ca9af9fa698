"""Which iterations all exporters of a job saw from end to end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.telemetry.flows import Flows
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.jobs.job_streams import job_streams
from reconstruct.jobs.observed_iterations import ObservedIterations, observed_iterations
from reconstruct.streams.stream_builder import build_streams
from tests.workloads.feed import EPOCH_NS, Feed, address, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Training, Workload, train

COUNT = 20
AWAY = 3  # the endpoint whose exporter is not heard all the time


@pytest.fixture(scope="module", name="training")
def plain() -> Training:
    """Sixteen GPUs that train for twenty iterations."""
    return train(Workload(Grid(tp=2, dp=4, pp=2), gpus=2, iterations=COUNT))


def seen(training: Training, since: float, until: float) -> ObservedIterations:
    """Two exporters, one of them for an endpoint alone, and not heard but from one iteration to another."""
    feed = flows([training], Feed())
    frame = feed.frame
    ends = np.concatenate([[0], training.ends_ns])
    begin_ns, end_ns = (float(np.interp(at, np.arange(COUNT + 1), ends)) for at in (since, until))
    own = frame["src_addr"] == feed.addresses.index(address(AWAY))
    heard = (frame["time_flow_start_ns"] - EPOCH_NS >= begin_ns) & (frame["time_flow_end_ns"] - EPOCH_NS <= end_ns)
    kept = np.flatnonzero(~own | heard)
    rows = build_streams(Flows(frame.replace(sampler_address=np.where(own, 0, 1)).take(kept), feed.addresses))
    hosts = [f"h{(int(a.rpartition('.')[2]) - 1) // 2}" for a in rows.addresses]
    (job,) = find_jobs(rows, frozenset(), JobOptions(), hosts).jobs
    assert len(job.edges_ns) == COUNT
    return observed_iterations(*job_streams(rows, job))


@pytest.mark.parametrize(
    ("since", "until", "whole", "lost"),
    [
        (0, COUNT, (0, COUNT), False),
        (0.9, COUNT - 0.5, (0, COUNT), False),  # it may have had nothing to say
        (7.5, COUNT, (8, COUNT), False),
        (0, 12.5, (0, 12), True),
        (7.5, 12.5, (8, 12), True),
    ],
)
def test_iterations_are_whole_while_all_exporters_are_heard(
    training: Training, since: float, until: float, whole: tuple[int, int], lost: bool
) -> None:
    """An exporter that is heard in the middle of an iteration saw the next one whole; who is lost is named."""
    found = seen(training, since, until)
    away = sorted(address(n) for n in range(16)).index(address(AWAY))
    assert found.longest() == whole
    assert found.whole.tolist() == [whole[0] <= n < whole[1] for n in range(COUNT)]
    assert found.lost == ((away,) if lost else ())


def test_of_several_stretches_the_longest_is_meant() -> None:
    """Of none there is none."""
    none = np.zeros(7, np.bool_)
    assert ObservedIterations(np.array([1, 0, 1, 1, 0, 1, 1], np.bool_), (), none, none).longest() == (2, 4)
    assert ObservedIterations(none, (), none, none).longest() == (0, 0)


def test_iterations_are_guessed_where_records_were_filled_in(training: Training) -> None:
    """One of the fifth iteration was lost: neither its end is known nor how long the next one took."""
    rows = build_streams(flows([training], Feed()))
    middle_ns = EPOCH_NS + int(training.ends_ns[3:5].mean())
    row = int(rows.offsets[3] + np.searchsorted(rows.start_ns[rows.rows(3)], middle_ns))
    (found,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    seen = observed_iterations(*job_streams(replace(rows, filled_rows=np.array([row])), found))
    assert np.flatnonzero(seen.guessed).tolist() == [4, 5]
    assert not observed_iterations(*job_streams(rows, found)).guessed.any()


@pytest.mark.parametrize("senders", [(3,), (2, 3)])
def test_iterations_in_which_several_pairs_were_not_seen_are_incomplete(
    training: Training, senders: tuple[int, ...]
) -> None:
    """Two iterations of two senders are missing, and one of the next cannot be told where it began; one may rest."""
    rows = build_streams(flows([training], Feed()))
    (found,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    streams, job = job_streams(rows, found)
    code = [streams.addresses.index(address(n)) for n in senders]
    of = np.repeat(streams.src, np.diff(streams.offsets))
    begin_ns, end_ns = EPOCH_NS + training.ends_ns[[6, 8]]
    missed = np.isin(of, code) & (streams.start_ns >= begin_ns) & (streams.start_ns < end_ns)
    seen = observed_iterations(replace(streams, bytes=np.where(missed, 0, streams.bytes)), job)
    assert np.flatnonzero(seen.incomplete).tolist() == [7, 8, 9]
    assert not observed_iterations(streams, job).incomplete.any()


def test_iterations_of_an_outage_are_incomplete(training: Training) -> None:
    """Though what is usual stands for what was missed, and the next one's beginning is as uncertain as their end."""
    rows = build_streams(flows([training], Feed()))
    (found,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    outage_ns = EPOCH_NS + (training.ends_ns[[[3, 5]]] + training.ends_ns[[[4, 6]]]) // 2
    streams, job = job_streams(replace(rows, outages_ns=outage_ns), found)
    assert np.flatnonzero(observed_iterations(streams, job).incomplete).tolist() == [4, 5, 6, 7]
