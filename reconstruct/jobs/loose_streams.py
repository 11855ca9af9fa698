"""Streams in no job at endpoints of jobs: of who left or joined one without a restart, and those that keep no beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.jobs.job_fragments import LEAST_BALANCE
from reconstruct.jobs.time_aligned_streams import TimeAlignedStream, align_for_life
from reconstruct.periods.byte_period import pauses_ns
from reconstruct.periods.rare_bursts import APART_CYCLES

# A stream goes on when it is seen for this share of a job's life.
GOES_ON = 0.5


def part_time_streams(
    streams: Streams, loose: Int, inside: Bool, edges_ns: Int
) -> tuple[Int, tuple[TimeAlignedStream, ...]]:
    """Endpoints that exchange messages on a job's beat for as long as they are there, and the streams that show it.

    Who sends or receives next to nothing is none of them (a data loader, a checkpoint store, an engine that takes
    weights and answers with tokens), and neither is what is sent once: a copy of state lies between two iterations.

    Args:
        streams: data rows by connection.
        loose: streams between endpoints of the job and those of no job, or between the latter.
        inside: (addresses,) endpoints of the job.
        edges_ns: (iterations,) end of each iteration.

    Returns:
        (e,) address codes, ascending; and the streams among them and the job, iterations counted as the job does.
    """
    found = align_for_life(streams, loose, edges_ns)
    while True:
        src = np.array([streams.src[f.stream] for f in found], np.int64)
        dst = np.array([streams.dst[f.stream] for f in found], np.int64)
        each = np.array([_iteration_bytes(streams, f) for f in found])
        sent, received = (np.bincount(ends, each, len(inside)) for ends in (src, dst))
        member = inside | (np.minimum(sent, received) > LEAST_BALANCE * np.maximum(sent, received))
        kept = member[src] & member[dst]
        if kept.all():
            return np.setdiff1d(np.union1d(src, dst), np.flatnonzero(inside)), tuple(found)
        found = [f for f, keep in zip(found, kept.tolist(), strict=True) if keep]


def _iteration_bytes(streams: Streams, found: TimeAlignedStream) -> float:
    """Median bytes of an iteration: a copy of state on the same connection is in one of them."""
    offsets = np.append(0, np.cumsum(streams.bytes[found.rows]))
    volume = (offsets[found.high] - offsets[found.low])[found.iteration >= 0]
    sums = np.bincount(found.iteration[found.iteration >= 0], volume)
    return float(np.median(sums[sums > 0])) if sums.any() else 0.0


class JobExtent(NamedTuple):
    """What is known of a job.

    Attributes:
        endpoints: (e,) address codes.
        edges_ns: (iterations,) end of each iteration.
        start_ns, end_ns: first and last byte.
        stream_bytes: most bytes that one of its streams carries.
        may_be_cut_short: whether its iterations may be micro-batches.
    """

    endpoints: Int
    edges_ns: Int
    start_ns: int
    end_ns: int
    stream_bytes: int
    may_be_cut_short: bool


def find_unexplained_pairs(streams: Streams, loose: Int, jobs: Sequence[JobExtent]) -> list[Int]:
    """Find streams from endpoints of each job to those of any job that go on: (pairs, 2) address codes, for each job.

    What is sent once, parameters when a job begins, does not go on, but for what records longer than iterations hold.
    What is sent twice does where it is more than any stream of a job carries whose iterations may be micro-batches:
    gradients of two iterations, in a window too short for their period. What a few endpoints do next to training does
    not: in a pipeline all stages but the last send on and all but the first send back, half of the endpoints at least.

    Args:
        streams: data rows by connection.
        loose: those that are in no job.
        jobs: the jobs.
    """
    inside = np.zeros(len(streams.addresses), np.bool_)
    for job in jobs:
        inside[job.endpoints] = True
    loose = loose[inside[streams.src[loose]] & inside[streams.dst[loose]]]
    first = streams.start_ns[streams.offsets[loose]]
    last = streams.end_ns[streams.offsets[loose + 1] - 1]
    rows, volume = np.diff(streams.offsets)[loose], streams.total_bytes()[loose]
    columns = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns)
    lasted_ns, pause_ns = _lasting_ns(loose, streams.offsets, *columns)
    found = []
    for job in jobs:
        life_ns = job.end_ns - job.start_ns
        goes_on = (rows >= len(job.edges_ns)) | (lasted_ns > GOES_ON * life_ns)
        goes_on &= np.minimum(last, job.end_ns) - np.maximum(first, job.start_ns) > GOES_ON * life_ns
        own = np.isin(streams.src[loose], job.endpoints)
        if job.may_be_cut_short:
            twice = pause_ns > APART_CYCLES * np.median(np.diff(job.edges_ns))
            goes_on |= twice & (volume > job.stream_bytes)
        own &= goes_on
        fewest = min(len(np.unique(ends[loose[own]])) for ends in (streams.src, streams.dst))
        if 2 * fewest < len(job.endpoints):
            own[:] = False
        pairs = np.unique(np.stack([streams.src[loose[own]], streams.dst[loose[own]]], axis=1), axis=0)
        found.append(pairs.astype(np.int64))
    return found


@compiled
def _lasting_ns(some: Int, offsets: Int, start_ns: Int, end_ns: Int) -> tuple[Float, Float]:
    """Sum up how long the rows of each stream last, and find the longest time between two of them; (n,) each."""
    lasted_ns, longest_ns = np.zeros(len(some)), np.zeros(len(some))
    for k in range(len(some)):
        rows = slice(offsets[some[k]], offsets[some[k] + 1])
        lasted_ns[k] = np.sum(end_ns[rows] - start_ns[rows])
        pause_ns = pauses_ns(start_ns[rows], end_ns[rows])
        longest_ns[k] = pause_ns.max() if len(pause_ns) else 0.0
    return lasted_ns, longest_ns
