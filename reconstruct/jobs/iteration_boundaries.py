"""Where iterations end: the place of each stream's cycle that holds the job's boundary, and when it was crossed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.periods.boundary_times import (
    BoundaryTimes,
    counted,
    crossed,
    dominant,
    holding,
    located,
    nearest_places,
    peaks,
)
from reconstruct.periods.cycles import CycleTable, Members

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
# A stream ends this share of its cycles while the others are in theirs, or wait for it, however late that is.
INSIDE_BY = 0.9
# Streams of a job that was seen from its first to its last byte hold whole cycles: so many of them must.
WHOLE_BY = 0.8
# Between two iterations everybody pauses: so many streams, where one in twenty may be read wrongly.
EVERYBODY = 0.95
# This share of the windows that hold whole cycles shows a job from its first byte to its last; the others were cut out.
WHOLE_JOBS = 0.01
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

        A stream that has lost its lattice (`steady`) has no say. A boundary is complete when half of those streams
        that usually end last have crossed it: an iteration cut off by a hang or by the end of the window has not ended.
        Streams that were replaced do not count after that, nor those that replaced them before.
        """
        lag, inside = self._lag(), self._inside()
        middle = _quantile(lag, 0.5)
        steady = _steady(lag, inside, self.end_ns > 0)
        valid = steady[:, None] & (inside | (np.abs(lag - middle[:, None]) < WANDERING_SHARE))
        edge = np.where(valid, self.end_ns, 0).max(axis=0)
        complete = _complete(self.end_ns[steady] > 0, middle[steady])
        numbers = np.flatnonzero(complete & (edge > 0))
        return numbers.astype(np.int64), edge[numbers]

    def steady(self) -> Bool:
        """(streams,) whether a stream kept its lattice; all if none.

        Either its place does not wander by half a cycle against the others'. Or it ends each cycle after most others
        have begun theirs and before they begin the next: behind a slow link a stream may end as late as it likes, the
        others wait for it.
        """
        return _steady(self._lag(), self._inside(), self.end_ns > 0)

    def _inside(self) -> Bool:
        """(streams, boundaries) whether a cycle ends while most streams are in it, or waiting for it to end."""
        begun = np.where(self.next_ns > 0, self.next_ns - self.end_ns.max(), np.nan).astype(np.float64)
        after = np.nan_to_num(_quantile(begun.T, 0.5), nan=np.inf)  # behind the last one nobody begins
        before = np.concatenate([[-np.inf], after[:-1]])
        end = self.end_ns - self.end_ns.max()
        return np.asarray((self.end_ns > 0) & (end > before) & (end <= after))

    def _lag(self) -> Float:
        """(streams, boundaries) distance of each crossing from the median one, in cycles; nan where there is none."""
        seen = np.where(self.end_ns > 0, self.end_ns - self.end_ns.max(), np.nan).astype(np.float64)
        middle = _quantile(seen.T, 0.5)
        met = middle[np.isfinite(middle)]
        cycle = float(np.median(np.diff(met))) if len(met) > 1 else 1.0
        return np.asarray((seen - middle) / max(cycle, 1.0))


def _complete(crossed: Bool, lag: Float) -> Bool:
    """(boundaries,) which half of the streams have crossed that end last of those that could.

    Args:
        crossed: (streams, boundaries) which stream crossed which.
        lag: (streams,) when each usually does.
    """
    there = _there(crossed)
    latest = np.where(there, lag[:, None], -np.inf).max(axis=0)
    last = there & (lag[:, None] >= latest - LAST_SHARE)
    return np.asarray(2 * (last & crossed).sum(axis=0) >= np.maximum(last.sum(axis=0), 1))


def _there(crossed: Bool) -> Bool:
    """(streams, boundaries) all, but for streams that ended before others began: after that, and these before it."""
    numbers = np.arange(crossed.shape[1])
    begin, end = crossed.argmax(axis=1), numbers[-1] - crossed[:, ::-1].argmax(axis=1)
    begins, ends = np.unique(begin), np.unique(end)
    gone = np.append(begins, len(numbers))[np.searchsorted(begins, end, side="right")]
    come = np.insert(ends, 0, -1)[np.searchsorted(ends, begin)]
    return np.asarray((numbers > come[:, None]) & (numbers < gone[:, None]))


def concat_boundaries(first: Boundaries, second: Boundaries, order: Int) -> Boundaries:
    """Boundaries of two runs of one job, the second's counted on; streams of both, one after the other, in `order`."""
    width = first.end_ns.shape[1]
    tables = []
    for a, b in ((first.end_ns, second.end_ns), (first.next_ns, second.next_ns)):
        table = np.zeros((len(a) + len(b), width + b.shape[1]), np.int64)
        table[: len(a), :width], table[len(a) :, width:] = a, b
        tables.append(table[order])
    places = np.concatenate([first.places, second.places])[order]
    return Boundaries(places, np.concatenate([first.columns, second.columns + width])[order], *tables)


def _steady(lag: Float, inside: Bool, met: Bool) -> Bool:
    steady = _quantile(lag, 0.9) - _quantile(lag, 0.1) < WANDERING_SHARE
    steady |= inside.sum(axis=1) >= INSIDE_BY * met.sum(axis=1)
    return np.asarray(steady if steady.any() else np.ones(len(lag), bool))


def _quantile(values: Float, share: float) -> Float:
    """(rows,) the quantile of each row of a table, nan left out; nan for a row of nothing else."""
    ranked = np.sort(values, axis=1)  # nan sorts behind everything
    last = np.isfinite(values).sum(axis=1) - 1
    at = share * np.maximum(last, 0)
    low = np.floor(at).astype(np.int64)
    row = np.arange(len(values))
    lower, upper = ranked[row, low], ranked[row, np.minimum(low + 1, np.maximum(last, 0))]
    return np.asarray(lower + (at - low) * (upper - lower))


def find_boundaries(streams: Streams, members: Members) -> Boundaries:
    """Find the common boundary of the streams of one job.

    1. Streams that hold whole cycles began and ended with an iteration: where most do, they name the place and the
       count, unless dominant pauses deny it; of most that have a dominant pause, only those. Otherwise streams with
       one dominant pause a cycle (a gradient collective, a pipeline between steps) name their own place. Without any
       (sharded training gathers and scatters all the time) bursts name it.
    2. Those are put on one count, cut at the moment at which most of them pause: between iterations everybody does.
    3. Every other stream takes the place whose pause holds the edge found so far, and is counted by these edges.
    """
    own, places = members.lattices, members.lattices.main.copy()
    holds_whole, begins = _whole(own)
    stands_out = dominant(own.place_offsets, own.pause_ns, DOMINANCE)
    if holds_whole.any() and _cut_out(streams, members, np.flatnonzero(stands_out), begins, holds_whole):
        holds_whole = np.zeros(len(own), np.bool_)
    if 2 * (holds_whole & stands_out).sum() > len(own):
        holds_whole &= stands_out
    leads = holds_whole
    if holds_whole.any():
        places[leads] = begins[leads]
    else:
        leads = stands_out
    if not leads.any():
        leads, named = _after_last_scatter(own)
        places[leads] = named[leads]
    some = np.flatnonzero(leads)
    met = crossed(streams, members, some, places[some])
    shifts = np.zeros(len(some), np.int64) if holds_whole.any() else cut_where_most_pause(met)
    columns, end_ns, _ = _on_one_count(met, shifts)
    edges = np.maximum.accumulate(end_ns.max(axis=0))
    others = np.flatnonzero(~leads)
    places[others] = holding(streams, members, others, edges)
    everyone = crossed(streams, members, np.arange(len(members)), places)
    shifts = counted(everyone.offsets, everyone.end_ns, edges)
    shifts[some] = columns
    return Boundaries(places, *_on_one_count(everyone, shifts))


def _whole(own: CycleTable) -> tuple[Bool, Int]:
    """Members that carry a whole number of cycles from their first byte on, none unless most do; their place there.

    That number is the same for all. A window that is cut out of a job, at a moment at which most streams pause, holds
    whole cycles too; but of those that paused between two others' messages it holds one more or one less.
    """
    found, begins = _of_one_number(own)
    return np.asarray(found if found.sum() >= WHOLE_BY * len(own) else np.zeros(len(own), bool)), begins


def _of_one_number(own: CycleTable) -> tuple[Bool, Int]:
    """Members that carry the commonest whole number of cycles from their first byte on; their place there."""
    begins, away = nearest_places(own.place_offsets, _shares(own), 0.0)
    number = np.rint(own.count)
    found = (np.abs(own.count - number) <= SHARED_REACH) & (away <= SHARED_REACH)
    numbers, times = np.unique(number[found], return_counts=True)
    found &= number == (numbers[np.argmax(times)] if len(numbers) else 0)
    return np.asarray(found), begins


def stops_where_begun(own: CycleTable) -> bool:
    """Whether all members carry one whole number of cycles: all stop at the place of the cycle at which they began."""
    return bool(_of_one_number(own)[0].all())


def _cut_out(streams: Streams, members: Members, some: Int, begins: Int, holds_whole: Bool) -> bool:
    """Whether a window was cut out of a job inside an iteration, where most streams happen to pause.

    Some streams' dominant pause is not where they began, and all dominant pauses meet in one moment: that is the
    boundary. Where they do not meet (stages exchange tokens in turns) a stream may well pause longest inside. A job
    that was seen from its first to its last byte began there as well, and all its streams hold whole cycles. Those of
    a window do so only if it begins and ends in one pause of all of them: the shorter, the less likely.

    Args:
        streams: data rows by connection.
        members: streams of one job.
        some: those with one dominant pause.
        begins: (members,) the place at which each began.
        holds_whole: (members,) which hold whole cycles, most of them.
    """
    main = members.lattices.main[some]
    if (main == begins[some]).sum() >= EVERYBODY * len(some):
        return False
    first_byte_ratio, dominant_ratio = (_common_pause_ratio(streams, members, some, at) for at in (begins[some], main))
    some_are_cut = holds_whole.sum() < EVERYBODY * len(holds_whole)
    begins_and_ends_by_chance = first_byte_ratio**2
    return dominant_ratio > first_byte_ratio and (some_are_cut or begins_and_ends_by_chance > WHOLE_JOBS)


def _common_pause_ratio(streams: Streams, members: Members, some: Int, places: Int) -> float:
    """For how long nearly all streams pause together at some places, as a share of the cycle; 0 where they do not."""
    met = crossed(streams, members, some, places)
    _, phases, length = located(*met, met.of(int(np.argmax(np.diff(met.offsets)))))
    _, pausing, _, left = _pausing(phases, length)
    return float(left[pausing >= EVERYBODY * len(some)].max(initial=0.0))


def _shares(own: CycleTable) -> Float:
    """Places of all streams as shares of their quantum."""
    return np.asarray(own.places / np.repeat(own.quantum_bytes, np.diff(own.place_offsets)), np.float64)


def _after_last_scatter(own: CycleTable) -> tuple[Bool, Int]:
    """Members that name a place behind the last gradient burst, of those that gather and scatter all through the cycle.

    Backward, a layer's gather and the scatter of the layer before it go out back to back; the first layer's scatter
    goes alone and ends the iteration: it is the single burst after the last double one. Where no burst is double, the
    longest pause ends the iteration. Only places that most members share count: a straggler makes its neighbours
    pause elsewhere.
    """
    shares = _shares(own)
    owner = np.repeat(np.arange(len(own)), np.diff(own.place_offsets))
    near_zero = np.where(shares > 1 - SHARED_REACH / 2, shares - 1.0, shares)
    shared, pause = shared_by_most(near_zero, own.pause_ns, owner, len(own))
    if len(shared) < 2:
        return np.arange(len(own)) == 0, own.main
    size = np.diff(np.concatenate([[shared[-1] - 1.0], shared]))
    double = size >= DOUBLE_BURST * size.min()
    ends = np.flatnonzero(~double & np.roll(double, 1))
    chosen = float(shared[ends[0]] if len(ends) else shared[int(np.argmax(pause))])
    places, away = nearest_places(own.place_offsets, shares, chosen)
    return away <= SHARED_REACH, places


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
    apart = np.flatnonzero(np.diff(share[order]) > SHARED_REACH / 2) + 1
    places, lengths = [], []
    for inside in np.split(order, apart):
        if len(inside) >= SHARED_BY * members and len(np.unique(owner[inside])) >= SHARED_BY * members:
            places.append(float(np.median(share[inside])))
            lengths.append(float(np.median(pause[inside])))
    return np.array(places), np.array(lengths)


def _on_one_count(met: BoundaryTimes, shifts: Int) -> tuple[Int, Int, Int]:
    """Each sequence of crossings from the column that its shift names, and tables of (streams, boundaries).

    Returns:
        First column of each stream, ends, and beginnings of what follows; 0 where there is none.
    """
    counts = np.diff(met.offsets)
    shifts = (shifts - shifts.min()).astype(np.int64)
    end = np.zeros((len(counts), int((shifts + counts).max())), np.int64)
    begin = np.zeros_like(end)
    row = np.repeat(np.arange(len(counts)), counts)
    column = np.arange(len(row)) - np.repeat(met.offsets[:-1] - shifts, counts)
    end[row, column], begin[row, column] = met.end_ns, met.begin_ns
    return shifts, end, begin


def cut_where_most_pause(met: BoundaryTimes) -> Int:
    """Whole shifts, with phases behind the cut counted to the next boundary.

    Between two iterations everybody pauses: the cut goes behind the last byte before the moment at which most streams
    pause, boundary by boundary. Replicas may begin their gradients together, as they all end them, until one of them is
    late. Where several moments are as good, it is the longest.
    """
    whole, phases, length = located(*met, met.of(int(np.argmax(np.diff(met.offsets)))))
    instants, pausing, before, left = _pausing(phases, length)
    misread = 1 - EVERYBODY
    moments = peaks(pausing, before, left, misread * len(whole))
    moments = moments[pausing[moments] >= min(SHARED_BY * len(whole), pausing.max())]
    cuts = [np.asarray(whole + (phases > instants[at]), np.int64) for at in moments]
    if len(cuts) == 1:
        return cuts[0]
    ratios = np.array([_pausing_ratio(met, cut) for cut in cuts])
    as_good = np.flatnonzero(ratios >= ratios.max() - misread)
    return cuts[int(as_good[np.argmax(left[moments][as_good])])]


def _pausing_ratio(met: BoundaryTimes, shifts: Int) -> float:
    """Mean share of the streams that pause when nearly all have ended a cycle, over the boundaries that most have."""
    _, end, begin = _on_one_count(met, shifts)
    seen = (end > 0) & (begin > 0)
    most = 2 * seen.sum(axis=0) >= len(seen)
    end, begin, seen = end[:, most], begin[:, most], seen[:, most]
    count = seen.sum(axis=0)
    ranked = np.sort(np.where(seen, end, np.iinfo(np.int64).max), axis=0)
    nearly_last = np.maximum(np.ceil(count * EVERYBODY - 1).astype(np.int64), 0)
    ended_ns = ranked[nearly_last, np.arange(len(count))]
    ratios = (seen & (begin > ended_ns)).sum(axis=0) / count
    return float(ratios.mean()) if len(ratios) else 0.0


def _pausing(phases: Float, length: Float) -> tuple[Float, Int, Int, Float]:
    """Moments at which pauses begin, how many streams pause then, how many just before, and for how long; in cycles."""
    instants = np.unique(np.mod(phases, 1.0))
    starts = np.sort(np.concatenate([phases - 1.0, phases]))
    ends = np.sort(np.concatenate([length + phases - 1.0, length + phases]))
    after = np.searchsorted(ends, instants - SAME_INSTANT)
    pausing, before = (np.searchsorted(starts, instants, side=side) - after for side in ("right", "left"))
    return instants, pausing, before, ends[np.minimum(after, len(ends) - 1)] - instants
