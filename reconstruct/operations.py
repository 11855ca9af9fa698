"""Streams + layout -> operations: messages as they are, collectives cut at the places all their members share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.operations import FAMILY_SLOTS, OPERATIONS
from datamodel.streams import Float, Int, Streams
from datamodel.transfers import ROLES
from reconstruct.arrivals import arrival_ns
from reconstruct.boundaries import shared_by_most
from reconstruct.cycles import Cycles
from reconstruct.jobs import Job
from reconstruct.transfers import between_transfers

PP = ROLES.index("pp")
# A place within this share of the quantum of the boundary is the boundary.
SAME_PLACE = 0.006


def operations(
    streams: Streams, job: Job, role: Mapping[int, int], groups: Mapping[int, list[tuple[int, ...]]]
) -> Frame:
    """Operations of one job, by stream and time.

    Iterations are numbered from 0; those after the last complete one carry on the count, those before the first are -1.

    The steps of a collective follow one another with pauses that depend on who is late; its members therefore disagree
    on where it is parted. Only places that most members of a group share part one collective from the next.

    Args:
        streams: data rows by connection.
        job: the job's streams and boundaries.
        role: stream -> index into ROLES.
        groups: role -> process groups of address codes.
    """
    group = _groups_of(streams, [c.stream for c in job.members], role, groups)
    offsets, family = _offsets(job, role, group)
    number = np.full(job.boundaries.end_ns.shape[1] + 2, -1, np.int64)
    number[job.edges] = np.arange(len(job.edges))
    after = int(job.edges[-1]) + 1
    number[after:] = len(job.edges) + np.arange(len(number) - after)
    parts = []
    for i, cycle in enumerate(job.members):
        place, column = int(job.boundaries.places[i]), int(job.boundaries.columns[i])
        kind = (role.get(cycle.stream, 0), group[i])
        own = _cut(streams, cycle, place, column, offsets[i], number, kind)
        parts.append(own.replace(slot=own["slot"] + FAMILY_SLOTS * family.get(i, 0)))
    following = _groups_of(streams, [f.stream for f in job.followers], role, groups)
    for follower, number_of in zip(job.followers, following, strict=True):
        kind = (role.get(follower.stream, 0), number_of)
        bounds = (follower.low, follower.high)
        parts.append(_frame(streams, follower.stream, follower.rows, bounds, follower.iteration, follower.slot, kind))
    return concat(OPERATIONS, parts).sort("stream", "start_ns")


def _groups_of(
    streams: Streams, numbers: Sequence[int], role: Mapping[int, int], groups: Mapping[int, list[tuple[int, ...]]]
) -> list[int]:
    """Number of the process group, among those of its role, that holds both ends of each stream; -1 for none."""
    holds: dict[tuple[int, int], set[int]] = {}
    for kind, of_role in groups.items():
        for number, endpoints in enumerate(of_role):
            for e in endpoints:
                holds.setdefault((kind, e), set()).add(number)
    found = []
    for stream in numbers:
        kind = role.get(stream, 0)
        ends = (kind, int(streams.src[stream])), (kind, int(streams.dst[stream]))
        found.append(min(holds.get(ends[0], set()) & holds.get(ends[1], set()), default=-1))
    return found


def _offsets(job: Job, role: Mapping[int, int], group: Sequence[int]) -> tuple[dict[int, Float], dict[int, int]]:
    """Where each member's operations end, and which collective of its group it carries.

    Returns:
        Member number -> byte offsets behind the boundary at which its operations end, the boundary itself last; and
        member number -> place of its collective among those of its group (a gather and a scatter on connections of
        their own), in order of time.
    """
    found: dict[int, Float] = {}
    family: dict[int, int] = {}
    families: dict[tuple[int, int, int], list[int]] = {}
    for i, cycle in enumerate(job.members):
        kind = role.get(cycle.stream, 0)
        if kind == PP or group[i] < 0:
            places = between_transfers(cycle, int(job.boundaries.places[i]))
            found[i] = _behind(cycle, int(job.boundaries.places[i]), cycle.places[places])
        else:
            families.setdefault((kind, group[i], round(np.log(cycle.quantum_bytes) * 20)), []).append(i)
    for members in families.values():
        shares = _shared([(job.members[i], int(job.boundaries.places[i])) for i in members])
        found.update({i: shares * job.members[i].quantum_bytes for i in members})
    begins = {name: _begins_ns(job, members) for name, members in families.items()}
    for name, members in families.items():
        earlier = [n for n in families if n[:2] == name[:2] and (begins[n], n) < (begins[name], name)]
        family.update(dict.fromkeys(members, len(earlier)))
    return found, family


def _begins_ns(job: Job, members: list[int]) -> float:
    """Median time from the end of an iteration to the members' first byte of the next."""
    begin = job.boundaries.next_ns[members][:, job.edges]
    late = np.where(begin > 0, begin - job.edges_ns, np.nan)
    return float(np.nanmedian(late)) if np.isfinite(late).any() else 0.0


def _behind(cycle: Cycles, boundary: int, places: Float) -> Float:
    offset = np.mod(places - cycle.places[boundary], cycle.quantum_bytes)
    return np.asarray(np.sort(np.where(offset <= 0, cycle.quantum_bytes, offset)), np.float64)


def _shared(members: list[tuple[Cycles, int]]) -> Float:
    """Shares of the quantum, behind the boundary, at which most members pause for long; 1.0 last."""
    share = np.concatenate([np.mod((c.places - c.places[b]) / c.quantum_bytes, 1.0) for c, b in members])
    pause = np.concatenate([c.pause_ns for c, _ in members])
    owner = np.repeat(np.arange(len(members)), [len(c.places) for c, _ in members])
    inner = (share > SAME_PLACE) & (share < 1 - SAME_PLACE)
    places, lengths = shared_by_most(share[inner], pause[inner], owner[inner], len(members))
    boundary_ns = float(np.median([c.pause_ns[b] for c, b in members]))
    floor_ns = max(float(np.median([c.floor_ns for c, _ in members])), 1.0)
    kept = _above_widest_ratio(lengths, boundary_ns, floor_ns)
    return np.array([*places[kept], 1.0])


def _above_widest_ratio(lengths: Float, boundary_ns: float, floor_ns: float) -> Int:
    """Which pauses are of the kind that parts collectives, rather than the steps inside them."""
    ranked = np.sort(np.concatenate([lengths, [boundary_ns]]))[::-1]
    ratio = ranked / np.concatenate([ranked[1:], [floor_ns]])
    limit = ranked[int(np.argmax(ratio))]
    return np.flatnonzero(lengths >= limit).astype(np.int64)


def _cut(
    streams: Streams, cycle: Cycles, boundary: int, column: int, offsets: Float, number: Int, kind: tuple[int, int]
) -> Frame:
    """One stream's operations; what it sent after its last place is one more, unfinished."""
    lattice = cycle.lattice(boundary)
    origins = np.concatenate([[lattice[0] - cycle.quantum_bytes], lattice]) if len(lattice) else np.zeros(1)
    turn = np.arange(len(origins))
    position = np.concatenate([(origins[:, None] + offsets[:-1]).ravel(), lattice])
    slot = np.concatenate([np.tile(np.arange(len(offsets) - 1), len(origins)), np.full(len(lattice), len(offsets) - 1)])
    turn = np.concatenate([np.repeat(turn, len(offsets) - 1), np.arange(len(lattice))])
    total = float(cycle.cumulative[-1])
    inside = (position > SAME_PLACE * cycle.quantum_bytes) & (position <= total + SAME_PLACE * cycle.quantum_bytes)
    order = np.flatnonzero(inside)[np.argsort(position[inside], kind="stable")]
    high = np.concatenate([cycle.rows_before(position[order]), [len(cycle.rows)]])
    low = np.concatenate([[0], high[:-1]])
    iteration = number[np.minimum(column + np.concatenate([turn[order], [len(lattice)]]), len(number) - 1)]
    slot = np.concatenate([slot[order], [(position > lattice[-1]).sum() if len(lattice) else 0]])
    some = high > low
    return _frame(streams, cycle.stream, cycle.rows, (low[some], high[some]), iteration[some], slot[some], kind)


def _frame(
    streams: Streams,
    stream: int,
    rows: Int,
    bounds: tuple[Int, Int],
    iteration: Int,
    slot: Int,
    kind: tuple[int, int],
) -> Frame:
    low, high = bounds
    start, sent = streams.start_ns[rows], np.maximum.accumulate(streams.end_ns[rows])
    arrived = arrival_ns(streams, rows)
    busy = np.maximum(arrived - np.maximum(start, np.concatenate([start[:1], arrived[:-1]])), 0)

    def total(values: Int) -> Int:
        running = np.concatenate([[0], np.cumsum(values)])
        return np.asarray(running[high] - running[low], np.int64)

    return Frame(
        OPERATIONS,
        {
            "endpoint": np.full(len(low), streams.src[stream]),
            "peer": np.full(len(low), streams.dst[stream]),
            "stream": np.full(len(low), stream),
            "role": np.full(len(low), kind[0]),
            "group": np.full(len(low), kind[1]),
            "iteration": iteration,
            "slot": slot,
            "start_ns": start[low],
            "end_ns": sent[high - 1],
            "delivered_ns": arrived[high - 1],
            "bytes": total(streams.bytes[rows]),
            "busy_ns": total(busy),
            "sending_ns": total(np.maximum(streams.end_ns[rows] - start, 1)),
            "retransmitted_packets": total(streams.retransmitted[rows]),
        },
    )


def last_sent_ns(streams: Streams) -> dict[int, int]:
    """Address code -> when it sent its last payload byte of any kind, ready messages included."""
    last: dict[int, int] = {}
    for stream, source in enumerate(streams.src.tolist()):
        last[source] = max(last.get(source, 0), int(streams.end_ns[streams.rows(stream)].max()))
    return last
