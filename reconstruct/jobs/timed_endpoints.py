"""Endpoints that train with a job though none of their bytes come back: their messages keep its beat."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jobs.job_fragments import LEAST_BALANCE
from reconstruct.jobs.time_aligned_streams import align_in_time


def find_timed_endpoints(
    streams: Streams, endpoints: Int, edges_ns: Int, loose: Int, taken: Bool, host: Int | None
) -> Int:
    """A job's endpoints with those that exchange messages on its beat, with them or beside them on the same hosts.

    Where gradients leave the hosts of some stages only (shared embeddings), lengths vary, and no bytes come back, the
    other stages are known by their messages alone; so is a rail of which records are missing. Who only sends or only
    receives is no rank (a loader, a store).

    Args:
        streams: data rows by connection.
        endpoints: address codes of the job, ascending.
        edges_ns: (iterations,) end of each iteration.
        loose: streams in no job.
        taken: (addresses,) endpoints of jobs of its time.
        host: (addresses,) number of each endpoint's host, below 0 where it is not known; None without an inventory.
    """
    inside = np.zeros(len(taken), np.bool_)
    inside[endpoints] = True
    taken = taken | inside
    while len(met := _across(streams, inside, edges_ns, loose, taken)):
        inside[met] = taken[met] = True
    if host is not None:
        near = np.isin(host, host[inside & (host >= 0)]) & ~taken
        inside[_beside(streams, near, edges_ns, loose)] = True
    return np.flatnonzero(inside)


def _across(streams: Streams, inside: Bool, edges_ns: Int, loose: Int, taken: Bool) -> Int:
    """Free endpoints that exchange about as much each way, on the beat, with one that is inside."""
    src, dst = streams.src[loose], streams.dst[loose]
    out = loose[(inside[src] & ~taken[dst]) | (inside[dst] & ~taken[src])]
    ends = {(int(streams.src[f.stream]), int(streams.dst[f.stream])) for f in align_in_time(streams, out, edges_ns)}
    met = [end for end in ends if end[::-1] in ends and _is_balanced(streams, out, end)]
    found = np.unique(np.array(met, np.int64))
    return found[~inside[found]]


def _is_balanced(streams: Streams, some: Int, ends: tuple[int, int]) -> bool:
    """Whether two endpoints send each other about as much: who takes weights and answers with tokens does not."""
    src, dst, volume = streams.src[some], streams.dst[some], streams.total_bytes()[some]
    there, back = (int(volume[(src == a) & (dst == b)].sum()) for a, b in (ends, ends[::-1]))
    return min(there, back) >= LEAST_BALANCE * max(there, back)


def _beside(streams: Streams, near: Bool, edges_ns: Int, loose: Int) -> Int:
    """Free endpoints that exchange data on the beat among themselves alone: they send about what they receive."""
    own = loose[near[streams.src[loose]] & near[streams.dst[loose]]]
    on_beat = np.array([f.stream for f in align_in_time(streams, own, edges_ns)], np.int64)
    src, dst, volume = streams.src[on_beat], streams.dst[on_beat], streams.total_bytes()[on_beat]
    sent, received = (np.bincount(ends, volume, len(near)) for ends in (src, dst))
    return np.flatnonzero(np.minimum(sent, received) > LEAST_BALANCE * np.maximum(sent, received))
