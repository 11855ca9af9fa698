"""Streams of endpoints that are in a job for a part of its life: they left it, or joined it, without a restart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jobs.job_fragments import LEAST_BALANCE
from reconstruct.jobs.time_aligned_streams import TimeAlignedStream, align_in_time
from reconstruct.numeric.ragged_arrays import select_rows

# So many iterations of a part of the life show that a stream keeps the job's beat.
FEWEST_ITERATIONS = 3


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
    spans = _part_time(streams, loose, edges_ns)
    found = [f for n, own in spans if (f := _aligned(streams, n, edges_ns, own)) is not None]
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


def _part_time(streams: Streams, loose: Int, edges_ns: Int) -> list[tuple[int, slice]]:
    """Streams that live for some iterations but not for all, and the iterations that each lives for."""
    if not len(loose):
        return []
    half = int(np.median(np.diff(edges_ns))) // 2
    offsets, rows = select_rows(streams.offsets, loose)
    until_ns = np.maximum.reduceat(streams.end_ns[rows], offsets[:-1])
    first = np.searchsorted(edges_ns, streams.start_ns[streams.offsets[loose]], side="right")
    last = np.searchsorted(edges_ns, until_ns + half, side="right")
    some = np.flatnonzero((last - first >= FEWEST_ITERATIONS) & (last - first < len(edges_ns)))
    return [(int(loose[n]), slice(int(first[n]), int(last[n]))) for n in some.tolist()]


def _aligned(streams: Streams, stream: int, edges_ns: Int, own: slice) -> TimeAlignedStream | None:
    """A stream that keeps the beat in its `own` iterations, on all iterations of the job."""
    found = align_in_time(streams, [stream], edges_ns[own])
    if not found:
        return None
    iteration = np.where(found[0].iteration >= 0, found[0].iteration + own.start, -1)
    return replace(found[0], iteration=iteration.astype(np.int64))
