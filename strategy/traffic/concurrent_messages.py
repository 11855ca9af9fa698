"""How many messages an edge sends at once: GPUs that share a NIC and compute in lockstep."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.row_runs import run_starts
from strategy.traffic.grouped_statistics import medians
from strategy.traffic.stream_profiles import StreamProfiles

# Messages that begin within this share of one's length begin at once.
TOGETHER_SHARE = 0.01


def lanes(streams: StreamProfiles, edge: Int, edges: int) -> tuple[Float, Float]:
    """Messages that begin at once, and all messages, in each edge's last transfer of an iteration.

    The ranks of a tensor group sum up what they computed in every layer, and so send in the same moment; replicas of
    data parallelism meet only at the end of an iteration and drift apart until then.

    Args:
        streams: what each stream does.
        edge: (streams,) the edge each is part of.
        edges: how many there are.

    Returns:
        (edges,) median over iterations of the messages that begin with the first one, and of all.
    """
    if not len(streams.start_ns):
        return np.zeros(edges), np.zeros(edges)
    owner = np.repeat(np.arange(len(streams.number)), np.diff(streams.bounds))
    change = (np.diff(owner) != 0) | (np.diff(streams.iteration) != 0)
    last = np.flatnonzero(np.append(change, True))
    iteration, start = streams.iteration[last], streams.start_ns[last]
    of = edge[owner[last]]
    order = np.lexsort([start, iteration, of])
    last, of, iteration, start = last[order], of[order], iteration[order], start[order]
    first = np.flatnonzero(run_starts(of, iteration))
    leader = np.repeat(first, np.diff(np.append(first, len(of))))
    length = (streams.end_ns[last] - streams.start_ns[last])[leader]
    together = start - start[leader] <= TOGETHER_SHARE * length
    counts = np.where(together, streams.at_once[last], 0), streams.messages[last]
    at_once, every = (np.add.reduceat(c, first).astype(np.float64) for c in counts)
    return medians(at_once, of[first], edges), medians(every, of[first], edges)
