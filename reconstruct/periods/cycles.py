"""Streams cut into cycles: the byte positions that come back every iteration with a pause behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.ragged_arrays import offsets_of, select_rows, with_room
from reconstruct.parallel import map_slices
from reconstruct.periods.byte_period import StreamPeriods, pause_threshold_ns, pauses_ns
from reconstruct.periods.folding import (
    SAME_PLACE_SHARE,
    crossings,
    find_recurring_pauses,
    lattice,
    long_pauses,
    sharpened,
    thinned,
    track_pauses,
)

# Rows below this share of the quantum are ready-to-receive messages and keep-alives, not data.
CONTROL_SHARE = 1 / 5000
# A pause shorter than this share of the cycle's duration is part of a burst.
SHORTEST_PAUSE_SHARE = 0.003
# A record that follows within so many of its own lengths is the next step of the same collective.
STEP_LENGTHS = 3.0


@dataclass(frozen=True, slots=True)
class Cycles:
    """One stream on the lattice of its quantum.

    Attributes:
        stream: its number.
        rows: (m,) row numbers that carry data.
        cumulative: (m,) bytes up to and with each of them.
        quantum_bytes: bytes of one cycle.
        places: (s,) byte offsets in [0, quantum) where a pause recurs, ascending; never empty.
        pause_ns: (s,) the median pause at each place.
        main: index of the place with the longest pause.
        anchors: (k,) byte positions where the main place was met, one a cycle, ascending.
        breaks: (b,) row counts before each long pause, the stream's end included, ascending.
        break_ns: (b,) the pause there; unbounded at the end.
        floor_ns: gaps up to this length lie inside messages; 0 where every row is a message.
    """

    stream: int
    rows: Int
    cumulative: Int
    quantum_bytes: float
    places: Float
    pause_ns: Float
    main: int
    anchors: Float
    breaks: Int
    break_ns: Int
    floor_ns: float

    @property
    def count(self) -> float:
        """How many cycles the stream holds."""
        return float(self.cumulative[-1] / self.quantum_bytes)

    def lattice(self, place: int) -> Float:
        """Byte positions of one place in every cycle the stream covers: its very end included, its start not."""
        main = float(self.places[self.main])
        return lattice(self.anchors, float(self.places[place]), main, self.quantum_bytes, float(self.cumulative[-1]))

    def rows_before(self, positions: Float) -> Int:
        """How many rows lie before the boundary at each byte position: the longest pause within the slack decides.

        Where none lies there (messages followed one another without a pause), the byte position itself does.
        """
        at = self.cumulative[self.breaks - 1]
        slack = self.quantum_bytes * SAME_PLACE_SHARE
        return crossings(positions, at, self.breaks, self.break_ns, self.cumulative, slack)


@dataclass(frozen=True, slots=True)
class CycleTable:
    """Several streams, each on the lattice of its quantum, without their rows: (n,) each unless said.

    Attributes:
        stream: its number.
        beat_bytes: the quantum it was cut by.
        unit_bytes: the shortest distance at which anything comes back.
        least_bytes: smaller rows are no data.
        quantum_bytes, floor_ns, main: see `Cycles`.
        total_bytes: bytes of its data rows.
        start_ns, end_ns: first and last byte of its data rows.
        cycle_ns: time of a cycle, from one longest pause to another.
        place_offsets: (n + 1,) bounds of each stream's places.
        places, pause_ns: see `Cycles`.
        anchor_offsets: (n + 1,) bounds of each stream's anchors.
        anchors: see `Cycles`.
    """

    stream: Int
    beat_bytes: Float
    unit_bytes: Float
    least_bytes: Float
    quantum_bytes: Float
    floor_ns: Float
    main: Int
    total_bytes: Int
    start_ns: Int
    end_ns: Int
    cycle_ns: Float
    place_offsets: Int
    places: Float
    pause_ns: Float
    anchor_offsets: Int
    anchors: Float

    def __len__(self) -> int:
        return len(self.stream)

    @property
    def count(self) -> Float:
        """(n,) how many cycles each stream holds."""
        return np.asarray(self.total_bytes / self.quantum_bytes, np.float64)

    def take(self, index: Int) -> CycleTable:
        """Some of them, in the order given."""
        place_offsets, place = select_rows(self.place_offsets, index)
        anchor_offsets, anchor = select_rows(self.anchor_offsets, index)
        kept = {name: getattr(self, name)[index] for name in EACH}
        kept |= {"place_offsets": place_offsets, "anchor_offsets": anchor_offsets, "anchors": self.anchors[anchor]}
        return CycleTable(**kept, places=self.places[place], pause_ns=self.pause_ns[place])


# Columns of one entry a stream, and of one a place or an anchor.
EACH = tuple(CycleTable.__dataclass_fields__)[:11]
SEVERAL = ("places", "pause_ns", "anchors")


def joined(parts: list[CycleTable]) -> CycleTable:
    """Several sets as one, by stream number; at least one set."""
    both = {name: np.concatenate([getattr(p, name) for p in parts]) for name in (*EACH, *SEVERAL)}
    for name in ("place_offsets", "anchor_offsets"):
        both[name] = offsets_of(np.concatenate([np.diff(getattr(p, name)) for p in parts]))
    found = CycleTable(**both)
    return found.take(np.argsort(found.stream, kind="stable"))


@dataclass(frozen=True, slots=True)
class Members:
    """The streams of a job with their rows: a sequence of `Cycles`, kept side by side in columns.

    They take as much memory as the streams themselves, and are needed for no longer than it takes to find when each
    stream crossed its boundaries.

    Attributes:
        lattices: all that needs no rows.
        row_offsets: (n + 1,) bounds of each stream's entries in the next two.
        rows, cumulative: see `Cycles`.
        break_offsets: (n + 1,) bounds of each stream's entries in the next two.
        breaks, break_ns: see `Cycles`.
    """

    lattices: CycleTable
    row_offsets: Int
    rows: Int
    cumulative: Int
    break_offsets: Int
    breaks: Int
    break_ns: Int

    def __len__(self) -> int:
        return len(self.lattices)

    def __iter__(self) -> Iterator[Cycles]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Cycles:
        own = self.lattices
        rows = slice(self.row_offsets[i], self.row_offsets[i + 1])
        places = slice(own.place_offsets[i], own.place_offsets[i + 1])
        breaks = slice(self.break_offsets[i], self.break_offsets[i + 1])
        return Cycles(
            stream=int(own.stream[i]),
            rows=self.rows[rows],
            cumulative=self.cumulative[rows],
            quantum_bytes=float(own.quantum_bytes[i]),
            places=own.places[places],
            pause_ns=own.pause_ns[places],
            main=int(own.main[i]),
            anchors=own.anchors[own.anchor_offsets[i] : own.anchor_offsets[i + 1]],
            breaks=self.breaks[breaks],
            break_ns=self.break_ns[breaks],
            floor_ns=float(own.floor_ns[i]),
        )


def cut_cycles(streams: Streams, numbers: Int, beats: StreamPeriods) -> CycleTable:
    """Find the places of the cycle where streams pause; those in which no place recurs are left out.

    1. Thin the stream to its data rows.
    2. Take the pauses, fold their byte positions at the quantum, and sharpen the quantum on the most regular place.
    3. Keep the places that recur in most cycles.

    Args:
        streams: data rows by connection.
        numbers: (n,) stream numbers, ascending.
        beats: (n,) what to cut each of them by.
    """
    columns = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns), to_contiguous(streams.bytes)
    own = np.zeros((len(numbers), 9))
    times = np.zeros((len(numbers), 3), np.int64)

    def work(part: slice) -> tuple[Float, Float, Int, Float, Int]:
        by = streams.trains, beats.quantum_bytes[part]
        return _cut_each(numbers[part], streams.offsets, *columns, *by, own[part], times[part])

    parts = zip(*map_slices(work, len(numbers)), strict=True)
    places, pauses, place_counts, anchors, anchor_counts = (np.concatenate(column) for column in parts)
    some = np.flatnonzero(place_counts > 0)
    quantum, floor, least, main, cycle = (own[some, k].copy() for k in range(5))
    return CycleTable(
        stream=numbers[some],
        beat_bytes=beats.quantum_bytes[some],
        unit_bytes=beats.unit_bytes[some],
        least_bytes=least,
        quantum_bytes=quantum,
        floor_ns=floor,
        main=main.astype(np.int64),
        total_bytes=times[some, 0],
        start_ns=times[some, 1],
        end_ns=times[some, 2],
        cycle_ns=cycle,
        place_offsets=offsets_of(place_counts[some]),
        places=places,
        pause_ns=pauses,
        anchor_offsets=offsets_of(anchor_counts[some]),
        anchors=anchors,
    )


@compiled
def _cut_each(
    numbers: Int,
    offsets: Int,
    start_ns: Int,
    end_ns: Int,
    size: Int,
    trains: Bool,
    quantum_bytes: Float,
    own: Float,
    times: Int,
) -> tuple[Float, Float, Int, Float, Int]:
    place_counts, anchor_counts = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
    places, pauses, anchors = np.empty(8 * len(numbers)), np.empty(8 * len(numbers)), np.empty(8 * len(numbers))
    p, a = 0, 0
    for n in range(len(numbers)):
        low, high = offsets[numbers[n]], offsets[numbers[n] + 1]
        rows = slice(low, high)
        found = _cut_one(
            start_ns[rows], end_ns[rows], size[rows], trains[numbers[n]], quantum_bytes[n], own[n], times[n]
        )
        place_counts[n], anchor_counts[n] = len(found[0]), len(found[2])
        places, pauses = with_room(places, p + len(found[0])), with_room(pauses, p + len(found[0]))
        anchors = with_room(anchors, a + len(found[2]))
        places[p : p + len(found[0])], pauses[p : p + len(found[0])] = found[0], found[1]
        anchors[a : a + len(found[2])] = found[2]
        p, a = p + len(found[0]), a + len(found[2])
    return places[:p].copy(), pauses[:p].copy(), place_counts, anchors[:a].copy(), anchor_counts


@compiled
def _cut_one(
    start_ns: Int, end_ns: Int, size: Int, trains: bool, quantum_bytes: float, own: Float, times: Int
) -> tuple[Float, Float, Float]:
    """Places, their pauses and anchors of one stream, all empty where no place recurs; writes its other columns."""
    nothing = np.empty(0)
    least = quantum_bytes * CONTROL_SHARE
    rows, cumulative = thinned(size, least)
    if len(rows) < 3 or quantum_bytes <= 0:
        return nothing, nothing, nothing
    start_ns, end_ns = start_ns[rows], end_ns[rows]
    total = cumulative[-1]
    quantum_bytes *= total / np.sum(size)
    pause = pauses_ns(start_ns, end_ns)
    count = total / quantum_bytes
    floor_ns = _floor_ns(start_ns, end_ns, trains, pause, (end_ns[-1] - start_ns[0]) / count)
    breaks, break_ns = long_pauses(pause, floor_ns)
    long = len(breaks) - 1
    if long < 2:
        return nothing, nothing, nothing
    at = cumulative[breaks - 1]
    position, length = at[:long].astype(np.float64), break_ns[:long].astype(np.float64)
    leading = length >= np.sort(length)[-min(long, int(2 * count) + 2)]
    quantum_bytes = sharpened(position[leading], length[leading], quantum_bytes)
    places, medians = find_recurring_pauses(position, length, quantum_bytes, count)
    if not len(places):
        return nothing, nothing, nothing
    main = np.argmax(medians)
    anchors = track_pauses(at, break_ns, places[main], quantum_bytes, medians[main])
    met = lattice(anchors, places[main], places[main], quantum_bytes, total)
    before = crossings(met, at, breaks, break_ns, cumulative, quantum_bytes * SAME_PLACE_SHARE)
    cycle_ns = (end_ns[-1] - start_ns[0]) * quantum_bytes / total
    if len(before) > 2:
        cycle_ns = (np.max(end_ns[: before[-1]]) - np.max(end_ns[: before[0]])) / (len(before) - 1)
    own[0], own[1], own[2], own[3], own[4] = quantum_bytes, floor_ns, least, main, cycle_ns
    times[0], times[1], times[2] = total, start_ns[0], end_ns[-1]
    return places, medians, anchors


@compiled
def _floor_ns(start_ns: Int, end_ns: Int, trains: bool, pause_ns: Float, cycle_ns: float) -> float:
    """Longest gap that may lie inside a burst.

    Packet trains of one message lie a small fraction of the cycle apart at most. Flow records are whole messages: those
    that follow one another within a few of their own lengths are steps of one collective, however long the cycle is.
    """
    length = np.median(end_ns - start_ns)
    if not trains and length > 0:
        return float(min(STEP_LENGTHS * length, SHORTEST_PAUSE_SHARE * cycle_ns))
    return float(max(SHORTEST_PAUSE_SHARE * cycle_ns, 0.6 * pause_threshold_ns(pause_ns, trains)))


def data_rows(streams: Streams, lattices: CycleTable) -> tuple[Int, Int]:
    """(n + 1,) bounds of each stream's data rows, and the row numbers between them: those of at least `least_bytes`."""
    rows = np.empty(int(np.diff(streams.offsets)[lattices.stream].sum()), np.int64)
    counts = np.empty(len(lattices), np.int64)
    _thin_each(lattices.stream, lattices.least_bytes, streams.offsets, to_contiguous(streams.bytes), rows, counts)
    offsets = offsets_of(counts)
    return offsets, _cut_off(rows, int(offsets[-1]))


@compiled
def _thin_each(numbers: Int, least_bytes: Float, offsets: Int, size: Int, rows: Int, counts: Int) -> None:
    r = 0
    for n in range(len(numbers)):
        first = r
        for k in range(offsets[numbers[n]], offsets[numbers[n] + 1]):
            if size[k] >= least_bytes[n]:
                rows[r] = k
                r += 1
        counts[n] = r - first


def members(streams: Streams, lattices: CycleTable) -> Members:
    """The data rows and long pauses of streams whose lattices are known."""
    size = int(np.diff(streams.offsets)[lattices.stream].sum())
    rows, cumulative = np.empty(size, np.int64), np.empty(size, np.int64)
    breaks, break_ns = np.empty(size, np.int64), np.empty(size, np.int64)
    columns = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns), to_contiguous(streams.bytes)
    by = lattices.stream, lattices.least_bytes, lattices.floor_ns
    counts = np.zeros((2, len(lattices)), np.int64)
    _expand(*by, streams.offsets, *columns, rows, cumulative, breaks, break_ns, counts)
    row_offsets, break_offsets = offsets_of(counts[0]), offsets_of(counts[1])
    r, b = int(row_offsets[-1]), int(break_offsets[-1])
    own = _cut_off(rows, r), _cut_off(cumulative, r)
    return Members(lattices, row_offsets, *own, break_offsets, _cut_off(breaks, b), _cut_off(break_ns, b))


def _cut_off(column: Int, size: int) -> Int:
    """The first entries of a column; the memory of the others is given back."""
    return column if size == len(column) else column[:size].copy()


@compiled
def _expand(
    numbers: Int,
    least_bytes: Float,
    floor_ns: Float,
    offsets: Int,
    start_ns: Int,
    end_ns: Int,
    size: Int,
    rows: Int,
    cumulative: Int,
    breaks: Int,
    break_ns: Int,
    counts: Int,
) -> None:
    r, b = 0, 0
    for n in range(len(numbers)):
        low, high = offsets[numbers[n]], offsets[numbers[n] + 1]
        own, running = thinned(size[low:high], least_bytes[n])
        own += low
        at, length = long_pauses(pauses_ns(start_ns[own], end_ns[own]), floor_ns[n])
        rows[r : r + len(own)], cumulative[r : r + len(own)] = own, running
        breaks[b : b + len(at)], break_ns[b : b + len(at)] = at, length
        counts[0, n], counts[1, n] = len(own), len(at)
        r, b = r + len(own), b + len(at)
