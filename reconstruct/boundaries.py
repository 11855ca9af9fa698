"""Where iterations end: the place of each stream's cycle that holds the job's boundary, and when it was crossed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int, Streams
from reconstruct.cycles import Cycles

# The longest pause of a cycle is its own boundary when it is this many times the second longest.
DOMINANCE = 1.5
# Bursts this many times the smallest one of the cycle carry two collectives, a gather and a scatter, back to back.
DOUBLE_BURST = 1.5
# A stream that ends within this share of a cycle of the last one closes the iteration with it.
LAST_SHARE = 0.05
# Places of two streams are the same within this share of the quantum, and shared when this share of streams has them.
SHARED_REACH = 0.012
SHARED_BY = 0.6
WANDERING_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Boundaries:
    """When each stream of a job crossed the boundary between its cycles, on one common count.

    Attributes:
        places: (streams,) the place of each stream's cycle that holds the boundary.
        columns: (streams,) the common number of each stream's first own boundary.
        end_ns: (streams, boundaries) last byte of the cycle that ends; 0 where the stream has no such cycle.
        next_ns: (streams, boundaries) first byte of the cycle that begins; 0 likewise.
    """

    places: Int
    columns: Int
    end_ns: Int
    next_ns: Int

    def edges(self) -> tuple[Int, Int]:
        """(boundary numbers, times): the last byte of the last stream at each complete boundary.

        A stream whose place wanders by half a cycle against the others has lost its lattice and has no say. A boundary
        is complete when half of those streams that usually end last have crossed it: an iteration cut off by a hang or
        by the end of the window has not ended.
        """
        lag = self._lag()
        middle = np.nanmedian(lag, axis=1)
        steady = np.nanpercentile(lag, 90, axis=1) - np.nanpercentile(lag, 10, axis=1) < WANDERING_SHARE
        steady = steady if steady.any() else np.ones(len(lag), bool)
        last = steady & (middle >= middle[steady].max() - LAST_SHARE)
        valid = steady[:, None] & (np.abs(lag - middle[:, None]) < WANDERING_SHARE)
        edge = np.where(valid, self.end_ns, 0).max(axis=0)
        complete = (self.end_ns[last] > 0).mean(axis=0) >= 0.5
        numbers = np.flatnonzero(complete & (edge > 0))
        return numbers.astype(np.int64), edge[numbers]

    def _lag(self) -> Float:
        """(streams, boundaries) distance of each crossing from the median one, in cycles; nan where there is none."""
        seen = np.where(self.end_ns > 0, self.end_ns - self.end_ns.max(), np.nan).astype(np.float64)
        middle = np.nanmedian(seen, axis=0)
        cycle = float(np.median(np.diff(middle))) if len(middle) > 1 else 1.0
        return np.asarray((seen - middle) / max(cycle, 1.0))


def boundaries(streams: Streams, members: list[Cycles]) -> Boundaries:
    """Find the common boundary of the streams of one job.

    1. Streams with one dominant pause a cycle (a gradient collective, a pipeline between steps) name their own place.
       Without any (sharded training gathers and scatters all the time) one stream names its place by its bursts.
    2. They are put on one count: ends lie within a cycle of one another, cut where the circle of phases is emptiest.
    3. Every other stream takes the place whose pause holds the edge found so far.
    """
    leaders = [i for i, c in enumerate(members) if _dominant(c)]
    places = np.array([c.main for c in members], np.int64)
    if not leaders:
        named = _after_last_scatter(members)
        places[list(named)] = list(named.values())
        leaders = sorted(named)
    found = _aligned([crossing(streams, members[i], int(places[i])) for i in leaders])
    edges = found[1].max(axis=0)
    for i in sorted(set(range(len(members))) - set(leaders)):
        places[i] = _holding(streams, members[i], edges[edges > 0])
    crossings = [crossing(streams, c, int(p)) for c, p in zip(members, places, strict=True)]
    return Boundaries(places, *_aligned(crossings))


def crossing(streams: Streams, cycle: Cycles, place: int) -> tuple[Int, Int]:
    """Times a stream crosses one place of its cycle: (last byte before, first byte after), the latter 0 at its end."""
    before = cycle.rows_before(cycle.lattice(place))
    ends = np.maximum.accumulate(streams.end_ns[cycle.rows])
    starts = streams.start_ns[cycle.rows]
    end = ends[before - 1]
    begin = np.where(before < len(starts), starts[np.minimum(before, len(starts) - 1)], 0)
    return end.astype(np.int64), begin.astype(np.int64)


def _dominant(cycle: Cycles) -> bool:
    longest = np.sort(cycle.pause_ns)[::-1]
    return len(longest) == 1 or bool(longest[0] >= DOMINANCE * longest[1])


def _after_last_scatter(members: list[Cycles]) -> dict[int, int]:
    """Member -> place behind the last gradient burst, for members that gather and scatter all through the cycle.

    Backward, a layer's gather and the scatter of the layer before it go out back to back; the first layer's scatter
    goes alone and ends the iteration: it is the single burst after the last double one. Where no burst is double, the
    longest pause ends the iteration. Only places that most members share count: a straggler makes its neighbours
    pause elsewhere.
    """
    shared, pause = _shared_places(members)
    if len(shared) < 2:
        return {i: c.main for i, c in enumerate(members[:1])}
    size = np.diff(np.concatenate([[shared[-1] - 1.0], shared]))
    double = size >= DOUBLE_BURST * size.min()
    ends = np.flatnonzero(~double & np.roll(double, 1))
    chosen = shared[ends[0]] if len(ends) else shared[int(np.argmax(pause))]
    found = {}
    for i, cycle in enumerate(members):
        away = np.abs(np.mod(cycle.places / cycle.quantum_bytes - chosen + 0.5, 1.0) - 0.5)
        if away.min() <= SHARED_REACH:
            found[i] = int(np.argmin(away))
    return found


def _shared_places(members: list[Cycles]) -> tuple[Float, Float]:
    """Places, as shares of the quantum, where most members pause, and the median pause there."""
    share = np.concatenate([c.places / c.quantum_bytes for c in members])
    pause = np.concatenate([c.pause_ns for c in members])
    owner = np.repeat(np.arange(len(members)), [len(c.places) for c in members])
    share = np.where(share > 1 - SHARED_REACH / 2, share - 1.0, share)
    order = np.argsort(share, kind="stable")
    cluster = np.concatenate([[0], np.cumsum(np.diff(share[order]) > SHARED_REACH / 2)])
    places, lengths = [], []
    for c in np.unique(cluster):
        inside = order[cluster == c]
        if len(np.unique(owner[inside])) >= SHARED_BY * len(members):
            places.append(float(np.median(share[inside])))
            lengths.append(float(np.median(pause[inside])))
    return np.array(places), np.array(lengths)


def _holding(streams: Streams, cycle: Cycles, edges: Int) -> int:
    """The place whose pause most often holds an edge; the longest pause where none does."""
    votes = []
    for place in range(len(cycle.places)):
        end, begin = crossing(streams, cycle, place)
        at = np.searchsorted(end, edges, side="right") - 1
        inside = (at >= 0) & (edges < begin[np.maximum(at, 0)])
        votes.append(int(inside.sum()))
    best = max(votes)
    return votes.index(best) if best else cycle.main


def _aligned(crossings: list[tuple[Int, Int]]) -> tuple[Int, Int, Int]:
    """Put sequences of crossings on one count; first column of each, then (end, next), (streams, boundaries) each."""
    sequences = [end for end, _ in crossings]
    reference = max(range(len(sequences)), key=lambda i: (len(sequences[i]), -i))
    located = [_located(s, sequences[reference]) for s in sequences]
    shifts = _cut_at_emptiest(located)
    low = min(shifts)
    width = max(s - low + len(x) for s, x in zip(shifts, sequences, strict=True))
    end, begin = np.zeros((len(crossings), width), np.int64), np.zeros((len(crossings), width), np.int64)
    for i, (own_end, own_begin) in enumerate(crossings):
        at = slice(shifts[i] - low, shifts[i] - low + len(own_end))
        end[i, at], begin[i, at] = own_end, own_begin
    return np.array(shifts, np.int64) - low, end, begin


def _located(own: Int, reference: Int) -> tuple[int, float]:
    """Whole cycles and phase [0, 1) by which a sequence lies behind the reference, each on the reference's own pace."""
    if len(reference) < 2 or not len(own):
        return 0, 0.0
    at = np.clip(np.searchsorted(reference, own, side="right") - 1, 0, len(reference) - 2)
    position = at + (own - reference[at]) / np.maximum(reference[at + 1] - reference[at], 1)
    lag = position - np.arange(len(own))
    middle = float(np.median(lag[1:-1])) if len(lag) > 4 else float(np.median(lag))
    whole = int(np.floor(middle + 1e-3))
    return whole, max(middle - whole, 0.0)


def _cut_at_emptiest(located: list[tuple[int, float]]) -> list[int]:
    """Whole shifts, with phases behind the widest empty arc of the circle counted to the next boundary."""
    phases = np.sort([p for _, p in located])
    arcs = np.diff(np.concatenate([phases, [phases[0] + 1.0]]))
    cut = phases[int(np.argmax(arcs))]
    return [whole + (phase > cut) for whole, phase in located]
