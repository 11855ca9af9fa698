"""When each connection lived: all that identities of streams show of a job's members."""

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
    """

    src: Int
    dst: Int
    start_ns: Int
    end_ns: Int
    bytes: Float


def stream_lives(streams: Streams) -> ConnectionLives:
    """Lives of streams, in their order."""
    first, last = streams.offsets[:-1], streams.offsets[1:] - 1
    volume = streams.total_bytes().astype(np.float64)
    end = np.maximum.reduceat(streams.end_ns, first) if len(streams) else last
    return ConnectionLives(streams.src, streams.dst, streams.start_ns[first], end, volume)
