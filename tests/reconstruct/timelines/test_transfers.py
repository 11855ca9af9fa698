"""Where streams are cut into transfers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.periods.cycles import data_rows
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from tests.workloads.feed import Feed, Message, flows
from tests.workloads.grid import Grid
from tests.workloads.training import GRADIENT, Fault, Workload, train

PLAIN = Workload(Grid(tp=2, dp=4, pp=2), gpus=2, batches=6, iterations=16)
SLOW = replace(PLAIN, faults=(Fault("link", 5, 8, 6.0),))


@pytest.mark.parametrize("trains", [False, True], ids=["messages", "trains"])
@pytest.mark.parametrize("workload", [PLAIN, SLOW], ids=["healthy", "slow link"])
def test_every_message_between_stages_is_a_transfer(workload: Workload, trains: bool) -> None:
    """As many as micro-batches in every iteration, on every pair, a slow link or not."""
    training = train(workload)
    rows = build_streams(flows([training], Feed(trains=trains)))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    between = {
        (int(a), int(b))
        for a, b, c in zip(training.src, training.dst, training.connection, strict=True)
        if c // 100 != GRADIENT // 100
    }
    counted = 0
    for stream in np.unique(table["stream"]).tolist():
        own = table.take((table["stream"] == stream) & (table["iteration"] > 0))
        ends = tuple(_number(rows.addresses[int(own[side][0])]) for side in ("src", "dst"))
        if ends in between:
            counted += 1
            often = np.bincount(own["iteration"])[1:]
            assert (often == PLAIN.batches).mean() > 0.9
            assert own["slot"].max() >= PLAIN.batches - 1
    assert counted == len(between)


def _number(address: str) -> int:
    """The endpoint of an address of the workloads."""
    _, a, b, c = (int(part) for part in address.split("."))
    return 4096 * a + 64 * b + c - 1


def test_every_record_is_in_one_transfer() -> None:
    """Those that begin with the first are among them."""
    rows = build_streams(flows([train(PLAIN)], Feed()))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    assert (table["at_once"] >= 1).all()
    assert (table["at_once"] <= table["messages"]).all()
    members = len(data_rows(rows, job.members)[1])
    assert int(table["messages"].sum()) == members + sum(len(f.rows) for f in job.followers)


def test_pieces_of_a_message_are_one_message() -> None:
    """What a mirror cuts into many rows, one behind the other, counts once."""
    rows = build_streams(flows([train(PLAIN)], Feed(trains=True)))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    assert (table["messages"] == 1).all()
    assert 2 * len(table) < len(data_rows(rows, job.members)[1])


# Pauses of expert exchanges: between layers forward, then between layers backward, and what passes and steps take.
EXCHANGES_MS = np.array([*[19.5] * 7, 214.0, *[39.0] * 3, 137.0, *[39.0] * 3, 35.0])


def exchanges(message_ms: float) -> Message:
    """Four endpoints that each send to all others at once, 20 times over."""
    count, times = 20 * len(EXCHANGES_MS), (EXCHANGES_MS + message_ms) * 1e6
    begin_ns = np.concatenate([[0], np.cumsum(np.tile(times, 20))[:-1]])
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    start_ns = np.tile(begin_ns, len(pairs)).astype(np.int64)
    return Message(
        src=np.repeat([a for a, _ in pairs], count),
        dst=np.repeat([b for _, b in pairs], count),
        start_ns=start_ns,
        end_ns=start_ns + round(message_ms * 1e6),
        bytes=np.full(len(start_ns), 33_915_392),
        connection=np.repeat(np.arange(len(pairs)), count),
    )


@pytest.mark.parametrize("message_ms", [1.0, 4.0])
def test_messages_without_steps_are_parted_by_the_shortest_of_their_pauses(message_ms: float) -> None:
    """Whatever longer ones there are: exchanges of experts wait for layers, for passes and for other stages."""
    rows = build_streams(flows([], Feed(), [exchanges(message_ms)]))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    each = np.bincount(table["iteration"][table["iteration"] > 0])[1:-1]
    assert (each == len(EXCHANGES_MS) * len(rows)).all()
