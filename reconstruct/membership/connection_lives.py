"""When each connection lived, and how it paused: all that identities of streams say of a job's members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int, Streams


@dataclass(frozen=True, slots=True)
class ConnectionLives:
    """Connections, one entry each.

    Attributes:
        src, dst: (n,) address codes.
        start_ns, end_ns: (n,) first and last byte seen.
        bytes: (n,) moved.
        pause_ns: (n,) half of the life lies in pauses of this length or longer.
    """

    src: Int
    dst: Int
    start_ns: Int
    end_ns: Int
    bytes: Float
    pause_ns: Float

    def __len__(self) -> int:
        return len(self.src)

    def take(self, some: Int) -> ConnectionLives:
        """Some of them."""
        columns = (getattr(self, name)[some] for name in ("src", "dst", "start_ns", "end_ns", "bytes", "pause_ns"))
        return ConnectionLives(*columns)


def stream_lives(streams: Streams) -> ConnectionLives:
    """Lives of streams, in their order."""
    first, last = streams.offsets[:-1], streams.offsets[1:] - 1
    pause = _usual_pause(streams.offsets, streams.start_ns.astype(np.float64))
    volume = streams.total_bytes().astype(np.float64)
    end = np.maximum.reduceat(streams.end_ns, first) if len(streams) else last
    return ConnectionLives(streams.src, streams.dst, streams.start_ns[first], end, volume, pause)


def sampled_lives(src: Int, dst: Int, offsets: Int, time_ns: Float, volume: Float) -> ConnectionLives:
    """Lives of sampled connections; point bounds and times are those of `ProgressCurves`."""
    times = np.rint(time_ns).astype(np.int64)
    return ConnectionLives(
        src, dst, times[offsets[:-1]], times[offsets[1:] - 1], volume, _usual_pause(offsets, time_ns)
    )


def _usual_pause(offsets: Int, time_ns: Float) -> Float:
    """(n,) the median of the distances between a connection's rows, each counted as often as it is long."""
    count = np.diff(offsets)
    owner = np.repeat(np.arange(len(count)), count)
    gap = np.maximum(np.diff(time_ns, prepend=time_ns[:1]), 0)
    gap[offsets[:-1][count > 0]] = 0
    order = np.lexsort([gap, owner])
    sums = np.cumsum(gap[order])
    before = np.concatenate([[0.0], sums])[offsets[:-1]]
    half = before + np.bincount(owner, gap, len(count)) / 2
    at = np.minimum(np.searchsorted(sums, half), np.maximum(offsets[1:] - 1, 0))
    return np.asarray(gap[order][at] if len(order) else np.zeros(len(count)), np.float64)
