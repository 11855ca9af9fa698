"""Where iterations end: the place of each stream's cycle that holds the job's boundary, and when it was crossed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from datamodel.streams import Bool, Float, Int, Streams
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
# Streams of a job that was seen from its first to its last byte hold whole cycles: so many of them must.
WHOLE_BY = 0.8
# Phases of two streams are told apart down to this share of a cycle.
SAME_INSTANT = 1e-9


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
        steady = self.steady()
        last = steady & (middle >= middle[steady].max() - LAST_SHARE)
        valid = steady[:, None] & (np.abs(lag - middle[:, None]) < WANDERING_SHARE)
        edge = np.where(valid, self.end_ns, 0).max(axis=0)
        complete = (self.end_ns[last] > 0).mean(axis=0) >= 0.5
        numbers = np.flatnonzero(complete & (edge > 0))
        return numbers.astype(np.int64), edge[numbers]

    def steady(self) -> Bool:
        """(streams,) whether a stream kept its lattice: its place does not wander against the others'; all if none."""
        lag = self._lag()
        steady = np.nanpercentile(lag, 90, axis=1) - np.nanpercentile(lag, 10, axis=1) < WANDERING_SHARE
        return np.asarray(steady if steady.any() else np.ones(len(lag), bool))

    def _lag(self) -> Float:
        """(streams, boundaries) distance of each crossing from the median one, in cycles; nan where there is none."""
        seen = np.where(self.end_ns > 0, self.end_ns - self.end_ns.max(), np.nan).astype(np.float64)
        middle = np.nanmedian(seen, axis=0)
        cycle = float(np.median(np.diff(middle))) if len(middle) > 1 else 1.0
        return np.asarray((seen - middle) / max(cycle, 1.0))


def boundaries(streams: Streams, members: list[Cycles]) -> Boundaries:
    """Find the common boundary of the streams of one job.

    1. Streams that hold whole cycles began and ended with an iteration: where most do, they name the place and the
       count. Otherwise streams with one dominant pause a cycle (a gradient collective, a pipeline between steps) name
       their own place. Without any (sharded training gathers and scatters all the time) bursts name it.
    2. Those are put on one count, cut at the moment at which most of them pause: between iterations everybody does.
    3. Every other stream takes the place whose pause holds the edge found so far.
    """
    places = np.array([c.main for c in members], np.int64)
    whole = _whole(members)
    places[list(whole)] = list(whole.values())
    leaders = sorted(whole) or [i for i, c in enumerate(members) if _dominant(c)]
    if not leaders:
        named = _after_last_scatter(members)
        places[list(named)] = list(named.values())
        leaders = sorted(named)
    named_by = {n: int(places[i]) for n, i in enumerate(leaders)} if whole else {}
    found = _aligned([crossing(streams, members[i], int(places[i])) for i in leaders], named_by)
    edges = found[1].max(axis=0)
    for i in sorted(set(range(len(members))) - set(leaders)):
        places[i] = _holding(streams, members[i], edges[edges > 0])
    crossings = [crossing(streams, c, int(p)) for c, p in zip(members, places, strict=True)]
    return Boundaries(places, *_aligned(crossings, whole, edges))


def crossing(streams: Streams, cycle: Cycles, place: int) -> tuple[Int, Int]:
    """Times a stream crosses one place of its cycle: (last byte before, first byte after), the latter 0 at its end."""
    before = cycle.rows_before(cycle.lattice(place))
    ends = np.maximum.accumulate(streams.end_ns[cycle.rows])
    starts = streams.start_ns[cycle.rows]
    end = ends[before - 1]
    begin = np.where(before < len(starts), starts[np.minimum(before, len(starts) - 1)], 0)
    return end.astype(np.int64), begin.astype(np.int64)


def _whole(members: list[Cycles]) -> dict[int, int]:
    """Member -> place at its first byte, when most members carry a whole number of cycles from their first byte on."""
    found = {}
    for i, cycle in enumerate(members):
        away = np.abs(np.mod(cycle.places / cycle.quantum_bytes + 0.5, 1.0) - 0.5)
        if abs(cycle.count - round(cycle.count)) <= SHARED_REACH and away.min() <= SHARED_REACH:
            found[i] = int(np.argmin(away))
    return found if len(found) >= WHOLE_BY * len(members) else {}


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
    return shared_by_most(share, pause, owner, len(members))


def shared_by_most(share: Float, pause: Float, owner: Int, members: int) -> tuple[Float, Float]:
    """Cluster places of several streams: (place, median pause) of the clusters that most streams take part in.

    Args:
        share: places, as shares of each stream's quantum.
        pause: the pause at each.
        owner: whose place each is.
        members: how many streams there are.
    """
    if not len(share):
        return np.zeros(0), np.zeros(0)
    order = np.argsort(share, kind="stable")
    cluster = np.concatenate([[0], np.cumsum(np.diff(share[order]) > SHARED_REACH / 2)])
    places, lengths = [], []
    for c in np.unique(cluster):
        inside = order[cluster == c]
        if len(np.unique(owner[inside])) >= SHARED_BY * members:
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


def _aligned(
    crossings: list[tuple[Int, Int]], whole: Collection[int] = (), edges: Int | None = None
) -> tuple[Int, Int, Int]:
    """Put sequences of crossings on one count; first column of each, then (end, next), (streams, boundaries) each.

    The k-th cycle of every `whole` stream is the k-th iteration's; the others are counted by the edges these gave.
    Without any, cycles are counted from the moment between which most streams pause.
    """
    if whole:
        known = np.zeros(0, np.int64) if edges is None else edges
        shifts = [0 if i in whole else _counted(end, known) for i, (end, _) in enumerate(crossings)]
    else:
        reference = max((end for end, _ in crossings), key=len)
        shifts = _cut_where_most_pause([_located(end, begin, reference) for end, begin in crossings])
    low = min(shifts)
    width = max(s - low + len(end) for s, (end, _) in zip(shifts, crossings, strict=True))
    end, begin = np.zeros((len(crossings), width), np.int64), np.zeros((len(crossings), width), np.int64)
    for i, (own_end, own_begin) in enumerate(crossings):
        at = slice(shifts[i] - low, shifts[i] - low + len(own_end))
        end[i, at], begin[i, at] = own_end, own_begin
    return np.array(shifts, np.int64) - low, end, begin


def _counted(end: Int, edges: Int) -> int:
    """The number of the edge that most of a stream's first crossings lie before, less the crossing's own."""
    if not len(end):
        return 0
    return int(np.median(np.searchsorted(edges, end) - np.arange(len(end))))


def _located(end: Int, begin: Int, reference: Int) -> tuple[int, float, float]:
    """Where a sequence of pauses lies on the reference's own pace.

    Returns:
        Whole cycles and phase [0, 1) by which the pauses' beginnings lie behind the reference, and the pauses' length
        in cycles.
    """
    if len(reference) < 2 or not len(end):
        return 0, 0.0, 0.0
    position = _paced(end, reference)
    lag = position - np.arange(len(end))
    middle = float(np.median(lag[1:-1])) if len(lag) > 4 else float(np.median(lag))
    ended = begin > 0
    length = float(np.median((_paced(begin, reference) - position)[ended])) if ended.any() else 0.0
    whole = int(np.floor(middle + 1e-3))
    return whole, max(middle - whole, 0.0), length


def _paced(times: Int, reference: Int) -> Float:
    """Times as numbers of reference cycles."""
    at = np.clip(np.searchsorted(reference, times, side="right") - 1, 0, len(reference) - 2)
    return np.asarray(at + (times - reference[at]) / np.maximum(reference[at + 1] - reference[at], 1))


def _cut_where_most_pause(located: list[tuple[int, float, float]]) -> list[int]:
    """Whole shifts, with phases behind the cut counted to the next boundary.

    Between two iterations everybody pauses: the cut goes behind the last byte before the moment at which most streams
    pause; where several moments tie, the longest.
    """
    phases = np.array([p for _, p, _ in located])
    instants = np.unique(np.mod(phases, 1.0))
    starts = np.sort(np.concatenate([phases - 1.0, phases]))
    ends = np.sort(np.concatenate([(length := np.array([n for _, _, n in located])) + phases - 1.0, length + phases]))
    after = np.searchsorted(ends, instants - SAME_INSTANT)
    pausing = np.searchsorted(starts, instants, side="right") - after
    left = ends[np.minimum(after, len(ends) - 1)] - instants
    at = int(np.lexsort([left, pausing])[-1])
    while at + 1 < len(instants) and pausing[at + 1] == pausing.max() and instants[at + 1] <= instants[at] + left[at]:
        at += 1
    return [whole + int(phase > instants[at]) for whole, phase, _ in located]
