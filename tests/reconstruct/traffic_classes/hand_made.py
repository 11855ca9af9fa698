"""Streams of a few messages for the tests of this room."""

from collections.abc import Sequence

import numpy as np

from datamodel.reconstructed.streams import Streams

SECOND = 1_000_000_000


def streams(parts: Sequence[tuple[int, int, int, Sequence[tuple[float, float, int]]]], addresses: int = 40) -> Streams:
    """Streams of (source, destination, name) with (start, end, bytes) of each message, times in seconds."""
    rows = [row for *_, own in parts for row in own]
    start, end, size = (np.array([row[n] for row in rows]) for n in range(3))
    count = np.array([len(own) for *_, own in parts], np.int64)
    ends = [np.array([part[n] for part in parts], np.int64) for n in range(3)]
    zeros, watch = np.zeros(len(rows), np.int64), np.zeros(len(parts), np.int64)
    return Streams(
        src=ends[0],
        dst=ends[1],
        name=ends[2],
        trains=np.zeros(len(parts), np.bool_),
        offsets=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        watch_start_ns=watch,
        watch_end_ns=watch,
        start_ns=np.rint(start * SECOND).astype(np.int64),
        end_ns=np.rint(end * SECOND).astype(np.int64),
        delivered_ns=zeros,
        bytes=size.astype(np.int64),
        packets=zeros,
        retransmitted=zeros,
        ecn_ce=zeros,
        addresses=tuple(f"10.0.0.{n}" for n in range(addresses)),
    )
