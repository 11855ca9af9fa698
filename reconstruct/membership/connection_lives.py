"""When each connection lived: all that identities of streams show of a job's members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.streams.endpoint_sets import join_endpoints

# Silence longer than so many times the longest pause that a connection made before is its end.
SILENCE = 3
# A connection of fewer rows, a copy of state, has no rhythm that it could break.
FEWEST_ROWS = 6


@dataclass(frozen=True, slots=True)
class ConnectionLives:
    """Connections, one entry each.

    Attributes:
        src, dst: (n,) address codes.
        start_ns, end_ns: (n,) first and last byte seen.
        bytes: (n,) moved.
    """

    src: Int
    dst: Int
    start_ns: Int
    end_ns: Int
    bytes: Float


class ReplacementTime(NamedTuple):
    """From the last sample of connections that were replaced to the first one of those that took their place, UTC."""

    stopped_ns: int
    begun_ns: int


def stream_lives(streams: Streams) -> ConnectionLives:
    """Lives of streams, in their order."""
    first, last = streams.offsets[:-1], streams.offsets[1:] - 1
    volume = streams.total_bytes().astype(np.float64)
    end = np.maximum.reduceat(streams.end_ns, first) if len(streams) else last
    return ConnectionLives(streams.src, streams.dst, streams.start_ns[first], end, volume)


class ReplacedStreams(NamedTuple):
    """Connections that took the place of others: (n,) each.

    Attributes:
        streams: all of them, see `watched_for_life`.
        ended, new: which ended before others began, and which began after others had ended.
    """

    streams: Streams
    ended: Bool
    new: Bool


def watched_for_life(streams: Streams, usable: Bool) -> ReplacedStreams:
    """Streams of which those that were replaced count as seen from their first to their last byte only.

    A connection that ends while another, silent until then, begins at one of its endpoints, or at one that others which
    end or begin tie to these, has been replaced. What the job did before and after is not to be seen on it, as if its
    exporter had not been there; so its pace is compared with that of connections that go on in the time in which both
    lived. That something only ends or only begins replaces nothing.

    Args:
        streams: data rows by connection.
        usable: (n,) those that may belong to jobs.
    """
    none = np.zeros(len(streams), np.bool_)
    if not len(streams):
        return ReplacedStreams(streams, none, none)
    first, last = streams.offsets[:-1], streams.offsets[1:] - 1
    begin = streams.start_ns[first]
    end = np.maximum.reduceat(streams.end_ns, first)
    patience = SILENCE * _longest_pauses_ns(streams.offsets, to_contiguous(streams.start_ns))
    enough = usable & (last - first + 1 >= FEWEST_ROWS)
    ended = enough & (end + patience < streams.watch_end_ns)
    new = enough & (begin - patience > streams.watch_start_ns)
    passing, ended, new = ended & new, ended & ~new, new & ~ended
    if not ended.any() or not new.any():
        return ReplacedStreams(streams, none, none)
    size, some = len(streams.addresses), ended | new
    part = join_endpoints(streams, some)[streams.src]
    never = np.iinfo(np.int64)
    ends_ns, begins_ns = np.full(size, never.max), np.full(size, never.min)
    np.minimum.at(ends_ns, part[ended], end[ended])
    np.maximum.at(begins_ns, part[new], begin[new])
    ended, new = ended & (end < begins_ns[part]), new & (begin > ends_ns[part])
    passing &= (begin > ends_ns[part]) & (end < begins_ns[part])
    watched = replace(
        streams,
        watch_start_ns=np.where(new | passing, begin, streams.watch_start_ns),
        watch_end_ns=np.where(ended | passing, end, streams.watch_end_ns),
    )
    return ReplacedStreams(watched, ended, new)


@compiled
def _longest_pauses_ns(offsets: Int, start_ns: Int) -> Int:
    """(n,) longest time from the beginning of a row to that of the next, of each stream."""
    found = np.zeros(len(offsets) - 1, np.int64)
    for n in range(len(found)):
        for row in range(offsets[n] + 1, offsets[n + 1]):
            found[n] = max(found[n], start_ns[row] - start_ns[row - 1])
    return found
