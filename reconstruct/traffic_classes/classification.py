"""Streams and jobs -> what all traffic is for, who takes a job's weights, and what served models move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int, Streams
from datamodel.reconstructed.traffic import (
    MANAGEMENT,
    ROLLOUT,
    SERVING,
    SERVING_PAIRS,
    STORAGE,
    TRAINING,
    UNKNOWN,
    WEIGHT_SYNC,
)
from reconstruct.traffic_classes.conversations import (
    RDMA,
    Conversations,
    find_conversations,
    fixed_size_share,
    life_ns,
)
from reconstruct.traffic_classes.endpoint_roles import KnownEndpoints, bulk, find_stores
from reconstruct.traffic_classes.options import MANAGEMENT_PORTS, STORAGE_PORTS, TrafficOptions
from reconstruct.traffic_classes.traffic_table import tabulate_traffic
from reconstruct.traffic_classes.weight_sync import (
    Synchronizations,
    WeightTakers,
    conversation_rows,
    find_synchronizations,
    find_weight_takers,
    rollout_gaps_ns,
)

_OPEN = -1  # not decided yet


@dataclass(frozen=True, slots=True)
class KnownJobs:
    """What is known of the jobs of a window.

    Attributes:
        edges_ns: end of each iteration, by job.
        streams: numbers of each job's streams, by job; none where samples show it.
    """

    edges_ns: Sequence[Int]
    streams: Sequence[Int]


@dataclass(frozen=True, slots=True)
class WeightMoves:
    """What a job of reinforcement learning moves between its steps.

    Attributes:
        takers: who takes the weights.
        syncs: when.
        gaps_ns: until the job's ranks moved data again, of each of these; the last may have none.
    """

    takers: WeightTakers
    syncs: Synchronizations
    gaps_ns: Int


@dataclass(frozen=True, slots=True)
class ClassifiedTraffic:
    """What all traffic of a window is for.

    Attributes:
        traffic: rows of `datamodel.reconstructed.traffic.TRAFFIC`.
        serving: rows of `datamodel.reconstructed.traffic.SERVING_PAIRS`, the largest first.
        of_stream: (streams,) class of each that counts every byte.
        weights: of the jobs that have any.
    """

    traffic: Frame
    serving: Frame
    of_stream: Int
    weights: tuple[WeightMoves, ...] = field(default=())


def classify_traffic(
    streams: Streams, sampled: Streams, known: KnownEndpoints, jobs: KnownJobs, hidden: Bool, options: TrafficOptions
) -> ClassifiedTraffic:
    """Decide what each conversation is for.

    1. Between ranks of jobs it is training.
    2. To and from stores (named, without a GPU, or serving all) it is storage where data moves, else management.
    3. What a job's ranks send one way nearly every iteration, to no store, are weights; those who take them generate.
    4. Otherwise data that goes from endpoints that only send to others that only receive are keys and values of served
       models; endpoints that exchange it both ways serve where they are in step, too fast for training, where messages
       have no fixed sizes, or where they went on for long enough to be found in a job. What is left is unknown.

    Args:
        streams: data rows by connection that count every byte.
        sampled: the same of samples.
        known: of endpoints.
        jobs: of the window.
        hidden: (streams,) streams whose records hide messages.
        options: thresholds.
    """
    found = find_conversations([streams, sampled])
    moves = bulk(found, options)
    stores = find_stores(found, known, moves, options)
    takers = find_weight_takers(
        found, streams, known.job, jobs.edges_ns, _outward(found, known, moves, stores, options), options
    )
    exact = np.zeros(len(found), np.bool_)
    exact[found.of_stream[0][~hidden]] = True
    kind = _decided(found, known, moves, stores)
    _follow_jobs(kind, found, jobs)
    _follow_weights(kind, found, takers)
    open_ = moves & exact & (kind == _OPEN)  # messages are looked at where nothing else has decided
    _follow_models(kind, found, known, moves, _aperiodic(found, streams, open_, options), options)
    weights = tuple(_moves(found, streams, one, jobs, options) for one in takers)
    classes = [(part, kind[of]) for part, of in zip((streams, sampled), found.of_stream, strict=True)]
    served = _serving(found, streams, kind == SERVING, exact)
    return ClassifiedTraffic(tabulate_traffic(classes), served, classes[0][1], weights)


def _decided(found: Conversations, known: KnownEndpoints, moves: Bool, stores: Bool) -> Int:
    """(conversations,) class of each that its ends or its port decide; else `_OPEN`."""
    kind = np.full(len(found), _OPEN)
    inside = (known.job[found.src] >= 0) & (known.job[found.dst] >= 0)
    kind[inside & ((found.port == RDMA) | moves)] = TRAINING
    stored = stores[found.src] | stores[found.dst]
    kind[stored] = np.where(moves, STORAGE, MANAGEMENT)[stored]
    for ports, meaning in ((STORAGE_PORTS, STORAGE), (MANAGEMENT_PORTS, MANAGEMENT)):
        kind[np.isin(found.port, list(ports))] = meaning
    kind[(kind == _OPEN) & ~moves & (found.port != RDMA)] = MANAGEMENT
    return kind


def _outward(found: Conversations, known: KnownEndpoints, moves: Bool, stores: Bool, options: TrafficOptions) -> Bool:
    """(conversations,) those that move data one way to endpoints that are neither ranks nor stores."""
    beyond = (known.job[found.dst] < 0) & ~stores[found.src] & ~stores[found.dst]
    return np.asarray(moves & beyond & (found.returned() < options.one_way_ratio))


def _follow_jobs(kind: Int, found: Conversations, jobs: KnownJobs) -> None:
    """Make training of what the jobs' own streams carry, whatever its port."""
    for own in jobs.streams:
        kind[found.of_stream[0][own]] = TRAINING


def _follow_weights(kind: Int, found: Conversations, takers: Sequence[WeightTakers]) -> None:
    """Make weights of what takers are given, and rollout of what they send to ranks and to one another."""
    taking = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.endpoints for one in takers)]))
    around = (kind == _OPEN) | ((kind == MANAGEMENT) & (found.port != RDMA))
    sends, receives = np.isin(found.src, taking), np.isin(found.dst, taking)
    data = found.largest_bytes >= np.where(kind == MANAGEMENT, found.largest_bytes + 1, 0)
    kind[around & data & (sends | receives)] = ROLLOUT
    for one in takers:
        kind[one.conversations] = WEIGHT_SYNC
        back = found.back[one.conversations]
        kind[back[(back >= 0) & (found.port[one.conversations] == RDMA)]] = WEIGHT_SYNC


def _follow_models(
    kind: Int, found: Conversations, known: KnownEndpoints, moves: Bool, aperiodic: Bool, options: TrafficOptions
) -> None:
    """Decide the rest: serving, where anything shows it."""
    rest = np.flatnonzero(kind == _OPEN)
    size, data = len(known.job), rest[moves[rest]]
    sent = np.bincount(found.src[data], found.bytes[data], size)
    received = np.bincount(found.dst[data], found.bytes[data], size)
    gives, takes = received < options.one_way_ratio * sent, sent < options.one_way_ratio * received
    shows = gives[found.src] & takes[found.dst]
    shows |= known.stepping[found.src] & known.stepping[found.dst] | aperiodic
    served = np.zeros(len(found), np.bool_)
    served[data] = shows[data]
    ends = np.zeros(size, np.bool_)
    ends[found.src[served]] = ends[found.dst[served]] = True
    answers = np.isin(np.arange(len(found)), found.back[served & (found.back >= 0)])
    kind[rest] = UNKNOWN
    between = ends[found.src] & ends[found.dst]
    kind[rest[(served | answers | (between & ~moves))[rest]]] = SERVING


def _aperiodic(found: Conversations, streams: Streams, some: Bool, options: TrafficOptions) -> Bool:
    """(conversations,) of some whose messages have many sizes, or went on for long enough to be found in a job."""
    share = fixed_size_share(streams, found.of_stream[0], some, options.fixed_sizes)
    lasted_ns = life_ns(streams, found.of_stream[0], len(found))
    lasts = (found.records >= options.fewest_records) & (lasted_ns >= options.least_s * 1e9)
    return np.asarray(some & ((share < options.fixed_share) | lasts))


def _moves(
    found: Conversations, streams: Streams, takers: WeightTakers, jobs: KnownJobs, options: TrafficOptions
) -> WeightMoves:
    syncs = find_synchronizations(found, streams, takers, jobs.edges_ns[takers.job], options)
    return WeightMoves(takers, syncs, rollout_gaps_ns(syncs, streams, jobs.streams[takers.job]))


def _serving(found: Conversations, streams: Streams, served: Bool, exact: Bool) -> Frame:
    """Pairs of served models, the largest first."""
    size = int(max(found.src.max(initial=0), found.dst.max(initial=0))) + 1
    pair, of = np.unique((found.src * size + found.dst)[served], return_inverse=True)
    owner, start_ns, end_ns, volume = conversation_rows(found, streams, np.flatnonzero(served & exact))
    place = np.full(len(found), -1)
    place[served] = of
    busy_ns = np.bincount(place[owner], end_ns - start_ns, len(pair))
    whole = np.bincount(place[owner], volume, len(pair))
    total = np.zeros(len(pair), np.int64)
    np.add.at(total, of, found.bytes[served])
    order = np.lexsort([pair, -total])
    goodput = np.where(busy_ns > 0, 8e9 * whole / np.maximum(busy_ns, 1), np.nan)
    columns = {
        "src": pair // size,
        "dst": pair % size,
        "bytes": total,
        "transfers": np.bincount(place[owner], minlength=len(pair)),
        "goodput_bps": goodput,
    }
    return Frame(SERVING_PAIRS, {name: values[order] for name, values in columns.items()})
