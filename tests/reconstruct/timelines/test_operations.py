"""Streams and layout become operations: nothing lost, cut where all members of a group agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int, Streams
from datamodel.reconstructed.transfers import ROLES
from reconstruct.jobs.job_recognition import Job, JobOptions, find_jobs
from reconstruct.periods.cycles import members
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.delivery_times import arrival_ns
from reconstruct.timelines.operations import last_sent_ns, operations
from reconstruct.timelines.transfers import transfers
from strategy.layout_inference import InferredLayout, infer_layout
from tests.workloads.feed import Feed, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Training, Workload, train

PP, DP = ROLES.index("pp"), ROLES.index("dp")
MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A training, the streams seen of it, and what became of them."""

    training: Training
    flow: Streams
    job: Job
    strategy: InferredLayout
    table: Frame


def found(workload: Workload) -> Found:
    """Operations of a job seen by a mirror."""
    training = train(workload)
    flow = build_streams(flows([training], Feed(trains=True)))
    (job,) = find_jobs(flow, frozenset(), JobOptions(), None).jobs
    strategy = infer_layout(transfers(flow, job), job.edges_ns, job.endpoints, {})
    by_role = {ROLES.index(k): list(v) for k, v in strategy.groups.items() if k != "tp"}
    return Found(training, flow, job, strategy, operations(flow, job, strategy.role, by_role))


@pytest.fixture(scope="module")
def pipeline() -> Found:
    """Two stages, four ways data parallel, four micro-batches an iteration."""
    return found(Workload(Grid(dp=4, pp=2), seed=3))


def test_no_byte_is_lost(pipeline: Found) -> None:
    """A stream's operations hold every byte it sent, except that it was ready to receive: 48 of 4 million bytes."""
    rows, flow = pipeline.table, pipeline.flow
    total = {s: int(rows["bytes"][rows["stream"] == s].sum()) for s in np.unique(rows["stream"]).tolist()}
    assert total == {c.stream: int(flow.bytes[c.rows].sum()) for c in members(flow, pipeline.job.members)}
    sent = flow.total_bytes()
    for stream, moved in total.items():
        assert 0 <= sent[stream] - moved < 2e-5 * sent[stream]


def test_ends_and_groups_are_those_of_the_layout(pipeline: Found) -> None:
    """Both ends of a message stand in its pipeline, both of a collective in its gradient group."""
    rows = pipeline.table
    kinds = {PP: "pp", DP: "dp"}
    assert set(np.unique(rows["role"]).tolist()) == set(kinds)
    for role, group, endpoint, peer in zip(*(rows[c] for c in ("role", "group", "endpoint", "peer")), strict=True):
        assert {endpoint, peer} <= set(pipeline.strategy.groups[kinds[int(role)]][group])


def test_messages_are_whole(pipeline: Found) -> None:
    """In each complete iteration every rank sends four messages of 4 MiB to the other stage."""
    rows, edges = pipeline.table, pipeline.job.edges_ns
    inner = (rows["role"] == PP) & (rows["iteration"] > 0) & (rows["iteration"] < len(edges))
    messages = rows.take(inner)
    assert np.unique(messages["bytes"]).tolist() == [4 << 20]
    cells, count = np.unique(np.stack([messages["endpoint"], messages["iteration"]]), axis=1, return_counts=True)
    assert cells.shape[1] == 8 * (len(edges) - 1)
    assert np.unique(count).tolist() == [4]


def test_a_collective_is_one_operation_of_every_member(pipeline: Found) -> None:
    """A ring of four moves 2 x 3/4 of 32 MiB from each member, not one operation a step."""
    rows, edges = pipeline.table, pipeline.job.edges_ns
    ring = rows.take((rows["role"] == DP) & (rows["iteration"] > 0) & (rows["iteration"] < len(edges)))
    assert len(ring) == 8 * (len(edges) - 1)
    assert np.unique(ring["bytes"]).tolist() == [2 * 3 * (32 << 20) // 4]


def test_buckets_are_operations_of_their_own() -> None:
    """Gradients reduced in two parts, the first inside the backward pass, are two operations of every member."""
    seen = found(Workload(Grid(dp=8), buckets=(0.5, 0.5), overlap=True, backward_s=0.4, seed=4))
    rows, edges = seen.table, seen.job.edges_ns
    ring = rows.take((rows["role"] == DP) & (rows["iteration"] > 0) & (rows["iteration"] < len(edges)))
    assert np.unique(ring["slot"]).tolist() == [0, 1]
    assert np.unique(ring["bytes"]).tolist() == [2 * 7 * (16 << 20) // 8]


def test_operations_lie_inside_their_iteration(pipeline: Found) -> None:
    """No data leaves before the edge before, nor after the edge of its own iteration."""
    rows, edges = pipeline.table, pipeline.job.edges_ns
    inner = rows.take((rows["iteration"] > 0) & (rows["iteration"] < len(edges)))
    assert (inner["start_ns"] >= edges[inner["iteration"] - 1]).all()
    assert (inner["end_ns"] <= edges[inner["iteration"]]).all()


def test_times_are_in_order(pipeline: Found) -> None:
    """First byte, last byte, delivered; time under way and time spent sending are no longer than that."""
    rows = pipeline.table
    assert (rows["start_ns"] <= rows["end_ns"]).all()
    assert (rows["end_ns"] <= rows["delivered_ns"]).all()
    assert (rows["busy_ns"] <= rows["delivered_ns"] - rows["start_ns"]).all()
    assert (rows["busy_ns"] > 0).all()


def test_slots_follow_time(pipeline: Found) -> None:
    """Within a stream and iteration the slots count up from 0 as time goes on."""
    rows, edges = pipeline.table, pipeline.job.edges_ns
    inner = rows.take((rows["iteration"] > 0) & (rows["iteration"] < len(edges)))
    inner = inner.sort("stream", "iteration", "start_ns")
    same = (np.diff(inner["stream"]) == 0) & (np.diff(inner["iteration"]) == 0)
    assert (np.diff(inner["slot"])[same] == 1).all()
    assert (inner["slot"][1:][~same] == 0).all()


def test_an_unfinished_iteration_counts_on() -> None:
    """A window that ends in the middle of iteration 20 leaves operations behind the last edge, numbered after it."""
    training = train(Workload(Grid(dp=4, pp=2), seed=3))
    middle_s = float(training.ends_ns[19] + training.ends_ns[20]) / 2e9
    flow = build_streams(flows([training], Feed(trains=True, to_s=middle_s)))
    (job,) = find_jobs(flow, frozenset(), JobOptions(), None).jobs
    strategy = infer_layout(transfers(flow, job), job.edges_ns, job.endpoints, {})
    by_role = {ROLES.index(k): list(v) for k, v in strategy.groups.items() if k != "tp"}
    rows = operations(flow, job, strategy.role, by_role)
    assert len(job.edges_ns) == 20
    assert rows["iteration"].max() == 20
    after = rows.take(rows["iteration"] == 20)
    assert (after["start_ns"] > job.edges_ns[-1]).all()


def rows_of(start: list[int], end: list[int], acknowledged: list[int]) -> Streams:
    """One stream of 1 kB rows."""
    n = len(start)
    same = np.full(n, 1_000)
    one = np.ones(1, np.int64)
    columns: tuple[Int, Int, Int] = (np.array(start), np.array(end), np.array(acknowledged))
    head = 0 * one, one, one, np.array([True]), np.array([0, n]), 0 * one, max(end) * one
    return Streams(*head, *columns, same, same, same, same, ("a", "b"))


@pytest.mark.parametrize(
    ("acknowledged", "arrived"),
    [
        ([110, 210, 310], [110, 210, 310]),
        ([0, 0, 0], [100, 200, 300]),  # none seen: as sent
        ([110, 40_200, 310], [110, 220, 310]),  # a receiver that sat on one: twice its neighbours' latency
        ([110, 40_200, 330], [110, 260, 330]),  # the slower of them
        ([90, 210, 310], [100, 210, 310]),  # cumulative: acknowledged with earlier data
    ],
)
def test_arrival_is_the_acknowledgement_within_reason(acknowledged: list[int], arrived: list[int]) -> None:
    """When the receiver had the last byte, as its acknowledgements say."""
    flow = rows_of([50, 150, 250], [100, 200, 300], acknowledged)
    assert arrival_ns(flow, np.arange(3)).tolist() == arrived


def test_arrivals_never_run_backwards() -> None:
    """A byte cannot arrive before the ones ahead of it."""
    flow = rows_of([0, 10, 20], [10, 20, 30], [500, 400, 300])
    assert (np.diff(arrival_ns(flow, np.arange(3))) >= 0).all()


def test_last_sent_is_by_sender(pipeline: Found) -> None:
    """Every endpoint's last payload byte over all its streams, ready messages included."""
    said, flow = last_sent_ns(pipeline.flow), pipeline.flow
    sender = np.repeat(flow.src, np.diff(flow.offsets))
    assert said == {int(e): int(flow.end_ns[sender == e].max()) for e in np.unique(flow.src)}
