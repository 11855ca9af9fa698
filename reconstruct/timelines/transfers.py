"""Streams of one job -> transfers: each iteration cut where streams of its kind pause."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from datamodel.reconstructed.transfers import TRANSFERS
from reconstruct.jit import compiled
from reconstruct.jobs.job_recognition import Job
from reconstruct.numeric.row_runs import place_within, run_starts
from reconstruct.periods.cycles import Cycles
from reconstruct.timelines.job_rows import STEP_LENGTHS, TRAIN_PAUSE_SHARE, JobRows, job_rows

# Messages of GPUs that compute in lockstep begin within this share of the first one's length.
TOGETHER_SHARE = 0.01
# Streams whose bytes differ by no more than this, one from the next, are of one kind.
SAME_KIND_SHARE = 0.03
# Lengths of pauses are counted in half octaves of a nanosecond, up to eighteen minutes.
BINS_AN_OCTAVE, BINS = 2, 80
# Pauses of one kind lie within so many octaves; where steps of a collective are another, they are shorter by as much.
SAME_KIND_OCTAVES = 2
# A kind of pause comes back in most iterations; lengths met less often than the second share lie between kinds.
RECURS, SPARSE = 0.5, 0.1


def transfers(streams: Streams, job: Job) -> Frame:
    """All transfers of a job, by stream and time.

    A transfer is what a stream sends between two pauses that part messages. Pauses fall into kinds (between messages,
    between steps of a ring, inside messages), orders of magnitude apart; the kinds are told from the lengths met on
    all streams that carry as much, so that one slow link does not change where its messages are cut. Iterations are
    those of the job's edges in time, whatever a stream's own cycles are. What was sent after the last edge (the
    iteration that a hang or the end of the window cut off) has iteration -1.

    Linear in rows.
    """
    seen = job_rows(streams, job)
    if not len(seen.rows) or not len(job.edges_ns):
        return empty(TRANSFERS)
    first = message_starts(streams, seen)
    low = np.flatnonzero(first)
    numbers, iteration = seen.streams, seen.iteration
    owner = np.searchsorted(seen.offsets, low, side="right") - 1
    at_once = _at_once(low, seen)
    return Frame(
        TRANSFERS,
        {
            "src": streams.src[numbers][owner],
            "dst": streams.dst[numbers][owner],
            "stream": numbers[owner],
            "iteration": np.where(iteration[low] < len(job.edges_ns), iteration[low], -1),
            "slot": place_within(owner, iteration[low]),
            "start_ns": seen.start_ns[low],
            "end_ns": np.maximum.reduceat(seen.end_ns, low),
            "bytes": np.add.reduceat(seen.bytes, low),
            "at_once": at_once,
            "messages": np.maximum(_messages(low, seen, streams.trains[numbers][owner]), at_once),
        },
    )


def _at_once(low: Int, seen: JobRows) -> Int:
    """(transfers,) rows that begin together with the first one of each, itself included."""
    count = np.empty(len(low), np.int64)
    _count_beginnings(np.append(low, len(seen.rows)), seen.start_ns, seen.end_ns, count)
    return count


@compiled
def _count_beginnings(bounds: Int, start: Int, end: Int, count: Int) -> None:
    for n in range(len(bounds) - 1):
        row, stop = bounds[n], bounds[n + 1]
        until = start[row] + int(TOGETHER_SHARE * float(end[row] - start[row]))
        while row < stop and start[row] <= until:
            row += 1
        count[n] = row - bounds[n]


def _messages(low: Int, seen: JobRows, trains: Bool) -> Int:
    """(transfers,) messages in each: its records; of packet trains, which are pieces, those under way side by side."""
    count = np.diff(np.append(low, len(seen.rows)))
    _count_side_by_side(np.append(low, len(seen.rows)), seen.start_ns, seen.end_ns, trains, count)
    return count


@compiled
def _count_side_by_side(bounds: Int, start: Int, end: Int, chosen: Bool, count: Int) -> None:
    """Write the most rows under way in one moment over the `count` of each chosen transfer."""
    for n in range(len(bounds) - 1):
        if not chosen[n]:
            continue
        ends = np.sort(end[bounds[n] : bounds[n + 1]])
        over, most = 0, 1
        for k in range(len(ends)):
            while over < k and ends[over] <= start[bounds[n] + k]:
                over += 1
            most = max(most, k + 1 - over)
        count[n] = most


def message_starts(streams: Streams, seen: JobRows) -> Bool:
    """(rows,) whether a transfer begins with each row: behind a pause between messages, or with an iteration."""
    floor = np.where(streams.trains[seen.streams], TRAIN_PAUSE_SHARE * seen.period_ns, 0.0)
    length = seen.end_ns - seen.start_ns
    limit = _longest_inside(seen.offsets, length, seen.bytes, seen.pause_ns, seen.iteration, floor)
    first = seen.pause_ns > np.repeat(limit, np.diff(seen.offsets))
    first |= run_starts(seen.iteration)
    first[seen.offsets[:-1]] = True
    return np.asarray(first)


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


def _longest_inside(offsets: Int, length: Int, size: Int, pause: Int, iteration: Int, least: Float) -> Float:
    """(streams,) the longest pause inside a transfer, ns, by the kind of stream; `least` at least."""
    rows = np.diff(offsets)
    mean = np.add.reduceat(np.maximum(length, 1), offsets[:-1]) / rows
    kind = alike(np.add.reduceat(size, offsets[:-1]).astype(np.float64))
    count = np.zeros((int(kind.max()) + 1, BINS), np.int64)
    nearly = np.zeros(len(count), np.int64)
    floor = np.maximum(STEP_LENGTHS * mean, least)
    _count_pauses(offsets, pause, iteration, kind, floor, count, nearly)
    often = np.bincount(kind) * max(int(iteration.max()), 1)
    shortest = np.full(len(count), np.inf)
    np.minimum.at(shortest, kind, floor)
    limit = np.array(
        [_between_kinds(c / n, m / n, f) for c, m, n, f in zip(count, nearly, often, shortest, strict=True)]
    )
    return np.asarray(np.maximum(limit[kind], least), np.float64)


def alike(value: Float) -> Int:
    """Number of the run of like values each belongs to."""
    order = np.argsort(value, kind="stable")
    run = np.empty(len(value), np.int64)
    ascending = value[order]
    run[order] = np.cumsum(np.diff(ascending, prepend=ascending[:1]) > SAME_KIND_SHARE * ascending)
    return run


@compiled
def _count_pauses(
    offsets: Int, pause: Int, iteration: Int, kind: Int, floor_ns: Float, count: Int, nearly: Int
) -> None:
    """Pauses inside iterations by kind of stream: above each stream's floor by length, and those not far below it."""
    for s in range(len(offsets) - 1):
        for r in range(offsets[s] + 1, offsets[s + 1]):
            if iteration[r] != iteration[r - 1]:
                continue
            if pause[r] > floor_ns[s]:
                at = int(BINS_AN_OCTAVE * np.log2(float(pause[r])))
                count[kind[s], min(at, BINS - 1)] += 1
            elif pause[r] * 2.0**SAME_KIND_OCTAVES > floor_ns[s]:
                nearly[kind[s]] += 1


def _between_kinds(often: Float, nearly: float, floor_ns: float) -> float:
    """The length that parts messages.

    Where steps of a collective do not pause for nearly as long as the floor, and the shortest pauses above it are of
    one kind, these part messages: exchanges of experts wait for layers, and for longer between passes. Elsewhere it is
    in the middle of the widest range of lengths that pauses hardly ever have.

    Args:
        often: (BINS,) pauses of each length above the floor, an iteration and stream.
        nearly: pauses not far below it, likewise.
        floor_ns: shorter ones part no messages.
    """
    above = np.cumsum(often[::-1])[::-1]
    if above[0] < RECURS:
        return float("inf")
    low = int(BINS_AN_OCTAVE * np.log2(max(floor_ns, 1.0)))
    shortest = int(np.argmax(often >= SPARSE))
    kind = often[shortest : shortest + SAME_KIND_OCTAVES * BINS_AN_OCTAVE + 1]
    if nearly < SPARSE and (kind < SPARSE).any() and kind[: int(np.argmax(kind < SPARSE))].sum() >= RECURS:
        return float(np.sqrt(floor_ns * max(floor_ns, 2.0 ** (shortest / BINS_AN_OCTAVE))))
    best, width = floor_ns, 0
    run = 0
    for at in range(min(low, BINS - 1), BINS):
        if often[at] >= SPARSE:
            run = 0
            continue
        run += 1
        if run > width and above[at] >= RECURS:
            width = run
            best = float(2.0 ** ((at - run / 2 + 0.5) / BINS_AN_OCTAVE))
    return best
