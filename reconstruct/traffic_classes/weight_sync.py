"""Who takes a job's weights between its steps, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.numeric.ragged_arrays import select_rows
from reconstruct.traffic_classes.conversations import Conversations
from reconstruct.traffic_classes.options import TrafficOptions

# So many show how far they are apart.
FEWEST_SYNCS = 2


@dataclass(frozen=True, slots=True)
class WeightTakers:
    """Engines that take the weights of a job.

    Attributes:
        job: number of the job.
        endpoints: (e,) address codes, ascending.
        conversations: (c,) numbers of those that carry weights.
    """

    job: int
    endpoints: Int
    conversations: Int


def find_weight_takers(
    found: Conversations,
    streams: Streams,
    job_of: Int,
    edges_ns: Sequence[Int],
    candidates: Bool,
    options: TrafficOptions,
) -> list[WeightTakers]:
    """Endpoints that take bulk data of a job, one way, nearly as often as it iterates; and who takes it from them.

    Args:
        found: the conversations.
        streams: that they are made of.
        job_of: (addresses,) job of each endpoint; -1 none.
        edges_ns: end of each iteration, by job.
        candidates: (conversations,) those that move data one way, to no rank and no store.
        options: thresholds.
    """
    takers = []
    for job, edges in enumerate(edges_ns):
        own = np.flatnonzero(candidates & (job_of[found.src] == job))
        if len(edges) and len(own):
            own = own[_recurs(found, streams, own, edges, options)]
            if len(own):
                takers.append(_with_chain(found, job, own, candidates, options))
    return takers


def _recurs(found: Conversations, streams: Streams, some: Int, edges_ns: Int, options: TrafficOptions) -> Bool:
    """(some,) which conversations move data in enough of a job's iterations.

    Weights that go out after every fourth iteration are four iterations apart, however many of these a window holds;
    what follows the last ones counts only where the next ones are overdue. What is seen once has no interval.
    """
    owner, start_ns, _, _ = conversation_rows(found, streams, some)
    owner, iteration = np.unique(np.stack([owner, np.searchsorted(edges_ns, start_ns)]), axis=1)
    often = np.bincount(owner, minlength=len(found))[some]
    first = iteration[np.searchsorted(owner, some)]
    last = iteration[np.searchsorted(owner, some, side="right") - 1]
    due = np.where(options.sync_share * (len(edges_ns) - last) > 1, len(edges_ns), last)
    often_enough = often >= np.maximum(FEWEST_SYNCS, options.sync_share * due)
    return np.asarray(often_enough & (options.sync_share * (last - first) <= often - 1))


def _with_chain(found: Conversations, job: int, own: Int, candidates: Bool, options: TrafficOptions) -> WeightTakers:
    """Takers of a job with those that take the same volume from them, and so on."""
    taken: dict[int, int] = {}
    for dst, volume in zip(found.dst[own].tolist(), found.bytes[own].tolist(), strict=True):
        taken[dst] = taken.get(dst, 0) + volume
    carries = own.tolist()
    further = np.flatnonzero(candidates & np.isin(found.src, found.dst[candidates])).tolist()
    grows = True
    while grows:
        grows = False
        for n in further:
            src, dst, volume = int(found.src[n]), int(found.dst[n]), int(found.bytes[n])
            if src in taken and dst not in taken and abs(volume - taken[src]) <= options.same_volume * taken[src]:
                taken[dst] = volume
                carries.append(n)
                grows = True
    return WeightTakers(job, np.array(sorted(taken), np.int64), np.array(sorted(carries), np.int64))


def conversation_rows(found: Conversations, streams: Streams, some: Int) -> tuple[Int, Int, Int, Int]:
    """Rows of some conversations: conversation, start, end and bytes of each, (rows,)."""
    numbers = np.flatnonzero(np.isin(found.of_stream[0], some))
    offsets, rows = select_rows(streams.offsets, numbers)
    owner = np.repeat(found.of_stream[0][numbers], np.diff(offsets))
    return owner, streams.start_ns[rows], streams.end_ns[rows], streams.bytes[rows]


@dataclass(frozen=True, slots=True)
class Synchronizations:
    """When a job's weights moved; (n,) each, ascending."""

    start_ns: Int
    end_ns: Int
    bytes: Int


def find_synchronizations(
    found: Conversations, streams: Streams, takers: WeightTakers, edges_ns: Int, options: TrafficOptions
) -> Synchronizations:
    """Runs of a job's weight traffic with no pause as long as a part of its iteration."""
    _, start_ns, end_ns, size = conversation_rows(found, streams, takers.conversations)
    order = np.argsort(start_ns, kind="stable")
    start_ns, end_ns, size = start_ns[order], end_ns[order], size[order]
    until_ns = np.maximum.accumulate(end_ns)
    pause_ns = options.sync_pause * float(np.median(np.diff(edges_ns)))
    first = np.flatnonzero(np.append(True, start_ns[1:] - until_ns[:-1] > pause_ns))
    return Synchronizations(start_ns[first], np.maximum.reduceat(end_ns, first), np.add.reduceat(size, first))


def rollout_gaps_ns(syncs: Synchronizations, streams: Streams, of_job: Int) -> Int:
    """(n,) from the end of each synchronization until the job's own streams move again; the last may have none."""
    _, rows = select_rows(streams.offsets, of_job)
    start_ns = np.sort(streams.start_ns[rows])
    at = np.searchsorted(start_ns, syncs.end_ns)
    known = at < len(start_ns)
    gaps: Int = start_ns[at[known]] - syncs.end_ns[known]
    return gaps
