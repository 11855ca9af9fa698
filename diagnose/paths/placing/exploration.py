"""Placements that moves and swaps do not improve, shifted at random and at first uphill: threshold accepting.

A move that slows one job's phase and relieves another's more is found here and nowhere else, and so are shifts of
several connections (Dueck and Scheuer 1990).
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from diagnose.paths.placing.placement_search import SearchState, peaks, shift
from reconstruct.jit import compiled

# Loads that an exploration may read, about half a second, and its trials: with 40 times as many nothing was gained.
MOST_READS = 100_000_000
MOST_TRIALS = 50_000
# Share of all phases' time that a trial may cost at first, so that it leads out of a local optimum.
_UPHILL = 0.01
_DRAWS_A_TRIAL = 6
_SEED = 27


def explore(route: Int, at: SearchState) -> None:
    """Put connections on other routes where that makes the sum of phases shorter; `at` counts them on theirs."""
    trials = min(MOST_TRIALS, MOST_READS // max(at.load.size + len(route), 1))
    draws = np.random.default_rng(_SEED).integers(0, 1 << 31, (trials, _DRAWS_A_TRIAL))
    _explore(route, at, draws)


@compiled
def _explore(route: Int, at: SearchState, draws: Int) -> None:
    peak, worst = peaks(at)
    now = peak.sum()
    best, kept, uphill = now, route.copy(), _UPHILL * now
    for trial in range(len(draws)):
        draw = draws[trial]
        p = draw[0] % len(peak)
        n = _passing(at, route, worst[p], p, draw[1])
        if n < 0:
            continue
        from_n, to_n = route[n], _another(at, n, route[n], draw[2])
        if from_n == to_n:
            continue
        y = _in_the_way(at, route, n, to_n, p, draw)
        _move(at, route, n, to_n)
        from_y = route[y]
        if y != n:
            _move(at, route, y, _another(at, y, from_y, draw[5]))
        found, slowest = peaks(at)
        if found.sum() <= now + uphill * (1 - trial / len(draws)):
            peak, worst, now = found, slowest, found.sum()
            if now < best * (1 - 1e-9):
                best, kept = now, route.copy()
        else:
            if y != n:
                _move(at, route, y, from_y)
            _move(at, route, n, from_n)
    route[:] = kept


@compiled
def _in_the_way(at: SearchState, route: Int, n: int, other: int, p: int, draw: Int) -> int:
    """A connection on a cable of the other route, in every second trial; `n` itself where there is none."""
    cable = at.cables[other, draw[3] % at.cables.shape[1]]
    found = _passing(at, route, cable, p, draw[4]) if draw[3] >> 30 and cable >= 0 else -1
    return found if found >= 0 else n


@compiled
def _passing(at: SearchState, route: Int, cable: int, p: int, start: int) -> int:
    """A connection that passes a cable in a phase, the first from a random one on; -1 where there is none."""
    for step in range(len(route)):
        n = (start + step) % len(route)
        if route[n] >= 0 and at.sent[n, p] > 0:
            for hop in at.cables[route[n]]:
                if hop == cable:
                    return n
    return -1


@compiled
def _another(at: SearchState, n: int, route: int, draw: int) -> int:
    """One of the other routes of a connection; its own where there is no other."""
    first = int(at.offsets[at.pair[n]])
    count = int(at.offsets[at.pair[n] + 1]) - first
    return first + (route - first + 1 + draw % (count - 1)) % count if count > 1 else route


@compiled
def _move(at: SearchState, route: Int, n: int, other: int) -> None:
    """Put a connection on another route."""
    shift(at, n, route[n], -1)
    shift(at, n, other, 1)
    route[n] = other
