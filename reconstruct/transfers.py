"""Streams in lockstep -> transfers: each cycle cut at the places where the stream always pauses."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.streams import Int, Streams
from datamodel.transfers import TRANSFERS
from reconstruct.arrivals import arrival_ns
from reconstruct.cycles import Cycles
from reconstruct.jobs import Job


def transfers(streams: Streams, job: Job) -> Frame:
    """All transfers of a job, by stream and time.

    A transfer is what a stream sends between two of the places where it pauses every iteration; the steps of one
    collective, parted by far shorter pauses, stay together. What a stream sent after its last boundary (the iteration
    that a hang or the end of the window cut off) is there too, with iteration -1.
    """
    number = np.full(int(max(job.edges.max(initial=0), job.boundaries.end_ns.shape[1])) + 2, -1, np.int64)
    number[job.edges] = np.arange(len(job.edges))
    parts = []
    for cycle, place, column in zip(job.members, job.boundaries.places, job.boundaries.columns, strict=True):
        parts.append(_cut(streams, cycle, int(place), int(column), number))
    parts += [_frame(streams, f.stream, f.rows, f.low, f.high, f.iteration, f.slot) for f in job.followers]
    return concat(TRANSFERS, parts)


def between_transfers(cycle: Cycles, boundary: int) -> Int:
    """Places that part transfers, in order from the one after the boundary to the boundary itself.

    Pauses fall into kinds (between iterations, between messages, between steps of a ring, inside messages); the steps
    are those below the widest ratio between successive lengths. The boundary always counts.
    """
    order = np.argsort(-cycle.pause_ns, kind="stable")
    length = np.concatenate([cycle.pause_ns[order], [cycle.floor_ns]])
    keep = int(np.argmax(length[:-1] / np.maximum(length[1:], 1.0))) + 1
    kept = np.union1d(order[:keep], [boundary])
    offset = np.mod(cycle.places[kept] - cycle.places[boundary], cycle.quantum_bytes)
    offset[kept == boundary] = cycle.quantum_bytes
    return np.asarray(kept[np.argsort(offset)], np.int64)


def _cut(streams: Streams, cycle: Cycles, boundary: int, column: int, number: Int) -> Frame:
    places = between_transfers(cycle, boundary)
    lattices = [cycle.lattice(int(p)) for p in places]
    position = np.concatenate([*lattices, [float(cycle.cumulative[-1]) + cycle.quantum_bytes]])
    slot = np.concatenate([*(np.full(len(x), i) for i, x in enumerate(lattices)), [-1]]).astype(np.int64)
    order = np.argsort(position, kind="stable")
    position, slot = position[order], slot[order]
    high = cycle.rows_before(position)
    low = np.concatenate([[0], high[:-1]])
    some = high > low
    offset = np.sort(np.mod(cycle.places[places] - cycle.places[boundary], cycle.quantum_bytes))
    nearest = np.diff(np.concatenate([offset, [cycle.quantum_bytes]])).min()
    ends_before = column + np.searchsorted(lattices[-1], position - 0.5 * nearest)
    iteration = np.where(slot >= 0, number[np.minimum(ends_before, len(number) - 1)], -1)
    return _frame(streams, cycle.stream, cycle.rows, low[some], high[some], iteration[some], slot[some])


def _frame(streams: Streams, stream: int, rows: Int, low: Int, high: Int, iteration: Int, slot: Int) -> Frame:
    end = np.maximum.accumulate(streams.end_ns[rows])[high - 1]
    total: dict[str, Int] = {}
    for name in ("bytes", "packets", "retransmitted", "ecn_ce"):
        running = np.concatenate([[0], np.cumsum(getattr(streams, name)[rows])])
        total[name] = running[high] - running[low]
    return Frame(
        TRANSFERS,
        {
            "src": np.full(len(low), streams.src[stream]),
            "dst": np.full(len(low), streams.dst[stream]),
            "stream": np.full(len(low), stream),
            "iteration": iteration,
            "slot": slot,
            "start_ns": streams.start_ns[rows][low],
            "end_ns": end,
            "delivered_ns": arrival_ns(streams, rows)[high - 1],
            "bytes": total["bytes"],
            "packets": total["packets"],
            "retransmitted_packets": total["retransmitted"],
            "ecn_ce_packets": total["ecn_ce"],
        },
    )
