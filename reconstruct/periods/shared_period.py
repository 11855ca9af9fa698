"""Streams that hear no beat of their own, or another one than their like, cut at that of streams that carry as much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.periods.byte_period import StreamPeriods
from reconstruct.periods.cycles import CycleTable, cut_cycles, joined

# Streams whose bytes in the whole window differ by less than this share are members of one collective, or of replicas.
AS_MUCH = 1e-4
# Rails of one job meet inside hosts alone. Where these are unknown: they take as long for each of these parts of their
# bytes, to this share of their life. So do jobs of like paces now and then.
IN_STEP_SHARE, PARTS_SENT = 0.001, (0.25, 0.5, 0.75)
# Their cycle is one on which half of them agree to this share; one that is longer by more than this is a multiple.
AGREED_SHARE = 0.01
LONGER = 1.5
# Streams of one job begin and end within one cycle of each other. Of three cycles or more that is less than this ratio.
SAME_LIFE_RATIO = 1.5
# Where so large a part of them hears a cycle of several records, those that hear single ones have no vote.
SEVERAL_SHARE = 0.25


def adopt_shared_period(
    streams: Streams,
    found: CycleTable,
    numbers: Int,
    heard: StreamPeriods,
    hosts: Sequence[str | None] | None = None,
) -> CycleTable:
    """Lattices of streams, where those that carry as much share a cycle.

    Where a fault makes every step of a collective wait, the pauses inside an iteration are nearly as long as the one
    behind it, and a stream's fundamental is taken for a single message, whose pauses come back nowhere; where it comes
    and goes, for a multiple of the iteration. In a ring the other streams carry the same messages and wait otherwise.
    Behind equal records any pauses come back with each: who hears but that says little where others hear more. Passes
    that are alike on one stage and not on another are parts of the cycle that this one hears. Jobs that train models of
    one width send as much on every stream, in cycles of their own: only streams of endpoints that streams or hosts
    join are of one kind. Where a store joins two jobs, they take longer or shorter for as many bytes.

    Args:
        streams: data rows by connection.
        found: streams that were cut at their own beat.
        numbers: (n,) streams with a beat, ascending, those of `found` among them.
        heard: (n,) their beats.
        hosts: of each address code, where an inventory names it.
    """
    own = np.zeros(len(numbers))
    own[np.searchsorted(numbers, found.stream)] = found.quantum_bytes
    total = streams.total_bytes()[numbers]
    kind = _kinds(_parts(streams, numbers, total, hosts), total, _lives_ns(streams)[numbers])
    single = own * np.diff(streams.offsets)[numbers] < LONGER * total
    several = np.bincount(kind, (own > 0) & ~single) >= SEVERAL_SHARE * np.bincount(kind, own > 0)
    own[single & several[kind]] = 0
    cycle = _of_their_kind(kind, own)
    times = np.rint(cycle / np.maximum(own, 1))
    part = (times > 1) & (np.abs(times * own - cycle) <= AGREED_SHARE * own)
    some = np.flatnonzero((cycle > 0) & ((own == 0) | (own > LONGER * cycle) | part))
    if not len(some):
        return found
    again = cut_cycles(
        streams, numbers[some], StreamPeriods(cycle[some], heard.unit_bytes[some], heard.coherence[some])
    )
    kept = np.flatnonzero(~np.isin(found.stream, again.stream))
    return joined([found.take(kept), again])


def _parts(streams: Streams, numbers: Int, total: Int, hosts: Sequence[str | None] | None) -> Int:
    """(n,) the part of the fabric of each stream: endpoints that streams or hosts join, or that send in step."""
    codes = len(streams.addresses)
    src, dst = streams.src[numbers], streams.dst[numbers]
    names = {name: codes + n for n, name in enumerate(dict.fromkeys(hosts or ()))}
    host = np.array([-1 if name is None else names[name] for name in hosts or [None] * codes], np.int64)
    own = host[src]
    if (own < 0).any():
        own[own < 0] = (codes + len(names) + _in_step(streams, numbers, total))[own < 0]
    there = np.where(host[dst] < 0, dst, host[dst])
    graph = coo_array(
        (np.ones(3 * len(numbers), np.int8), (np.concatenate([src] * 3), np.concatenate([dst, own, there]))),
        shape=(codes + len(names) + len(numbers), codes + len(names) + len(numbers)),
    )
    return np.asarray(connected_components(graph, directed=False)[1][src], np.int64)


def _in_step(streams: Streams, numbers: Int, total: Int) -> Int:
    """(n,) number of the set of streams that carry as much, and take as long for each part of it."""
    sent = np.concatenate([[0], np.cumsum(streams.bytes)])
    first, last = streams.offsets[:-1][numbers], streams.offsets[1:][numbers] - 1
    life_ns = np.maximum(_lives_ns(streams)[numbers], 1)
    found = _runs(total, np.zeros(len(total), np.int64), AS_MUCH * total.astype(np.float64))
    for part in PARTS_SENT:
        row = np.clip(np.searchsorted(sent, sent[first] + part * total, side="right") - 1, first, last)
        found = _runs(streams.start_ns[row] - streams.start_ns[first], found, IN_STEP_SHARE * life_ns)
    return found


def _lives_ns(streams: Streams) -> Int:
    """(streams,) from the first byte of each to the last."""
    return np.asarray(streams.end_ns[streams.offsets[1:] - 1] - streams.start_ns[streams.offsets[:-1]], np.int64)


def _kinds(part: Int, total: Int, life_ns: Int) -> Int:
    """(n,) number of each stream's kind: those of one part of the fabric that carry as many bytes in as much time."""
    as_much = _runs(total, part, AS_MUCH * total.astype(np.float64))
    return _runs(life_ns, as_much, (SAME_LIFE_RATIO - 1) * life_ns.astype(np.float64))


def _runs(values: Int, within: Int, step: Float) -> Int:
    """(n,) number of the run of each value: a step up by more than its lower value's begins another one.

    Args:
        values: (n,).
        within: (n,) sets that are parted already.
        step: (n,) how far the next value of a run may lie above each.
    """
    order = np.lexsort([values, within])
    parted = np.diff(within[order]) > 0
    run = np.zeros(len(values), np.int64)
    run[order[1:]] = np.cumsum(parted | (np.diff(values[order]) > step[order[:-1]]))
    return run


def _of_their_kind(kind: Int, own: Float) -> Float:
    """(n,) the cycle on which most streams of a kind agree; 0 where they do not, or there is but one."""
    order = np.lexsort([own, kind])
    has, kind = own[order] > 0, kind[order]
    known = np.bincount(kind, has)
    size = np.bincount(kind)
    # cycles that are not known, 0, stand first
    last = np.cumsum(size) - 1
    middle = own[order][(last - (known - 1).clip(0) // 2).astype(np.int64)]
    near = has & (np.abs(own[order] - middle[kind]) <= AGREED_SHARE * middle[kind])
    share = np.bincount(kind, near) / np.maximum(known, 1)
    cycle = np.where((share >= 0.5) & (known > 1), middle, 0.0)
    result = np.zeros(len(own))
    result[order] = cycle[kind]
    return result
