"""Streams of endpoints that are in a job for a part of its life: they left it, or joined it, without a restart."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jobs.job_fragments import LEAST_BALANCE
from reconstruct.jobs.time_aligned_streams import TimeAlignedStream, align_for_life


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
