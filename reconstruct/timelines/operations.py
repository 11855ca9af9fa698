"""Streams + layout -> operations: messages as they are, collectives cut at the places all their members share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.operations import FAMILY_SLOTS, OPERATIONS
from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from datamodel.reconstructed.transfers import ROLES
from reconstruct.jobs.job_recognition import Job
from reconstruct.numeric.medians import row_medians
from reconstruct.numeric.row_runs import place_within, run_starts
from reconstruct.timelines.collective_boundaries import cut_at_places, find_collective_boundaries
from reconstruct.timelines.delivery_times import arrivals_ns
from reconstruct.timelines.job_rows import JobRows, job_rows
from reconstruct.timelines.transfers import message_starts

PP = ROLES.index("pp")
# Streams of one role whose bytes an iteration differ by no more than a twentieth carry the same collectives.
SIZES_AN_E_FOLD = 20


def operations(
    streams: Streams, job: Job, role: Mapping[int, int], groups: Mapping[int, list[tuple[int, ...]]]
) -> Frame:
    """Operations of one job, by stream and time.

    Iterations are numbered from 0, as in `reconstruct.timelines.transfers`; what came after the last complete one has
    their count as its number. A message is what lies between two pauses that part messages. The steps of a collective
    follow one another with pauses that depend on who is late; its members therefore disagree on where it is parted.
    Only places that most streams of the same role and size share part one collective from the next.

    Linear in rows.

    Args:
        streams: data rows by connection.
        job: the job's streams and edges.
        role: stream -> index into ROLES.
        groups: role -> process groups of address codes.
    """
    seen = job_rows(streams, job)
    if not len(seen.rows):
        return empty(OPERATIONS)
    roles = np.array([role.get(n, 0) for n in seen.streams.tolist()], np.int64)
    group = _groups_of(streams.src[seen.streams], streams.dst[seen.streams], roles, groups)
    first = message_starts(streams, seen)
    slot = _numbered(seen, first)
    last = len(job.edges_ns)
    begins = _begins(seen)
    usual = _usual_bytes(seen, begins, last)
    kind = _kinds(roles, group, usual)
    family = np.zeros(len(seen.streams), np.int64)
    if (kind >= 0).any():
        places = _places(streams, seen, kind)
        bounds = np.concatenate([[0], np.cumsum([len(p) for p in places])]).astype(np.int64)
        rows = seen.offsets, seen.bytes, seen.pause_ns, seen.iteration
        cut_at_places(*rows, kind, usual, bounds, np.concatenate(places), last, first, slot)
        family = _families(roles, group, kind, _usual_begin(seen, begins, job.edges_ns))
    return _frame(streams, seen, np.flatnonzero(first), slot, (roles, group, family))


def _groups_of(src: Int, dst: Int, roles: Int, groups: Mapping[int, list[tuple[int, ...]]]) -> Int:
    """(s,) number of the first process group, among those of its role, that holds both ends; -1 for none."""
    found = np.full(len(src), -1, np.int64)
    for role, of_role in groups.items():
        own = np.flatnonzero(roles == role)
        if not len(own) or not of_role:
            continue
        number = np.repeat(np.arange(len(of_role)), [len(g) for g in of_role])
        members = np.fromiter((e for g in of_role for e in g), np.int64, len(number))
        held = np.unique(members * len(of_role) + number)
        low = np.searchsorted(held, src[own] * len(of_role))
        count = np.searchsorted(held, (src[own] + 1) * len(of_role)) - low
        row = np.repeat(np.arange(len(own)), count)
        of_src = held[np.repeat(low - np.cumsum(count) + count, count) + np.arange(len(row))] % len(of_role)
        wanted = dst[own][row] * len(of_role) + of_src
        both = held[np.minimum(np.searchsorted(held, wanted), len(held) - 1)] == wanted
        found[own[row[both][::-1]]] = of_src[both][::-1]
    return found


def _numbered(seen: JobRows, first: Bool) -> Int:
    """(r,) place of each operation among its stream's of the iteration, at the row it begins with."""
    low = np.flatnonzero(first)
    slot = np.zeros(len(first), np.int64)
    slot[low] = place_within(seen.owner()[low], seen.iteration[low])
    return slot


def _begins(seen: JobRows) -> Int:
    """Rows with which a stream's iterations begin."""
    change = run_starts(seen.iteration)
    change[seen.offsets[:-1]] = True
    return np.flatnonzero(change).astype(np.int64)


def _matrix(seen: JobRows, begins: Int, values: Float, columns: int) -> Float:
    """(s, columns) values of the streams' iterations; nan where a stream has none."""
    table = np.full((len(seen.streams), columns + 1), np.nan)
    table[seen.owner()[begins], np.minimum(seen.iteration[begins], columns)] = values
    return table[:, :columns]


def _usual_bytes(seen: JobRows, begins: Int, last: int) -> Float:
    """(s,) median bytes of a stream's complete iterations."""
    total = np.add.reduceat(seen.bytes, begins).astype(np.float64)
    table = _matrix(seen, begins, total, max(last, 1))
    usual = row_medians(table[:, 1:]) if last > 1 else table[:, 0]
    mean = np.add.reduceat(seen.bytes, seen.offsets[:-1]) / max(last, 1)
    return np.where(np.isfinite(usual), usual, mean)


def _usual_begin(seen: JobRows, begins: Int, edges_ns: Int) -> Float:
    """(s,) median time from the end of an iteration to a stream's first byte of the next."""
    later = begins[(seen.iteration[begins] > 0) & (seen.iteration[begins] < len(edges_ns))]
    after = (seen.start_ns[later] - edges_ns[seen.iteration[later] - 1]).astype(np.float64)
    return np.nan_to_num(row_medians(_matrix(seen, later, after, len(edges_ns))))


def _kinds(roles: Int, group: Int, usual: Float) -> Int:
    """(s,) number of the kind of collective a stream carries, by role and bytes; -1 for messages."""
    collective = (roles != PP) & (group >= 0)
    size = np.round(np.log(np.maximum(usual, 1.0)) * SIZES_AN_E_FOLD).astype(np.int64)
    _, number = np.unique(roles * 10_000 + size, return_inverse=True)
    number = np.where(collective, number, -1)
    present = np.unique(number[collective])
    return np.where(collective, np.searchsorted(present, number), -1).astype(np.int64)


def _places(streams: Streams, seen: JobRows, kind: Int) -> list[Float]:
    """Places at which each kind's collectives part."""
    floor = seen.floor_ns(streams.trains[seen.streams])
    return [find_collective_boundaries(seen, np.flatnonzero(kind == k), floor) for k in range(int(kind.max()) + 1)]


def _families(roles: Int, group: Int, kind: Int, begin_ns: Float) -> Int:
    """(s,) which collective of its group a stream carries, in order of time.

    A gather and a scatter on connections of their own carry as many bytes each, or not; by kind they are told apart.
    """
    own = np.flatnonzero(kind >= 0)
    name = (roles[own] * (int(group.max()) + 1) + group[own]) * (int(kind.max()) + 1) + kind[own]
    names, member = np.unique(name, return_inverse=True)
    begin = np.bincount(member, begin_ns[own]) / np.bincount(member)
    of_group = names // (int(kind.max()) + 1)
    order = np.lexsort([names, begin, of_group])
    rank = np.empty(len(names), np.int64)
    rank[order] = place_within(of_group[order])
    family = np.zeros(len(kind), np.int64)
    family[own] = rank[member]
    return family


def _frame(streams: Streams, seen: JobRows, low: Int, slot: Int, named: tuple[Int, Int, Int]) -> Frame:
    """Operations that begin with the rows `low`.

    Args:
        streams: data rows by connection.
        seen: the job's rows.
        low: ascending.
        slot: (r,) at those rows.
        named: role, group and family of each stream.
    """
    owner = np.searchsorted(seen.offsets, low, side="right") - 1
    high = np.append(low[1:], len(seen.rows))
    arrived = arrivals_ns(streams, seen.rows, seen.end_ns, seen.offsets)
    sent_before = np.concatenate([seen.start_ns[:1], arrived[:-1]])
    sent_before[seen.offsets[:-1]] = seen.start_ns[seen.offsets[:-1]]
    busy = np.maximum(arrived - np.maximum(seen.start_ns, sent_before), 0)
    number = seen.streams[owner]

    def total(values: Int) -> Int:
        return np.asarray(np.add.reduceat(values, low), np.int64)

    def counted(column: Int) -> Int:
        if column.strides == (0,) and not column[:1].any():  # no record knows them
            return np.broadcast_to(np.zeros(1, np.int64), (len(low),))
        return total(column[seen.rows])

    return Frame(
        OPERATIONS,
        {
            "endpoint": streams.src[number],
            "peer": streams.dst[number],
            "stream": number,
            "role": named[0][owner],
            "group": named[1][owner],
            "iteration": seen.iteration[low],
            "slot": slot[low] + FAMILY_SLOTS * named[2][owner],
            "start_ns": seen.start_ns[low],
            "end_ns": np.maximum.reduceat(seen.end_ns, low),
            "delivered_ns": arrived[high - 1],
            "bytes": total(seen.bytes),
            "busy_ns": total(busy),
            "sending_ns": total(np.maximum(seen.end_ns - seen.start_ns, 1)),
            "retransmitted_packets": counted(streams.retransmitted),
            "packets": counted(streams.packets),
            "ecn_ce_packets": counted(streams.ecn_ce),
        },
    )


def last_sent_ns(streams: Streams) -> dict[int, int]:
    """Address code -> when it sent its last payload byte of any kind, ready messages included."""
    if not len(streams):
        return {}
    last = np.zeros(len(streams.addresses), np.int64)
    np.maximum.at(last, streams.src, np.maximum.reduceat(streams.end_ns, streams.offsets[:-1]))
    senders: Sequence[int] = np.unique(streams.src).tolist()
    return {e: int(last[e]) for e in senders}
