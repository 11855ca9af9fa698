"""Connections with too few samples for equal parts -> their bursts, from where they lie in the iterations of their job.

A burst of which few packets are drawn is sometimes not seen at all. Over many iterations it is, always at one place: as
long after the iteration began in all iterations that take as long.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled
from reconstruct.jobs.time_aligned_streams import longest_pause_ns
from reconstruct.numeric.row_runs import run_starts, runs
from reconstruct.sampled.caches.cached_bursts import CachedBursts, EvenBursts
from reconstruct.sampled.caches.equal_counts import EQUAL_WITHIN, even_counts, scatter

# Fewer iterations that take as long show no places.
FEWEST_ITERATIONS = 4
# The next longer iteration of one kind takes longer by so much at most: beyond, its bursts may be another place's.
AS_LONG = 0.03
ODD, SILENT = -1, -2
# Of so many packets that are drawn in the mean none is by a chance of e^-10.
SURELY_DRAWN = 10.0
# A place that fewer iterations show is chance; nearly all bursts are at a place, and few at that of another one.
SEEN, MOSTLY, TWICE = 0.4, 0.9, 0.05


def fold(found: CachedBursts, connection: int, edges_ns: Int, life_ns: tuple[int, int]) -> EvenBursts | None:
    """The bursts of a connection by the iterations of its job; None where they keep no places.

    Each iteration carries as many samples, spread over its places as over those of all iterations that take as long.
    Without places, over the bursts that were seen, where all iterations hold as many samples but for chance.

    Args:
        found: bursts of all connections.
        connection: one of them.
        edges_ns: (iterations,) ends of the iterations of its job.
        life_ns: first and last packet of that.
    """
    own = slice(int(found.offsets[connection]), int(found.offsets[connection + 1]))
    if min(len(edges_ns), own.stop - own.start) < FEWEST_ITERATIONS or (np.diff(edges_ns) <= 0).any():
        return None
    edges_ns = edges_ns + longest_pause_ns(found.start_ns[own], edges_ns)
    edges_ns = _for_life(edges_ns, life_ns)
    iteration = np.searchsorted(edges_ns, found.start_ns[own], side="right") - 1
    iteration[iteration == len(edges_ns) - 1] = -1
    if (iteration < 0).all():
        return None
    kind = _kinds(np.diff(edges_ns), iteration, found.samples[own])
    parts = [_as_counted(found, own, kind[iteration] == ODD, iteration)]
    for k in range(int(kind.max()) + 1):
        rows = np.flatnonzero((iteration >= 0) & (kind[iteration] == k))
        if not len(rows):
            return None
        which = np.flatnonzero(kind == k)
        part = _at_places(found, own.start + rows, edges_ns, iteration[rows], which)
        if part is None:
            counts = np.bincount(iteration[rows], found.samples[own][rows], len(kind))[which].astype(np.float64)
            if counts.min() == 0 or scatter(counts, counts) > EQUAL_WITHIN:
                return None
            part = _as_counted(found, own, kind[iteration] == k, iteration)
        parts.append(part)
    whole = EvenBursts.joined(parts)
    inside = (whole.start_ns >= life_ns[0]) & (whole.end_ns <= life_ns[1])
    order = np.flatnonzero(whole.seen | inside)
    order = order[np.argsort(whole.start_ns[order], kind="stable")]
    chosen = whole.take(order)
    return replace(chosen, samples=chosen.samples * found.samples[own].sum() / chosen.samples.sum())


def _as_counted(found: CachedBursts, own: slice, chosen: Bool, iteration: Int) -> EvenBursts:
    """Bursts of some iterations: where they were seen, as many samples an iteration."""
    some = np.flatnonzero(chosen & (iteration >= 0))
    samples = found.samples[own][some]
    whole = np.bincount(iteration[some], samples, int(iteration.max(initial=0)) + 1)
    return EvenBursts(
        like=own.start + some,
        start_ns=found.start_ns[own][some],
        end_ns=found.end_ns[own][some],
        samples=samples / whole[iteration[some]],
        seen=np.ones(len(some), np.bool_),
    )


def _for_life(edges_ns: Int, life_ns: tuple[int, int]) -> Int:
    """Ends of iterations from before the first packet to after the last one: as long as those next to them."""
    first, last = edges_ns[1] - edges_ns[0], edges_ns[-1] - edges_ns[-2]
    before, after = -((life_ns[0] - edges_ns[0]) // first), -((edges_ns[-1] - life_ns[1]) // last)
    earlier = edges_ns[0] - first * np.arange(max(before, 0), 0, -1)
    return np.concatenate([earlier, edges_ns, edges_ns[-1] + last * np.arange(1, max(after, 0) + 1)])


def _kinds(length_ns: Int, iteration: Int, samples: Float) -> Int:
    """(iterations,) kind of each, from 0 up: those that take about as long; ODD where few do, SILENT without bursts.

    Silent are those before the first burst and after the last, and those in a row that chance alone does not explain:
    in as many others so many packets are drawn that some would have been.
    """
    inside = np.arange(iteration[iteration >= 0].min(), iteration.max() + 1)
    drawn = np.bincount(iteration[iteration >= 0], samples[iteration >= 0], len(length_ns))
    none = drawn[inside] == 0
    number = np.cumsum(run_starts(none)) - 1
    expected = np.bincount(number)[number] * drawn.sum() / max(np.count_nonzero(drawn), 1)
    inside = inside[~(none & (expected >= SURELY_DRAWN))]
    found = np.full(len(length_ns), SILENT)
    length = length_ns[inside].astype(np.float64)
    kind = runs(length, AS_LONG)
    often = np.bincount(kind) >= FEWEST_ITERATIONS
    if not often.any():
        found[inside] = 0
        return found
    found[inside] = np.where(often, np.cumsum(often) - 1, ODD)[kind]
    return found


def _at_places(found: CachedBursts, bursts: Int, edges_ns: Int, iteration: Int, which: Int) -> EvenBursts | None:
    """Bursts at all places of some iterations that take as long, by iteration; None where they keep none.

    Args:
        found: bursts of all connections.
        bursts: those of one connection in these iterations.
        edges_ns: bounds of all iterations.
        iteration: of each burst.
        which: these iterations.
    """
    since_ns, samples = found.start_ns[bursts] - edges_ns[iteration], found.samples[bursts]
    row = np.searchsorted(which, iteration)
    place = _places(since_ns, row, len(which))
    if place is None:
        return None
    places = int(place.max()) + 1
    some = np.flatnonzero(place >= 0)
    some = some[np.unique(row[some] * places + place[some], return_index=True)[1]]
    burst = np.full((len(which), places), -1)
    burst[row[some], place[some]] = some
    seen = burst >= 0
    began = edges_ns[which][:, None]
    start = began + _interpolated(since_ns[burst], seen)
    ended = found.end_ns[bursts]
    of_place = [some[place[some] == p] for p in range(places)]
    lasts = np.array([_length_ns(samples[own], ended[own] - found.start_ns[bursts][own]) for own in of_place])
    usual = np.array([int(np.median(ended[own] - edges_ns[iteration[own]])) for own in of_place])
    # no later than usual, unless it was seen: iterations end with the last of all bursts
    end = np.maximum(np.minimum(start + lasts, began + usual), np.where(seen, ended[burst], 0))
    total = np.bincount(place[some], samples[some], places).astype(np.float64)
    each = even_counts(total, total)
    return EvenBursts(
        like=bursts[np.where(seen, burst, burst[seen.argmax(axis=0), np.arange(places)])].ravel(),
        start_ns=np.minimum(start, end).ravel(),
        end_ns=end.ravel(),
        samples=np.tile(each / each.sum(), len(which)),
        seen=seen.ravel(),
    )


def _places(since_ns: Int, row: Int, iterations: int) -> Int | None:
    """(bursts,) place of each, -1 for none: parted at the widest gaps until hardly any holds two of an iteration."""
    order = np.lexsort([row, since_ns])
    place = _parted(since_ns[order], row[order], iterations)
    seen = np.bincount(place)
    often = seen >= SEEN * iterations
    if seen[often].sum() < MOSTLY * len(order):
        return None
    result = np.empty(len(order), np.int64)
    result[order] = np.where(often, np.cumsum(often) - 1, -1)[place]
    return result


@compiled
def _parted(since_ns: Int, row: Int, iterations: int) -> Int:
    """(bursts,) number of the place of each, by time: parted at the widest gaps until hardly any hold two of a row."""
    count = len(row)
    place, gaps = np.zeros(count, np.int64), since_ns[1:] - since_ns[:-1]
    met = np.full(iterations, -1)
    for at in np.argsort(-gaps, kind="mergesort"):
        met[:] = -1
        again = 0
        for k in range(count):
            again += met[row[k]] == place[k]
            met[row[k]] = place[k]
        if again <= TWICE * count:
            break
        place[at + 1 :] += 1
    return place


def _interpolated(since_ns: Int, seen: Bool) -> Int:
    """(iterations, places) how long after its iteration began each burst is sent; not seen, as in those about it."""
    iterations = np.arange(len(seen))
    for p in range(seen.shape[1]):
        known = np.flatnonzero(seen[:, p])
        since_ns[:, p] = np.interp(iterations, known, since_ns[known, p])
    return since_ns


def _length_ns(samples: Float, apart_ns: Int) -> int:
    """How long bursts usually last: of n packets drawn at random the first and the last are (n - 1) / (n + 1) apart."""
    several = samples > 1
    if not several.any():
        return 0
    drawn = samples[several]
    return int(np.median(apart_ns[several] * (drawn + 1) / (drawn - 1)))
