"""When each connection lived as its samples show it, and when members of jobs were replaced.

Samples of connections that end while others begin are those of two jobs to what finds a rhythm in them. So samples are
split between the last packet of what ended and the first of what began, and each part is asked on its own; who trains
on is found by the work that each endpoint does in both (`reconstruct.membership.resized_jobs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.jit import compiled, to_contiguous
from reconstruct.membership.connection_lives import FEWEST_ROWS, SILENCE, ConnectionLives, ReplacementTime
from reconstruct.numeric.factorize import factorize_rows

# What lives for a smaller share of the time than this in which half of all bytes' connections live is sent once: a copy
# of state, a load.
SHORTEST_LIFE = 0.1


class SampledLives(NamedTuple):
    """Connections by their samples.

    Attributes:
        lives: when each was seen.
        patience_ns: (n,) silence for longer is its end.
        steady: (n,) those that have samples enough to say so, and live long enough.
    """

    lives: ConnectionLives
    patience_ns: Int
    steady: Bool


def sampled_lives(flows: Flows) -> SampledLives:
    """Lives of the connections of some samples, by source, destination and queue pair or ports.

    Args:
        flows: sampled packets, at least one.
    """
    frame = flows.frame
    ports = frame["src_port"].astype(np.int64) << 16 | frame["dst_port"]
    name = np.where(frame["dst_qp"] >= 0, frame["dst_qp"].astype(np.int64) + (1 << 32), ports)
    src, dst = frame["src_addr"].astype(np.int64), frame["dst_addr"].astype(np.int64)
    first, number = factorize_rows(src, dst, name)
    time_ns = to_contiguous(frame["time_flow_start_ns"].astype(np.int64))
    in_order = len(time_ns) < 2 or bool((time_ns[1:] >= time_ns[:-1]).all())
    turn = np.arange(len(time_ns)) if in_order else np.argsort(time_ns, kind="stable")
    start_ns, end_ns, pause_ns, counted = _seen(number, len(first), time_ns, turn)
    weight = frame["bytes"].astype(np.float64) * np.maximum(frame["sampling_rate"], 1)
    moved = np.bincount(number, weight).astype(np.float64)
    life_ns = end_ns - start_ns
    long = life_ns >= SHORTEST_LIFE * _usual(life_ns, moved)
    lives = ConnectionLives(src[first], dst[first], start_ns, end_ns, moved)
    return SampledLives(lives, SILENCE * pause_ns, (counted >= FEWEST_ROWS) & long)


@compiled
def _seen(number: Int, count: int, time_ns: Int, turn: Int) -> tuple[Int, Int, Int, Int]:
    """(first time, last time, longest pause, how many) of each of so many connections, of rows in turn of time."""
    start_ns, end_ns = np.zeros(count, np.int64), np.zeros(count, np.int64)
    pause_ns, counted = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for row in turn:
        own, now = number[row], time_ns[row]
        if counted[own] == 0:
            start_ns[own] = now
        else:
            pause_ns[own] = max(pause_ns[own], now - end_ns[own])
        end_ns[own] = now
        counted[own] += 1
    return start_ns, end_ns, pause_ns, counted


def _usual(values: Int, weight: Float) -> int:
    """Median of values by their weight."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order])
    return int(values[order][np.searchsorted(share, share[-1] / 2)])


def find_replacements(
    known: SampledLives, services: frozenset[int], hosts: Sequence[str | None] | None, size: int
) -> list[tuple[Int, tuple[ReplacementTime, ...]]]:
    """Address codes of each part of the fabric whose connections were replaced, and when they were.

    Parts share no connection and no host. Those whose connections were replaced at the same times are one: rails of one
    job may have no host in common where no inventory names any.

    Args:
        known: all connections.
        services: address codes that are part of no job.
        hosts: host of each address code, where an inventory names it.
        size: number of address codes.
    """
    lives = known.lives
    usable = known.steady & ~np.isin(lives.src, list(services)) & ~np.isin(lives.dst, list(services))
    if not usable.any():
        return []
    part = _parts(lives.src[usable], lives.dst[usable], hosts, size)
    begin, end = int(lives.start_ns.min()), int(lives.end_ns.max())
    ended = usable & (lives.end_ns + known.patience_ns < end)
    new = usable & (lives.start_ns - known.patience_ns > begin)
    own = part[lives.src]
    found: list[tuple[Int, tuple[ReplacementTime, ...]]] = []
    for number in np.intersect1d(own[ended], own[new]).tolist():
        inside = own == number
        apart_ns = int(np.median(known.patience_ns[inside & new]))
        times = _replaced(lives.end_ns[inside & ended], lives.start_ns[inside & new], apart_ns)
        if times:
            found.append((np.flatnonzero(part == number), times))
    return _together(found)


def _parts(src: Int, dst: Int, hosts: Sequence[str | None] | None, size: int) -> Int:
    """(addresses,) number of the part of the fabric that each is in."""
    if hosts is not None:
        names: dict[str, int] = {}
        pairs = [(code, names.setdefault(host, code)) for code, host in enumerate(hosts) if host is not None]
        beside = np.array(pairs, np.int64).reshape(-1, 2)
        src, dst = np.concatenate([src, beside[:, 0]]), np.concatenate([dst, beside[:, 1]])
    graph = coo_array((np.ones(len(src)), (src, dst)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _replaced(ends_ns: Int, begins_ns: Int, apart_ns: int) -> tuple[ReplacementTime, ...]:
    """Times at which some end before others, which begin within `apart_ns` of one another, do so."""
    begins = np.sort(begins_ns)
    firsts = begins[np.flatnonzero(np.diff(begins, prepend=begins[0] - apart_ns - 1) > apart_ns)]
    found: list[ReplacementTime] = []
    since = np.iinfo(np.int64).min
    for first in firsts.tolist():
        before = ends_ns[(ends_ns > since) & (ends_ns <= first)]
        if len(before):
            found.append(ReplacementTime(int(before.max()), first))
            since = first
    return tuple(found)


def _together(found: list[tuple[Int, tuple[ReplacementTime, ...]]]) -> list[tuple[Int, tuple[ReplacementTime, ...]]]:
    """Parts of which all intervals have a time in common as one, with what they have in common."""
    groups: list[tuple[Int, tuple[ReplacementTime, ...]]] = []
    for ends, times in found:
        for place, (others, theirs) in enumerate(groups):
            common = [
                ReplacementTime(max(a.stopped_ns, b.stopped_ns), min(a.begun_ns, b.begun_ns))
                for a, b in zip(times, theirs, strict=False)
            ]
            if len(times) == len(theirs) and all(one.stopped_ns <= one.begun_ns for one in common):
                groups[place] = np.union1d(others, ends), tuple(common)
                break
        else:
            groups.append((ends, times))
    return groups
