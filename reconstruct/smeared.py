"""Streams whose records hide the pauses that a rhythm is made of.

An exporter that cuts a flow by timeouts, not by message, puts bursts and the pauses between them into one record.
"""

from __future__ import annotations

import numpy as np

from datamodel.streams import Bool, Int, Streams

_NANOSECONDS = 1e9


def smeared(streams: Streams, covered_share: float) -> Bool:
    """(n,) streams of flow records that cover most of the time and last longer than any pause between them.

    Training computes for a good part of every iteration. A record of one message is short beside that pause, also where
    sharded training fills most of the time with messages; a record that is longer than every pause contains pauses.
    Packet trains of a mirror are cut at every pause and are never smeared; neither is a single record. Records that
    overlap count once.

    Args:
        streams: all streams.
        covered_share: of the time from a stream's first to its last byte; one that covers less is not smeared.
    """
    found = np.zeros(len(streams), bool)
    for stream in np.flatnonzero(~streams.trains & (np.diff(streams.offsets) > 1)).tolist():
        rows = streams.rows(stream)
        start_ns, end_ns = streams.start_ns[rows], np.maximum.accumulate(streams.end_ns[rows])
        pauses_ns = np.maximum(start_ns[1:] - end_ns[:-1], 0)
        covered_s = (end_ns[-1] - start_ns[0] - pauses_ns.sum()) / _NANOSECONDS
        whole_s = (end_ns[-1] - start_ns[0]) / _NANOSECONDS
        typical_ns = _typical_ns(streams.end_ns[rows] - start_ns, streams.bytes[rows])
        found[stream] = covered_s > covered_share * whole_s and typical_ns > pauses_ns.max()
    return found


def _typical_ns(durations_ns: Int, volumes_bytes: Int) -> int:
    """Duration of the record that the median byte is in."""
    order = np.argsort(durations_ns, kind="stable")
    sums = np.cumsum(volumes_bytes[order])
    return int(durations_ns[order][np.searchsorted(sums, sums[-1] / 2)])
