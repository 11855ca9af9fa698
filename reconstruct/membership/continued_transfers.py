"""Transfers as if no member had been replaced: an endpoint that took a place continues what the former one did there.

A layout is one of places, not of machines. So the iterations before a change count for the layout after it, which a few
iterations alone would not show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from reconstruct.membership.member_changes import MemberChange


def continued_transfers(transfers: Frame, changes: Sequence[MemberChange], size: int) -> Frame:
    """A job's transfers with the endpoints and connections that have each place now; as they are without changes.

    A connection that ended becomes the one that began between the same places; of several, that with the same rank by
    bytes of an iteration. Where as many did not begin as ended, they stay apart.

    Args:
        transfers: of one job.
        changes: of its members, in order of time; none elastic, or the transfers stay as they are.
        size: number of address codes.
    """
    if not changes or not len(transfers) or any(change.kind == "elastic" for change in changes):
        return transfers
    now = current_holders(changes, size)
    src, dst = now[transfers["src"]], now[transfers["dst"]]
    stream = transfers["stream"].astype(np.int64)
    never = np.iinfo(np.int64)
    times = [never.min, *(change.resumed_ns for change in changes), never.max]
    for n in range(1, len(times) - 1):
        stream = _one_connection(stream, src * size + dst, transfers, (times[n - 1], times[n], times[n + 1]))
    found = transfers.replace(src=src, dst=dst, stream=stream)
    return found.take(np.lexsort([found["start_ns"], stream]))


def current_holders(changes: Sequence[MemberChange], size: int) -> Int:
    """(addresses,) who has the place of each now; changes in which the number of endpoints differs take nobody's."""
    now = np.arange(size)
    for change in changes:
        for new, old in change.replaces.items():
            now[now == old] = new
    return now


def _one_connection(stream: Int, pair: Int, transfers: Frame, times_ns: tuple[int, int, int]) -> Int:
    """(transfers,) numbers of streams, those that ended at a change replaced by those that began then.

    Args:
        stream: (transfers,) numbers so far.
        pair: (transfers,) places between which each was sent.
        transfers: of one job.
        times_ns: of the change before, of this one, and of the next one.
    """
    since_ns, resumed_ns, until_ns = times_ns
    number, first, at = np.unique(stream, return_index=True, return_inverse=True)
    start = np.full(len(number), np.iinfo(np.int64).max)
    end = np.zeros(len(number), np.int64)
    np.minimum.at(start, at, transfers["start_ns"])
    np.maximum.at(end, at, transfers["start_ns"])
    each = np.bincount(at, transfers["bytes"]) / np.bincount(at)
    pairs = pair[first]
    ended = np.flatnonzero((end >= since_ns) & (end < resumed_ns))
    begun = np.flatnonzero((start >= resumed_ns) & (start < until_ns))
    ended, begun = (some[np.lexsort([some, each[some], pairs[some]])] for some in (ended, begun))
    equal = _counted(pairs[ended], pairs[begun])
    ended, begun = ended[np.isin(pairs[ended], equal)], begun[np.isin(pairs[begun], equal)]
    becomes = number.copy()
    becomes[ended] = number[begun]
    return np.asarray(becomes[at], np.int64)


def _counted(one: Int, other: Int) -> Int:
    """Values that both hold equally often."""
    names, count = np.unique(one, return_counts=True)
    others, others_count = np.unique(other, return_counts=True)
    both, here, there = np.intersect1d(names, others, assume_unique=True, return_indices=True)
    return np.asarray(both[count[here] == others_count[there]], np.int64)
