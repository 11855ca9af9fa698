"""Streams that hear no beat of their own, or too long a one, cut at that of streams that carry as much in all."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Float, Int, Streams
from reconstruct.cycles import Lattices, cut, joined
from reconstruct.rhythm import Beats

# Streams whose bytes in the whole window differ by less than this share are members of one collective, or of replicas.
AS_MUCH = 1e-4
# Their cycle is one on which half of them agree to this share; one that is longer by more than this is a multiple.
AGREED_SHARE = 0.01
LONGER = 1.5


def agreed(streams: Streams, found: Lattices, numbers: Int, heard: Beats) -> Lattices:
    """Lattices of streams, where those that carry as much share a cycle.

    Where a fault makes every step of a collective wait, the pauses inside an iteration are nearly as long as the one
    behind it, and a stream's fundamental is taken for a single message, whose pauses come back nowhere; where it comes
    and goes, for a multiple of the iteration. In a ring the other streams carry the same messages and wait otherwise.

    Args:
        streams: data rows by connection.
        found: streams that were cut at their own beat.
        numbers: (n,) streams with a beat, ascending, those of `found` among them.
        heard: (n,) their beats.
    """
    own = np.zeros(len(numbers))
    own[np.searchsorted(numbers, found.stream)] = found.quantum_bytes
    cycle = _of_their_kind(streams.total_bytes()[numbers], own)
    some = np.flatnonzero((cycle > 0) & ((own == 0) | (own > LONGER * cycle)))
    if not len(some):
        return found
    again = cut(streams, numbers[some], Beats(cycle[some], heard.unit_bytes[some], heard.coherence[some]))
    kept = np.flatnonzero(~np.isin(found.stream, again.stream))
    return joined([found.take(kept), again])


def _of_their_kind(total: Int, own: Float) -> Float:
    """(n,) the cycle on which most streams of as many bytes agree; 0 where they do not, or there is but one."""
    order = np.lexsort([own, total])
    ranked = total[order].astype(np.float64)
    kind = np.concatenate([[0], np.cumsum(np.diff(ranked) > AS_MUCH * ranked[1:])])[: len(order)]
    order = order[np.lexsort([own[order], kind])]  # sums that are nearly equal may stand in any order
    has = own[order] > 0
    known = np.bincount(kind, has)
    size = np.bincount(kind)
    # cycles that are not known, 0, stand first
    last = np.cumsum(size) - 1
    middle = own[order][(last - (known - 1).clip(0) // 2).astype(np.int64)]
    near = has & (np.abs(own[order] - middle[kind]) <= AGREED_SHARE * middle[kind])
    share = np.bincount(kind, near) / np.maximum(known, 1)
    cycle = np.where((share >= 0.5) & (known > 1), middle, 0.0)
    result = np.zeros(len(total))
    result[order] = cycle[kind]
    return result
