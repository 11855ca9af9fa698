"""Placing connections longest first, and moves and swaps that relieve the most loaded cable of a phase."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled

# Placements that swaps may try in all; a deterministic limit in place of a clock, about two seconds.
MOST_TRIALS = 40_000_000


class SearchState(NamedTuple):
    """What the kernels below work on; `load` and `carried` change as connections are shifted.

    Attributes:
        load: (directions, phases) seconds.
        carried: (directions, phases) connections of the phase's own job.
        pair, sent, own: of connections, see `Demand`.
        offsets, cables: of routes.
        inverse: (directions,) seconds a byte.
    """

    load: Float
    carried: Int
    pair: Int
    sent: Float
    own: Bool
    offsets: Int
    cables: Int
    inverse: Float


@compiled
def shift(at: SearchState, n: int, route: int, sign: int) -> None:
    """Put a connection on a route, or take it off."""
    for cable in at.cables[route]:
        if cable >= 0:
            for phase in range(at.sent.shape[1]):
                at.load[cable, phase] += sign * at.sent[n, phase] * at.inverse[cable]
                at.carried[cable, phase] += sign * at.own[n, phase]


@compiled
def put_on(route: Int, at: SearchState) -> None:
    """Count connections on the routes that they take; none where that is negative."""
    for n in range(len(route)):
        if route[n] >= 0:
            shift(at, n, route[n], 1)


@compiled
def place_greedily(order: Int, route: Int, at: SearchState) -> None:
    """Give each connection the route on which the largest load is least, and of these the least in sum."""
    for n in order:
        best, best_top, best_sum = -1, np.inf, np.inf
        for candidate in range(at.offsets[at.pair[n]], at.offsets[at.pair[n] + 1]):
            top, total = 0.0, 0.0
            for cable in at.cables[candidate]:
                if cable >= 0:
                    for phase in range(at.sent.shape[1]):
                        if at.sent[n, phase] > 0:
                            value = at.load[cable, phase] + at.sent[n, phase] * at.inverse[cable]
                            top, total = max(top, value), total + value
            if top < best_top or (top == best_top and total < best_sum):
                best, best_top, best_sum = candidate, top, total
        route[n] = best
        shift(at, n, best, 1)


@compiled
def _fits(at: SearchState, n: int, route: int, peak: Float, focus: int) -> float:
    """Largest load of a connection's route in the phase in focus; infinity where a phase gets slower or none faster."""
    top = 0.0
    for cable in at.cables[route]:
        if cable >= 0:
            for phase in range(at.sent.shape[1]):
                late = at.load[cable, phase] > peak[phase] * (1 + 1e-12)
                if late and at.sent[n, phase] > 0 and at.carried[cable, phase] > 0:
                    return np.inf
            if at.carried[cable, focus] > 0:
                top = max(top, at.load[cable, focus])
    return top if top < peak[focus] * (1 - 1e-9) else np.inf


@compiled
def _best_move(at: SearchState, n: int, route: int, peak: Float, p: int) -> tuple[float, int]:
    """(largest load, route) of the best other route of a connection; infinity where none is better."""
    shift(at, n, route, -1)
    best, chosen = np.inf, -1
    for candidate in range(at.offsets[at.pair[n]], at.offsets[at.pair[n] + 1]):
        if candidate != route:
            shift(at, n, candidate, 1)
            top = _fits(at, n, candidate, peak, p)
            shift(at, n, candidate, -1)
            if top < best:
                best, chosen = top, candidate
    shift(at, n, route, 1)
    return best, chosen


@compiled
def _members(route: Int, cables: Int, count: int) -> tuple[Int, Int]:
    """(offsets by cable, connections) that pass each cable."""
    offsets = np.zeros(count + 2, np.int64)
    for r in route:
        if r >= 0:
            for cable in cables[r]:
                if cable >= 0:
                    offsets[cable + 2] += 1
    offsets = np.cumsum(offsets)
    inside = np.empty(offsets[-1], np.int64)
    for n in range(len(route)):
        if route[n] >= 0:
            for cable in cables[route[n]]:
                if cable >= 0:
                    inside[offsets[cable + 1]] = n
                    offsets[cable + 1] += 1
    return offsets[:-1], inside


@compiled
def _make_room(at: SearchState, n: int, candidate: int, y: int, route: int, peak: Float, p: int) -> int:
    """Route that `y` can take so that `n`, already counted on its candidate, fits there; -1 where there is none."""
    shift(at, y, route, -1)
    if _fits(at, n, candidate, peak, p) < np.inf:
        for other in range(at.offsets[at.pair[y]], at.offsets[at.pair[y] + 1]):
            if other != route:
                shift(at, y, other, 1)
                if _fits(at, y, other, peak, p) < np.inf and _fits(at, n, candidate, peak, p) < np.inf:
                    return other
                shift(at, y, other, -1)
    shift(at, y, route, 1)
    return -1


@compiled
def _swap(at: SearchState, route: Int, worst: int, members: tuple[Int, Int], peak: Float, p: int) -> tuple[bool, int]:
    """Move one connection off a cable and another out of its way; whether one was found, and what was tried."""
    first, inside = members
    tried = 0
    for n in inside[first[worst] : first[worst + 1]]:
        if at.sent[n, p] <= 0:
            continue
        shift(at, n, route[n], -1)
        for candidate in range(at.offsets[at.pair[n]], at.offsets[at.pair[n] + 1]):
            if candidate == route[n]:
                continue
            shift(at, n, candidate, 1)
            for cable in at.cables[candidate]:
                if cable < 0 or at.load[cable, p] < peak[p] * (1 - 1e-9):
                    continue
                for y in inside[first[cable] : first[cable + 1]]:
                    if y == n or at.sent[y, p] >= at.sent[n, p] * (1 - 1e-9):
                        continue
                    tried += at.offsets[at.pair[y] + 1] - at.offsets[at.pair[y]]
                    other = _make_room(at, n, candidate, y, route[y], peak, p)
                    if other >= 0:
                        route[n], route[y] = candidate, other
                        return True, tried
            shift(at, n, candidate, -1)
        shift(at, n, route[n], 1)
    return False, tried


@compiled
def _relieve(at: SearchState, route: Int, worst: int, peak: Float, p: int) -> tuple[bool, int]:
    """Make a cable less loaded in a phase by one move, else by a swap; whether that went, and what was tried."""
    members = _members(route, at.cables, len(at.load))
    first, inside = members
    mover, best, chosen, tried = -1, np.inf, -1, len(route)
    for n in inside[first[worst] : first[worst + 1]]:
        if at.sent[n, p] > 0:
            tried += at.offsets[at.pair[n] + 1] - at.offsets[at.pair[n]]
            top, candidate = _best_move(at, n, route[n], peak, p)
            if top < best:
                mover, best, chosen = n, top, candidate
    if mover < 0:
        swapped, more = _swap(at, route, worst, members, peak, p)
        return swapped, tried + more
    shift(at, mover, route[mover], -1)
    shift(at, mover, chosen, 1)
    route[mover] = chosen
    return True, tried


@compiled
def peaks(at: SearchState) -> tuple[Float, Int]:
    """(phases,) largest load of a cable that carries the phase's own job, and the cable."""
    phases = at.sent.shape[1]
    peak, worst = np.zeros(phases), np.zeros(phases, np.int64)
    for cable in range(len(at.load)):
        for phase in range(phases):
            if at.carried[cable, phase] > 0 and at.load[cable, phase] > peak[phase]:
                peak[phase], worst[phase] = at.load[cable, phase], cable
    return peak, worst


@compiled
def _follow(at: SearchState, peak: Float, worst: Int) -> None:
    """Find the peaks again of phases whose most loaded cable has changed; no other may have become slower."""
    for phase in range(len(peak)):
        if at.load[worst[phase], phase] == peak[phase] and at.carried[worst[phase], phase] > 0:
            continue
        peak[phase], worst[phase] = 0.0, 0
        for cable in range(len(at.load)):
            if at.load[cable, phase] > peak[phase] and at.carried[cable, phase] > 0:
                peak[phase], worst[phase] = at.load[cable, phase], cable


@compiled
def improve(route: Int, at: SearchState, least: Float) -> None:
    """Relieve the most loaded cable of each phase until none can be, or the limit of trials is reached."""
    tried, better = 0, True
    peak, worst = peaks(at)
    while better and tried < MOST_TRIALS:
        better = False
        for p in range(at.sent.shape[1]):
            while tried < MOST_TRIALS and peak[p] > least[p] * (1 + 1e-9):
                done, spent = _relieve(at, route, worst[p], peak, p)
                _follow(at, peak, worst)
                tried += spent
                if not done:
                    break
                better = True
