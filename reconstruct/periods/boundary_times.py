"""When streams cross a place of their cycle, and how the crossings of several streams compare. Kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.ragged_arrays import offsets_of, with_room
from reconstruct.periods.byte_period import latest_ends
from reconstruct.periods.cycles import Members
from reconstruct.periods.folding import SAME_PLACE_SHARE, crossings, lattice


class BoundaryTimes(NamedTuple):
    """Times at which streams cross one place of their cycle each, side by side.

    Attributes:
        offsets: (n + 1,) bounds of each stream's crossings.
        end_ns: last byte before each.
        begin_ns: first byte behind it; 0 at the stream's end.
    """

    offsets: Int
    end_ns: Int
    begin_ns: Int

    def of(self, n: int) -> Int:
        """Last bytes before each crossing of one stream."""
        return self.end_ns[self.offsets[n] : self.offsets[n + 1]]


class Columns(NamedTuple):
    """What a kernel needs of a job's members, see `CycleTable` and `Members`."""

    quantum_bytes: Float
    main: Int
    place_offsets: Int
    places: Float
    anchor_offsets: Int
    anchors: Float
    row_offsets: Int
    rows: Int
    cumulative: Int
    break_offsets: Int
    breaks: Int
    break_ns: Int


def crossed(streams: Streams, members: Members, some: Int, places: Int) -> BoundaryTimes:
    """Crossings of some members.

    Args:
        streams: data rows by connection.
        members: streams with their lattices.
        some: (n,) which of them.
        places: (n,) the place of each.
    """
    counts = np.zeros(len(some), np.int64)
    times = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns)
    end, begin = _cross_each(_columns(members), some, places, *times, counts)
    return BoundaryTimes(offsets_of(counts), end, begin)


def _columns(members: Members) -> Columns:
    own = members.lattices
    places = own.place_offsets, own.places
    rows = members.row_offsets, members.rows, members.cumulative
    breaks = members.break_offsets, members.breaks, members.break_ns
    return Columns(own.quantum_bytes, own.main, *places, own.anchor_offsets, own.anchors, *rows, *breaks)


@compiled
def _cross_each(columns: Columns, some: Int, places: Int, start_ns: Int, end_ns: Int, counts: Int) -> tuple[Int, Int]:
    end, begin = np.empty(16 * len(some), np.int64), np.empty(16 * len(some), np.int64)
    n = 0
    for k in range(len(some)):
        latest = _latest(columns, some[k], end_ns)
        own, following = _cross(columns, some[k], places[k], start_ns, latest)
        counts[k] = len(own)
        end, begin = with_room(end, n + len(own)), with_room(begin, n + len(own))
        end[n : n + len(own)], begin[n : n + len(own)] = own, following
        n += len(own)
    return end[:n].copy(), begin[:n].copy()


@compiled
def _latest(columns: Columns, member: int, end_ns: Int) -> Int:
    """(m,) the latest end up to and with each data row of one member."""
    return latest_ends(end_ns[columns.rows[columns.row_offsets[member] : columns.row_offsets[member + 1]]])


@compiled
def _cross(columns: Columns, member: int, place: int, start_ns: Int, latest_ns: Int) -> tuple[Int, Int]:
    """Last byte before and first byte behind each crossing of one place; the latter is 0 at the stream's end."""
    quantum, first = columns.quantum_bytes[member], columns.place_offsets[member]
    low = columns.row_offsets[member]
    running = columns.cumulative[low : columns.row_offsets[member + 1]]
    anchors = columns.anchors[columns.anchor_offsets[member] : columns.anchor_offsets[member + 1]]
    here, main = columns.places[first + place], columns.places[first + columns.main[member]]
    positions = lattice(anchors, here, main, quantum, running[-1])
    own = slice(columns.break_offsets[member], columns.break_offsets[member + 1])
    breaks, break_ns = columns.breaks[own], columns.break_ns[own]
    slack = quantum * SAME_PLACE_SHARE
    before = crossings(positions, running[breaks - 1], breaks, break_ns, running, slack)
    begin = np.zeros(len(before), np.int64)
    for k in range(len(before)):
        if before[k] < len(running):
            begin[k] = start_ns[columns.rows[low + before[k]]]
    return latest_ns[before - 1], begin


def holding(streams: Streams, members: Members, some: Int, edges_ns: Int) -> Int:
    """(n,) the place of each of some members whose pause most often holds an edge; the main one where none does."""
    places = np.zeros(len(some), np.int64)
    _hold_each(
        _columns(members), some, edges_ns, to_contiguous(streams.start_ns), to_contiguous(streams.end_ns), places
    )
    return places


@compiled
def _hold_each(columns: Columns, some: Int, edges_ns: Int, start_ns: Int, end_ns: Int, places: Int) -> None:
    main, place_offsets = columns.main, columns.place_offsets
    for k in range(len(some)):
        latest = _latest(columns, some[k], end_ns)
        places[k], most = main[some[k]], 0
        for place in range(place_offsets[some[k] + 1] - place_offsets[some[k]]):
            end, begin = _cross(columns, some[k], place, start_ns, latest)
            votes = 0
            for edge in edges_ns:
                at = np.searchsorted(end, edge, side="right") - 1
                votes += at >= 0 and edge < begin[at]
            if votes > most:
                places[k], most = place, votes


@compiled
def nearest_places(place_offsets: Int, shares: Float, chosen: float) -> tuple[Int, Float]:
    """Of each stream, the place nearest to one share of the cycle, and how far it is off on the circle.

    Args:
        place_offsets: (n + 1,) bounds.
        shares: places as shares of their quantum.
        chosen: a share.
    """
    n = len(place_offsets) - 1
    place, away = np.zeros(n, np.int64), np.full(n, np.inf)
    for i in range(n):
        for k in range(place_offsets[i], place_offsets[i + 1]):
            off = abs((shares[k] - chosen + 0.5) % 1.0 - 0.5)
            if off < away[i]:
                place[i], away[i] = k - place_offsets[i], off
    return place, away


@compiled
def dominant(place_offsets: Int, pause_ns: Float, ratio: float) -> Bool:
    """(n,) whether the longest pause of a cycle is `ratio` times as long as the second, or the only one."""
    found = np.zeros(len(place_offsets) - 1, np.bool_)
    for i in range(len(found)):
        longest = second = 0.0
        for k in range(place_offsets[i], place_offsets[i + 1]):
            if pause_ns[k] > longest:
                longest, second = pause_ns[k], longest
            else:
                second = max(second, pause_ns[k])
        found[i] = place_offsets[i + 1] - place_offsets[i] == 1 or longest >= ratio * second
    return found


@compiled
def counted(offsets: Int, end_ns: Int, edges_ns: Int) -> Int:
    """(n,) the number of the edge that most of a stream's crossings lie before, less the crossing's own."""
    shift = np.zeros(len(offsets) - 1, np.int64)
    for i in range(len(shift)):
        own = end_ns[offsets[i] : offsets[i + 1]]
        if len(own):
            shift[i] = int(np.median(np.searchsorted(edges_ns, own) - np.arange(len(own))))
    return shift


@compiled
def located(offsets: Int, end_ns: Int, begin_ns: Int, reference: Int) -> tuple[Int, Float, Float]:
    """Where each sequence of pauses lies on the reference's own pace.

    Returns:
        (n,) whole cycles and phase [0, 1) by which the pauses' beginnings lie behind the reference, and the pauses'
        length in cycles.
    """
    n = len(offsets) - 1
    shift, phase, length = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
    for i in range(n):
        end, begin = end_ns[offsets[i] : offsets[i + 1]], begin_ns[offsets[i] : offsets[i + 1]]
        if len(reference) < 2 or not len(end):
            continue
        position = _paced(end, reference)
        lag = position - np.arange(len(end))
        middle = np.median(lag[1:-1]) if len(lag) > 4 else np.median(lag)
        ended = begin > 0
        if ended.any():
            length[i] = np.median((_paced(begin, reference) - position)[ended])
        shift[i] = int(np.floor(middle + 1e-3))
        phase[i] = max(middle - shift[i], 0.0)
    return shift, phase, length


@compiled
def _paced(times: Int, reference: Int) -> Float:
    """Times as numbers of reference cycles."""
    position = np.empty(len(times))
    for k in range(len(times)):
        at = min(max(np.searchsorted(reference, times[k], side="right") - 1, 0), len(reference) - 2)
        position[k] = at + (times[k] - reference[at]) / max(reference[at + 1] - reference[at], 1)
    return position


@compiled
def peaks(counts: Int, lows: Int, weights: Float, drop: float) -> Int:
    """The highest places of a circular sequence, of those with a fall of `drop` or more between any two; at least one.

    Args:
        counts: (n,) the sequence.
        lows: (n,) how low it was between the place before and each.
        weights: (n,) which of several highest places counts.
        drop: smallest fall that parts two; so there are few, however long the sequence.
    """
    best = start = int(np.argmin(lows))
    found, low = np.empty(len(counts), np.int64), lows[start]
    n, rising = 0, False
    for k in range(len(counts)):
        at = (start + k) % len(counts)
        if rising and lows[at] <= counts[best] - drop:
            found[n], n = best, n + 1
            rising, low = False, lows[at]
        low = min(low, lows[at])
        if not rising and counts[at] >= low + drop:
            rising, best = True, at
        if counts[at] > counts[best] or (counts[at] == counts[best] and weights[at] > weights[best]):
            best = at
    if rising or n == 0:
        found[n], n = best, n + 1
    return found[:n].copy()
