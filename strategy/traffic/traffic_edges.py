"""Streams -> edges: what each directed pair carries every iteration, and whether its two directions act together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.medians import MAD_TO_SIGMA, medians_of_own_group, row_medians
from reconstruct.numeric.row_runs import run_starts, runs
from strategy.traffic.concurrent_messages import lanes
from strategy.traffic.edge_concurrency import together
from strategy.traffic.stream_profiles import StreamProfiles

# Bytes an iteration of two streams agree within this share (sequence and ready messages differ by some).
SAME_BYTES, ROUGHLY_SAME = 0.03, 0.3
# Numbers of transfers do within this share, or one: where a pause falls short of a message's end two count as one.
SAME_COUNT = 0.5
# Parallel queue pairs of one connection are busy together for this share.
PARALLEL = 0.8
# Sequence and ready messages, retransmissions and 1 % of lost records change the bytes of an iteration by less.
VARIES = 0.02
# From this concurrency on two directions act together; a pipeline takes turns.
AT_ONCE = 0.5
# What lasts for a larger share of the iteration may be several messages whose pauses samples do not show.
BRIDGED_SHARE = 0.3
# Passes of one iteration begin less than this share of it apart.
WHOLE_SHARE = 0.75
# Of fewer iterations a deviation says nothing.
FEWEST_SIZES = 4


@dataclass(frozen=True, slots=True)
class TrafficEdges:
    """Traffic of one behaviour of each directed pair; parallel queue pairs count as one. All (edges,) unless said.

    Attributes:
        src, dst: address codes.
        iteration_bytes: median bytes of an iteration, parallel streams summed.
        transfers: transfers of an iteration.
        at_once, messages: messages that begin together in its last transfer of an iteration, and all in it.
        sizes: (edges, iterations) bytes of single iterations over the median; nan where nothing was sent.
        variation: robust deviation of these over iterations; nan where the feed does not show it.
        first_ns, last_ns: median time of the first and last byte after the iteration's beginning.
        spread: (edges, PARTS) share of its bytes sent in each part of the iteration.
        concurrency: how far it acts together with an edge of the reverse direction that carries alike (1: always at
            once, 0: they take turns); nan without one, inf where times do not show it.
        streams: (streams,) stream numbers, ascending.
        edge: (streams,) the edge each stream is part of.
        period_ns: length of an iteration.
    """

    src: Int
    dst: Int
    iteration_bytes: Float
    transfers: Int
    at_once: Float
    messages: Float
    sizes: Float
    variation: Float
    first_ns: Float
    last_ns: Float
    spread: Float
    concurrency: Float
    streams: Int
    edge: Int
    period_ns: float

    def __len__(self) -> int:
        return len(self.src)


def build_edges(found: StreamProfiles, *, exact: bool = True) -> TrafficEdges:
    """Edges of a job, by source, destination and bytes.

    Args:
        found: what each of its streams does in an iteration.
        exact: whether it is known so well when and how much, that streams of one pair can be compared by it.
    """
    edge, leader = _merged(found, exact=exact)
    size = np.bincount(edge, found.iteration_bytes, len(leader)).astype(np.float64)
    at_once, messages = lanes(found, edge, len(leader))
    acts = _reverse_together(found, leader, size)
    return TrafficEdges(
        src=found.src[leader],
        dst=found.dst[leader],
        iteration_bytes=size,
        transfers=found.transfers[leader],
        at_once=at_once,
        messages=messages,
        sizes=found.sizes[leader],
        variation=_variation(found.sizes[leader], found.src[leader]),
        first_ns=found.first_ns[leader],
        last_ns=found.last_ns[leader],
        spread=found.spread[leader],
        concurrency=acts,
        streams=found.number,
        edge=edge,
        period_ns=found.period_ns,
    )


def without_exact_times(edges: TrafficEdges) -> TrafficEdges:
    """Edges whose times are known roughly: how they act is what most of those do that carry as much.

    How their bytes change from iteration to iteration is not known. Which iteration a connection's bytes belong to is
    known to a message only: what begins nearly an iteration from others that carry as much begins with them. Messages
    that follow on one another are seen as one, which lasts while the other direction's do, be it in turns: edges that
    send for long and seem to act at once do so in a way that is not known.
    """
    alike = runs(edges.iteration_bytes, SAME_BYTES)
    away = (edges.first_ns - medians_of_own_group(edges.first_ns, alike)) / max(edges.period_ns, 1.0)
    shift_ns = np.sign(away) * np.floor(np.abs(away) + 1 - WHOLE_SHARE) * edges.period_ns
    acts = np.where(np.isnan(edges.concurrency), np.nan, medians_of_own_group(edges.concurrency, alike))
    transfers = medians_of_own_group(edges.transfers.astype(np.float64), alike).astype(np.int64)
    bridged = medians_of_own_group(edges.last_ns - edges.first_ns, alike) > BRIDGED_SHARE * edges.period_ns
    acts[bridged & (acts >= AT_ONCE)] = np.inf
    unknown = np.full(len(edges), np.nan)
    first_ns, last_ns = edges.first_ns - shift_ns, edges.last_ns - shift_ns
    return replace(edges, variation=unknown, concurrency=acts, transfers=transfers, first_ns=first_ns, last_ns=last_ns)


def deviations(sizes: Float) -> Float:
    """(n,) robust deviation over iterations of (n, iterations) sizes, as a ratio; nan where too few were seen."""
    middle = row_medians(sizes)[:, None]
    found = MAD_TO_SIGMA * row_medians(np.abs(sizes / np.where(middle > 0, middle, 1.0) - 1))
    return np.where(np.isfinite(sizes).sum(axis=1) >= FEWEST_SIZES, found, np.nan)


def _variation(sizes: Float, src: Int) -> Float:
    """(edges,) how much their bytes change from iteration to iteration; nan where the feed does not show it.

    Every program sums gradients of fixed size. So where, as a rule, not even what an endpoint sends most evenly is
    fixed, iterations or volumes are not exact.
    """
    found = deviations(sizes)
    order = np.lexsort([found, src])  # nan comes last
    evenest = found[order][run_starts(src[order])]
    evenest = evenest[np.isfinite(evenest)]
    exact = len(evenest) and np.median(evenest) <= VARIES
    return found if exact else np.full(len(found), np.nan)


def _merged(found: StreamProfiles, *, exact: bool) -> tuple[Int, Int]:
    """(streams,) edge of each stream, and (edges,) one stream of each: queue pairs of one connection are one edge.

    Streams of one directed pair that carry alike, in as many transfers, at the same time; without exact starts those
    that carry alike. Each round compares what is left of a pair with its first stream.
    """
    run = runs(found.iteration_bytes, SAME_BYTES)
    transfers = found.transfers if exact else np.zeros(len(run), np.int64)
    order = np.lexsort([found.number, transfers, run, found.dst, found.src])
    edge = np.full(len(order), -1, np.int64)
    leaders: list[Int] = []
    count = 0
    while len(order):
        change = run_starts(*(column[order] for column in (found.src, found.dst, run, transfers)))
        group = np.cumsum(change) - 1
        leader = order[change]
        joins = np.array(change)
        rest = np.flatnonzero(~change)
        joins[rest] = not exact or together(found, leader[group[rest]], order[rest]) >= PARALLEL
        edge[order[joins]] = count + group[joins]
        leaders.append(leader)
        count += len(leader)
        order = order[~joins]
    return edge, np.concatenate([np.zeros(0, np.int64), *leaders])


def _reverse_together(found: StreamProfiles, leader: Int, size: Float) -> Float:
    """(edges,) how far each edge acts together with a reverse one in about as many transfers; nan without any.

    Of several that carry alike the most counts. Where no two carry alike, and both have no other partner, those of
    pairs that carry alike in all are compared (ranks behind a NIC share connections, others in each direction), then
    those that carry roughly alike: a lost record or an iteration counted wrongly takes from one direction alone.
    """
    codes = int(max(found.src.max(initial=0), found.dst.max(initial=0))) + 1
    own = found.src[leader] * codes + found.dst[leader]
    reverse = found.dst[leader] * codes + found.src[leader]
    order = np.argsort(own, kind="stable")
    low, high = (np.searchsorted(own[order], reverse, side=side) for side in ("left", "right"))
    count, most = found.transfers[leader], np.full(len(leader), np.nan)
    _, kind = np.unique(np.stack([own, count]), axis=1, return_inverse=True)
    shared = np.bincount(kind.ravel(), size)[kind.ravel()]
    for carried, tolerance in ((size, SAME_BYTES), (shared, SAME_BYTES), (size, ROUGHLY_SAME)):
        alone = np.isnan(most)
        for step in range(int((high - low).max(initial=0))):
            one = np.flatnonzero(alone & (low + step < high))
            other = order[low[one] + step]
            larger = np.maximum(carried[one], carried[other])
            alike = alone[other] & (np.abs(carried[one] - carried[other]) <= tolerance * larger)
            several = SAME_COUNT * np.maximum(count[one], count[other])
            alike &= np.abs(count[one] - count[other]) <= np.maximum(several, 1)
            one, other = one[alike], other[alike]
            most[one] = np.fmax(most[one], together(found, leader[one], leader[other]))
    return most
