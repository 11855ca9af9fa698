"""A stream cut into cycles: the byte positions that come back every iteration with a pause behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int, Streams
from reconstruct.rhythm import Beat, pause_threshold_ns

# Rows below this share of the quantum are ready-to-receive messages and keep-alives, not data.
CONTROL_SHARE = 1 / 5000
# Two pauses this close on the byte axis (share of the quantum) are the same place of the cycle.
SAME_PLACE_SHARE = 0.004
# A place counts when a pause stands there in this share of the cycles.
RECURRENCE = 0.6
# A pause shorter than this share of the cycle's duration is part of a burst.
SHORTEST_PAUSE_SHARE = 0.003

# A record that follows within so many of its own lengths is the next step of the same collective.
STEP_LENGTHS = 3.0
# Walking from cycle to cycle, a pause within this share of the quantum may be the next main one ...
REACH = 0.015
# ... when it is at least this share of the main place's median pause.
LIKE_MAIN = 0.3


@dataclass(frozen=True, slots=True)
class Cycles:
    """One stream on the lattice of its quantum.

    Attributes:
        stream: its number.
        beat: what it was cut by.
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
    beat: Beat
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
        total = float(self.cumulative[-1])
        slack = self.quantum_bytes * SAME_PLACE_SHARE
        around = np.concatenate([[self.anchors[0] - self.quantum_bytes], self.anchors])
        positions = around + np.mod(self.places[place] - self.places[self.main], self.quantum_bytes)
        return np.asarray(positions[(positions > slack) & (positions <= total + slack)], np.float64)

    def rows_before(self, positions: Float) -> Int:
        """How many rows lie before the boundary at each byte position: the longest pause within the slack decides.

        Where none lies there (messages followed one another without a pause), the byte position itself does.
        """
        slack = self.quantum_bytes * SAME_PLACE_SHARE
        at = self.cumulative[self.breaks - 1]
        low = np.searchsorted(at, positions - slack)
        high = np.searchsorted(at, positions + slack, side="right")
        best, longest = np.searchsorted(self.cumulative, positions - slack / 8), np.full(len(positions), -1)
        for step in range(int((high - low).max(initial=0))):
            candidate = np.minimum(low + step, len(at) - 1)
            better = (low + step < high) & (self.break_ns[candidate] > longest)
            best = np.where(better, self.breaks[candidate] - 1, best)
            longest = np.where(better, self.break_ns[candidate], longest)
        return np.minimum(best + 1, len(self.cumulative)).astype(np.int64)


def cycles(streams: Streams, stream: int, beat: Beat) -> Cycles | None:
    """Find the places of the cycle where a stream pauses; None where no place recurs.

    1. Thin the stream to its data rows.
    2. Take the pauses, fold their byte positions at the quantum, and sharpen the quantum on the most regular place.
    3. Keep the places that recur in most cycles.
    """
    quantum_bytes = beat.quantum_bytes
    bounds = streams.rows(stream)
    rows = np.arange(bounds.start, bounds.stop)
    rows = rows[streams.bytes[bounds] >= quantum_bytes * CONTROL_SHARE]
    if len(rows) < 3:
        return None
    cumulative = np.cumsum(streams.bytes[rows])
    quantum_bytes *= cumulative[-1] / streams.bytes[bounds].sum()
    pause = np.maximum(streams.start_ns[rows][1:] - np.maximum.accumulate(streams.end_ns[rows])[:-1], 0)
    count = cumulative[-1] / quantum_bytes
    duration = (streams.end_ns[rows[-1]] - streams.start_ns[rows[0]]) / count
    floor_ns = _floor_ns(streams, stream, rows, pause, duration)
    long = pause > floor_ns
    if long.sum() < 2:
        return None
    at, length = cumulative[:-1][long].astype(np.float64), pause[long].astype(np.float64)
    leading = length >= np.sort(length)[-min(len(length), int(2 * count) + 2)]
    quantum_bytes = _sharpened(at[leading], length[leading], quantum_bytes)
    places, medians = _places(at, length, quantum_bytes, count)
    if not len(places):
        return None
    breaks = np.concatenate([np.flatnonzero(long) + 1, [len(rows)]])
    break_ns = np.concatenate([pause[long], [np.iinfo(np.int64).max]])
    main = int(np.argmax(medians))
    anchors = _walked(cumulative[breaks - 1].astype(np.float64), break_ns, places[main], quantum_bytes, medians[main])
    return Cycles(
        stream, beat, rows, cumulative, quantum_bytes, places, medians, main, anchors, breaks, break_ns, floor_ns
    )


def _floor_ns(streams: Streams, stream: int, rows: Int, pause: Int, cycle_ns: float) -> float:
    """Longest gap that may lie inside a burst.

    Packet trains of one message lie a small fraction of the cycle apart at most. Flow records are whole messages: those
    that follow one another within a few of their own lengths are steps of one collective, however long the cycle is.
    """
    length = float(np.median(streams.end_ns[rows] - streams.start_ns[rows]))
    if not streams.trains[stream] and length > 0:
        return min(STEP_LENGTHS * length, SHORTEST_PAUSE_SHARE * cycle_ns)
    threshold_ns = pause_threshold_ns(pause.astype(np.float64), bool(streams.trains[stream]))
    return max(SHORTEST_PAUSE_SHARE * cycle_ns, 0.6 * threshold_ns)


def _walked(at: Float, length: Int, place: float, quantum_bytes: float, pause_ns: float) -> Float:
    """Byte positions of the main place in every cycle, walked from its best pause both ways.

    Each step goes one quantum further and takes the longest pause nearby that is like the main one, so that bytes a
    mirror lost, or a connection sent once, shift the lattice instead of breaking it. Without such a pause the step
    stands where it was expected.
    """
    offset = np.abs(np.mod(at - place + quantum_bytes / 2, quantum_bytes) - quantum_bytes / 2)
    like_main = length >= LIKE_MAIN * pause_ns
    start = int(np.argmin(np.where(like_main[:-1], offset[:-1], np.inf))) if like_main[:-1].any() else 0
    found = [float(at[start])]
    for sign in (-1.0, 1.0):
        here, steps = float(at[start]), []
        while (
            SAME_PLACE_SHARE * quantum_bytes < (here := here + sign * quantum_bytes) <= at[-1] + REACH * quantum_bytes
        ):
            low, high = np.searchsorted(at, [here - REACH * quantum_bytes, here + REACH * quantum_bytes])
            near = low + np.flatnonzero(like_main[low:high])
            here = float(at[near[np.argmax(length[near])]]) if len(near) else here
            steps.append(here)
        found = steps[::-1] + found if sign < 0 else found + steps
    return np.array(found)


def _sharpened(at: Float, length: Float, quantum_bytes: float) -> float:
    """Fit the quantum to the longest pauses: the weighted median of their slopes to the longest one of all.

    Pauses near that one come first: each round trusts the quantum four times as far as the one before.
    """
    anchor = at[np.argmax(length)]
    reach = 16.0
    while True:
        steps = np.round((at - anchor) / quantum_bytes)
        off = np.abs(at - anchor - steps * quantum_bytes)
        near = (steps != 0) & (np.abs(steps) <= reach) & (off < SAME_PLACE_SHARE * quantum_bytes * (1 + np.abs(steps)))
        if near.any():
            slopes, weights = (at[near] - anchor) / steps[near], np.abs(steps[near])
            order = np.argsort(slopes)
            half = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
            quantum_bytes = float(slopes[order][half])
        if reach >= np.abs(steps).max():
            return quantum_bytes
        reach *= 4


def _places(at: Float, length: Float, quantum_bytes: float, count: float) -> tuple[Float, Float]:
    """Cluster folded positions on the circle; (offset, median pause) of the clusters that recur."""
    folded = np.mod(at, quantum_bytes)
    order = np.argsort(folded, kind="stable")
    folded, length = folded[order], length[order]
    reach = SAME_PLACE_SHARE * quantum_bytes
    cluster = np.concatenate([[0], np.cumsum(np.diff(folded) > reach)])
    if len(folded) > 1 and folded[0] + quantum_bytes - folded[-1] <= reach:
        wrapped = cluster == cluster[-1]
        folded, cluster = np.where(wrapped, folded - quantum_bytes, folded), np.where(wrapped, 0, cluster)
    offsets, medians = [], []
    for c in np.unique(cluster):
        inside = cluster == c
        offset = float(np.median(folded[inside]))
        cycles_seen = len(np.unique(np.round((at[order][inside] - offset) / quantum_bytes)))
        if cycles_seen >= RECURRENCE * (count - 1):
            offsets.append(offset % quantum_bytes)
            medians.append(float(np.median(length[inside])))
    ascending = np.argsort(offsets)
    return np.array(offsets)[ascending], np.array(medians)[ascending]
