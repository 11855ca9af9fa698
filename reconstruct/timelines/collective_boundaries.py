"""Where the collectives of a job part: places of an iteration, as shares of its bytes, at which most streams pause."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled, to_contiguous
from reconstruct.jobs.iteration_boundaries import shared_by_most
from reconstruct.timelines.job_rows import JobRows

# A place within this share of an iteration's bytes is the place.
SAME_PLACE = 0.006
# Pauses of one stream this close are one place; it counts when it comes back in this share of the iterations.
NEAR, RECURRENCE = 0.004, 0.6
# So many streams of a kind show where all of them pause.
SAMPLE = 48


def find_collective_boundaries(seen: JobRows, chosen: Int, floor_ns: Float) -> Float:
    """(places,) shares of an iteration's bytes at which one collective ends and the next begins, ascending.

    The steps of a collective follow one another with pauses that depend on who is late, so its members disagree on
    where it is parted. Only places that most streams of a kind share, in most iterations, part collectives, and of
    those the long ones: pauses fall into kinds, and steps are below the widest ratio of successive lengths.

    Args:
        seen: a job's rows.
        chosen: places among `seen.streams` of the streams of one kind, which carry the same collectives.
        floor_ns: (s,) pauses up to this length lie inside a transfer.
    """
    sample = chosen[:: max(len(chosen) // SAMPLE, 1)]
    found = [_recurring(seen, int(s), float(floor_ns[s])) for s in sample]
    share, pause = (np.concatenate([f[n] for f in found]) for n in (0, 1))
    owner = np.repeat(np.arange(len(found)), [len(f[0]) for f in found])
    places, lengths = shared_by_most(share, pause, owner, len(found))
    boundary = float(np.median([f[2] for f in found]))
    floor = max(float(np.median(floor_ns[sample])), 1.0)
    ranked = np.sort(np.concatenate([lengths, [boundary]]))[::-1]
    ratio = ranked / np.concatenate([ranked[1:], [floor]])
    return np.asarray(places[lengths >= ranked[int(np.argmax(ratio))]], np.float64)


def _recurring(seen: JobRows, stream: int, floor_ns: float) -> tuple[Float, Float, float]:
    """One stream's places that come back: (shares, median pauses, median pause between iterations)."""
    own = slice(int(seen.offsets[stream]), int(seen.offsets[stream + 1]))
    iteration, pause, size = (to_contiguous(column[own]) for column in (seen.iteration, seen.pause_ns, seen.bytes))
    return _recurring_places(iteration, pause, size, floor_ns)


@compiled
def _recurring_places(iteration: Int, pause: Int, size: Int, floor_ns: float) -> tuple[Float, Float, float]:
    """`_recurring` of the rows of one stream."""
    begins = np.flatnonzero(np.append(True, iteration[1:] != iteration[:-1]))
    complete = begins[1:-1] if len(begins) > 3 else begins
    whole, met = np.zeros(np.max(iteration) + 1, np.bool_), np.full(np.max(iteration) + 1, -1)
    whole[iteration[complete]] = True
    share, inner = np.zeros(len(size)), np.zeros(len(size), np.bool_)
    for n in range(len(begins)):
        low, high = begins[n], begins[n + 1] if n + 1 < len(begins) else len(size)
        total, before = max(float(np.sum(size[low:high])), 1.0), 0
        for k in range(low, high):
            share[k] = before / total
            before += size[k]
            off_the_ends = share[k] > SAME_PLACE and share[k] < 1 - SAME_PLACE
            inner[k] = off_the_ends and pause[k] > floor_ns and whole[iteration[k]]
    rows = np.flatnonzero(inner)
    rows = rows[np.argsort(share[rows], kind="mergesort")]
    places, lengths = np.empty(len(rows)), np.empty(len(rows))
    found = first = 0
    for k in range(len(rows)):
        if k + 1 < len(rows) and share[rows[k + 1]] - share[rows[k]] <= NEAR:
            continue
        times = 0
        for row in rows[first : k + 1]:
            times += met[iteration[row]] != first
            met[iteration[row]] = first
        if times >= RECURRENCE * len(complete):
            places[found], lengths[found] = np.median(share[rows[first : k + 1]]), np.median(pause[rows[first : k + 1]])
            found += 1
        first = k + 1
    between = float(np.median(pause[begins[1:]])) if len(begins) > 1 else 0.0
    return places[:found].copy(), lengths[:found].copy(), between


@compiled
def cut_at_places(
    offsets: Int,
    size: Int,
    pause: Int,
    iteration: Int,
    kind: Int,
    usual: Float,
    place_offsets: Int,
    places: Float,
    last: int,
    first: Bool,
    slot: Int,
) -> None:
    """Mark the rows with which collectives begin, and number them within their iteration.

    The cut falls on the longest pause near a place; where none is near, on the bytes. An iteration that the window's
    end cuts off is measured by the usual bytes from its beginning, one that its beginning cuts off from its end.

    Args:
        offsets: (s + 1,) row bounds of each stream.
        size: (r,) bytes of the rows.
        pause: (r,) silence before them, ns.
        iteration: (r,) which they belong to.
        kind: (s,) number of the stream's kind; -1: leave it alone.
        usual: (s,) bytes of an iteration.
        place_offsets: (kinds + 1,) bounds of each kind's places.
        places: shares, ascending within a kind.
        last: the number of complete iterations.
        first: (r,) written: whether an operation begins.
        slot: (r,) written where one begins.
    """
    for s in range(len(offsets) - 1):
        if kind[s] < 0:
            continue
        own = places[place_offsets[kind[s]] : place_offsets[kind[s] + 1]]
        low, high = offsets[s], offsets[s + 1]
        while low < high:
            stop, total = low, 0.0
            while stop < high and iteration[stop] == iteration[low]:
                total += size[stop]
                first[stop] = False
                stop += 1
            unfinished = iteration[low] >= last or iteration[low] == 0
            whole = max(total, usual[s]) if unfinished else total
            done = whole - total if iteration[low] == 0 and last > 0 else 0.0
            _cut_iteration(low, stop, done, whole, size, pause, own, first, slot)
            low = stop


@compiled
def _cut_iteration(
    low: int, stop: int, done: float, whole: float, size: Int, pause: Int, own: Float, first: Bool, slot: Int
) -> None:
    """Cut the rows [low, stop) of one stream and iteration, before which `done` of its `whole` bytes were sent."""
    slack = SAME_PLACE * whole
    at = 0
    while at < len(own) and own[at] * whole <= done + slack:
        at += 1
    first[low], slot[low] = True, at
    r = low
    while at < len(own):
        target = own[at] * whole
        while r < stop and done < target - slack:
            done += size[r]
            r += 1
        best, longest = r, np.int64(-1)
        ahead, q = done, r
        while q < stop and ahead <= target + slack:
            if pause[q] > longest:
                best, longest = q, pause[q]
            ahead += size[q]
            q += 1
        at += 1
        if best >= stop:
            return
        first[best], slot[best] = True, at
