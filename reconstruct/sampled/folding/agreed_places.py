"""Where connections that carry alike part their messages: what one of them shows by chance, the others do not show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled

# Connections that act alike agree on where their messages part, to this share of their bytes, in so many of them.
SAME_PLACE, AGREED = 0.04, 0.5
# They carry the same bytes in an iteration, each to this share of the next one.
LIKE_BYTES = 0.01


def agreed_places(shown: Sequence[Float], quantum_bytes: Float) -> list[Float]:
    """Places of each connection's cycle, 0 and 1 among them, at which those of like bytes agree that messages part.

    A place is one that most of them show within `SAME_PLACE`, the best shown one first; a connection whose samples hide
    it has it as well.

    Args:
        shown: of each connection the places that its own samples show (`folded_messages.cuts`).
        quantum_bytes: (connections,) bytes of an iteration.
    """
    order = np.argsort(quantum_bytes, kind="stable")
    apart = np.flatnonzero(np.diff(quantum_bytes[order]) > LIKE_BYTES * quantum_bytes[order][1:]) + 1
    found: list[Float] = [np.zeros(0)] * len(shown)
    for alike in np.split(order, apart):
        places = np.array([0.0, *sorted(_voted([shown[n][1:-1] for n in alike.tolist()])), 1.0])
        for n in alike.tolist():
            found[n] = places
    return found


def _voted(shown: Sequence[Float]) -> list[float]:
    """Places that enough of some connections show, each of which counts once for a place."""
    places = np.concatenate(shown)
    owner = np.repeat(np.arange(len(shown)), [len(one) for one in shown])
    order = np.argsort(places, kind="stable")
    places, owner = places[order], owner[order]
    voted: list[float] = []
    while len(places):
        low = np.searchsorted(places, places - SAME_PLACE / 2)
        high = np.searchsorted(places, places + SAME_PLACE / 2, "right")
        votes = _distinct(owner, low, high)
        best = int(np.argmax(votes))
        if votes[best] < AGREED * len(shown):
            break
        voted.append(float(np.median(places[low[best] : high[best]])))
        rest = np.abs(places - voted[-1]) > SAME_PLACE
        places, owner = places[rest], owner[rest]
    return voted


@compiled
def _distinct(owner: Int, low: Int, high: Int) -> Int:
    """(windows,) how many owners have a place in [low, high); neither bound ever falls."""
    held, found = np.zeros(owner.max() + 1, np.int64), np.empty(len(low), np.int64)
    first, last, count = 0, 0, 0
    for n in range(len(low)):
        while last < high[n]:
            count += held[owner[last]] == 0
            held[owner[last]] += 1
            last += 1
        while first < low[n]:
            held[owner[first]] -= 1
            count -= held[owner[first]] == 0
            first += 1
        found[n] = count
    return found
