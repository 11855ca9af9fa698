"""Where streams are cut into transfers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.periods.cycles import data_rows
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from tests.workloads.feed import Feed, flows
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
