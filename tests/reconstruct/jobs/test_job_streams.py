"""One job's streams apart from all others."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import ROW_COLUMNS, Streams
from reconstruct.jobs.job_recognition import Job, JobOptions, find_jobs
from reconstruct.jobs.job_streams import job_streams
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.operations import operations
from reconstruct.timelines.transfers import transfers
from tests.workloads.feed import Feed, calls, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Workload, train


@pytest.fixture(scope="module", name="whole")
def two_jobs() -> tuple[Streams, tuple[Job, ...]]:
    """Two jobs of sixteen endpoints, one of them with streams that only follow, and remote calls beside."""
    first = train(replace(Workload(Grid(tp=2, dp=4, pp=2), gpus=2), sequence_spread=0.5))
    second = train(Workload(Grid(tp=2, dp=4, pp=2), gpus=2, forward_s=0.06, placement=tuple(range(20, 36)), seed=2))
    rows = build_streams(flows([first, second], Feed(), [calls([0, 3, 25, 50], 30.0, 5)]))
    return rows, find_jobs(rows, frozenset(), JobOptions()).jobs


def test_later_stages_see_the_same(whole: tuple[Streams, tuple[Job, ...]]) -> None:
    """Transfers and operations are those of all streams, but for the numbers of the streams."""
    rows, jobs = whole
    assert len(jobs) == 2
    assert jobs[0].followers
    for job in jobs:
        own, alone = job_streams(rows, job)
        assert len(own) == len(job.members) + len(job.followers) < len(rows)
        for there, here in (
            (transfers(rows, job), transfers(own, alone)),
            (operations(rows, job, {}, {}), operations(own, alone, {}, {})),
        ):
            number = np.unique(there["stream"], return_inverse=True)[1]
            assert here["stream"].tolist() == number.tolist()
            for name, column in there.columns().items():
                assert name == "stream" or np.array_equal(column, here[name])


def test_it_is_small_and_pickles(whole: tuple[Streams, tuple[Job, ...]]) -> None:
    """What is handed over holds rows of the job's own streams only and comes out as it went in."""
    rows, jobs = whole
    own, job = pickle.loads(pickle.dumps(job_streams(rows, jobs[0])))  # noqa: S301 - what it just wrote
    assert len(own.bytes) == own.offsets[-1] < len(rows.bytes)
    assert job.edges_ns.tolist() == jobs[0].edges_ns.tolist()


def test_a_job_holds_no_rows(whole: tuple[Streams, tuple[Job, ...]]) -> None:
    """What is found of jobs is small beside a single column of their rows: those of a large cluster fill its memory."""
    rows, jobs = whole
    size = [rows.take(np.unique(job.stream_numbers)).bytes.nbytes for job in jobs]
    members = [replace(job, followers=()) for job in jobs]
    assert all(len(pickle.dumps(job)) < one for job, one in zip(members, size, strict=True))


def test_a_column_of_one_value_stays_one(whole: tuple[Streams, tuple[Job, ...]]) -> None:
    """A column that is a view of one value takes no memory when streams are taken either."""
    rows, _ = whole
    constant = np.broadcast_to(np.zeros(1, np.int64), (len(rows.bytes),))
    own = replace(rows, delivered_ns=constant).take(np.array([1, 0]))
    assert own.delivered_ns.strides == (0,)
    assert all(len(getattr(own, name)) == own.offsets[-1] for name in ROW_COLUMNS)
    assert own.bytes.tolist() == [*rows.bytes[rows.rows(1)].tolist(), *rows.bytes[rows.rows(0)].tolist()]
