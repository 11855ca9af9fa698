"""True timelines: what each endpoint of a job did when, in the form in which an analysis writes its own.

A tensor group computes in lockstep and exchanges sums while it does: that is `compute`, over a fabric as within a host.
Where several GPUs share an endpoint, their spans overlap.
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS
from simulate.network.graph import (
    COMPUTE,
    EMBEDDING,
    EXPERT_GRADIENT,
    GRADIENT,
    KEY,
    NO_INDEX,
    PARAMETER,
    PIPELINE,
    TENSOR,
    TOKEN,
    TRANSFER,
)
from simulate.run import Instance, Run

_SPAN = {name: SPAN_NAMES.index(name) for name in SPAN_NAMES}
_OF_SENDER = {
    PIPELINE: _SPAN["pp_send"],
    GRADIENT: _SPAN["dp_comm"],
    PARAMETER: _SPAN["dp_comm"],
    EXPERT_GRADIENT: _SPAN["dp_comm"],
    EMBEDDING: _SPAN["dp_comm"],
    TOKEN: _SPAN["ep_comm"],
    KEY: _SPAN["cp_comm"],
    TENSOR: _SPAN["compute"],
}


def list_spans(run: Run, job: int, epoch_ns: int, iterations: tuple[tuple[int, int], ...]) -> Frame:
    """All spans of a job, by endpoint and start; endpoints are numbers of the fabric.

    Args:
        run: the simulation.
        job: index of the job.
        epoch_ns: UTC of the simulation's time 0.
        iterations: complete iterations; only these have spans.
    """
    complete = [i for i in run.instances if i.job == job][: len(iterations)]
    busy = concat(SPANS, [part for i in complete for part in _busy(run, i, epoch_ns)])
    busy = busy.sort("endpoint", "start_ns", "end_ns", "span", "peer")
    ends = np.array([end for _, end in iterations], np.int64)
    return concat(SPANS, [busy, _between(busy, ends, job)]).sort("endpoint", "start_ns", "end_ns", "span", "peer")


def _busy(run: Run, instance: Instance, epoch_ns: int) -> list[Frame]:
    g, seat, job = instance.seat.graph, instance.seat, run.jobs[instance.job]
    start = np.rint(np.nan_to_num(run.timing.start_ns[instance.rows])).astype(np.int64) + epoch_ns
    end = np.rint(np.nan_to_num(run.timing.end_ns[instance.rows])).astype(np.int64) + epoch_ns
    nics = run.fabric.nic_of_gpu(job.attempts[instance.attempt].gpus)[job.plan_of(instance.attempt).tp_groups()]
    seats = [np.unique(row) for row in nics]
    width = len(seats[0])
    computes = np.flatnonzero(g.kind == COMPUTE)
    endpoint = np.stack(seats)[g.src[computes]].ravel() if len(computes) else np.zeros(0, np.int64)
    parts = [_frame(instance, np.repeat(computes, width), start, end, endpoint, NO_INDEX, "compute", None)]
    moves = np.flatnonzero((g.kind == TRANSFER) & (seat.path[:, 0] != NO_INDEX))
    for purpose, span in _OF_SENDER.items():
        rows = moves[g.purpose[moves] == purpose]
        parts.append(_frame(instance, rows, start, end, seat.src[rows], seat.dst[rows], SPAN_NAMES[span], g.work))
        if purpose == PIPELINE:
            parts.append(_frame(instance, rows, start, end, seat.dst[rows], seat.src[rows], "pp_recv", g.work))
    return parts


def _frame(
    instance: Instance,
    rows: Int,
    start: Int,
    end: Int,
    endpoint: Int,
    peer: Int | int,
    span: str,
    work: np.ndarray | None,
) -> Frame:
    return Frame(
        SPANS,
        {
            "job": np.full(len(rows), instance.job),
            "endpoint": endpoint,
            "iteration": np.full(len(rows), instance.iteration),
            "span": np.full(len(rows), _SPAN[span]),
            "start_ns": start[rows],
            "end_ns": end[rows],
            "peer": np.broadcast_to(np.asarray(peer), (len(rows),)),
            "bytes": np.zeros(len(rows), np.int64) if work is None else np.rint(work[rows]).astype(np.int64),
            "group": np.full(len(rows), NO_INDEX),
        },
    )


def _between(busy: Frame, ends_ns: Int, job: int) -> Frame:
    """Where nothing is under way an endpoint waits; after its last span of an iteration it is idle until that ends."""
    endpoint, start = busy["endpoint"], busy["start_ns"]
    if not len(busy):
        return busy
    until = _running_end(endpoint, busy["end_ns"])
    same = endpoint[1:] == endpoint[:-1]
    iteration, following = busy["iteration"][:-1].astype(np.int64), busy["iteration"][1:].astype(np.int64)
    edge = np.maximum(ends_ns[iteration], until[:-1])
    crosses = following > iteration
    begins = np.where(crosses, np.minimum(edge, start[1:]), until[:-1])
    waits = same & (start[1:] > begins)
    rests = ~same | crosses
    rest_end = np.where(same, np.minimum(edge, start[1:]), edge)
    rests &= rest_end > until[:-1]
    final = np.array([max(int(ends_ns[busy["iteration"][-1]]), int(until[-1]))])
    parts = [
        (endpoint[1:][waits], following[waits], "wait", begins[waits], start[1:][waits]),
        (endpoint[:-1][rests], iteration[rests], "idle", until[:-1][rests], rest_end[rests]),
        (endpoint[-1:], busy["iteration"][-1:], "idle", until[-1:], final),
    ]
    return concat(SPANS, [_gap(job, *part) for part in parts])


def _running_end(endpoint: Int, end: Int) -> Int:
    """The latest end so far of each endpoint's rows."""
    base = endpoint.astype(np.int64) - endpoint.min()
    origin = end.min()
    span = int(end.max() - origin) + 1
    latest: Int = np.maximum.accumulate(base * span + (end - origin)) - base * span + origin
    return latest


def _gap(job: int, endpoint: Int, iteration: Int, span: str, start: Int, end: Int) -> Frame:
    count = len(endpoint)
    none = np.full(count, NO_INDEX)
    return Frame(
        SPANS,
        {
            "job": np.full(count, job),
            "endpoint": endpoint,
            "iteration": iteration,
            "span": np.full(count, _SPAN[span]),
            "start_ns": start,
            "end_ns": end,
            "peer": none,
            "bytes": np.zeros(count, np.int64),
            "group": none,
        },
    )
