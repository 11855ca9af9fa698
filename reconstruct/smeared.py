"""Streams whose records hide the pauses that a rhythm is made of.

An exporter that cuts a flow by timeouts, not by message, puts bursts and the pauses between them into one record.
"""

from __future__ import annotations

import numpy as np

from datamodel.streams import Bool, Streams

_NANOSECONDS = 1e9


def smeared(streams: Streams, covered_share: float) -> Bool:
    """(n,) streams of flow records that cover more than this share of the time from their first to their last byte.

    Training computes for a good part of every iteration, so records that leave no pause contain the pauses. Packet
    trains of a mirror are cut at every pause and are never smeared; neither is a single record. Records that overlap
    count once.
    """
    found = np.zeros(len(streams), bool)
    for stream in np.flatnonzero(~streams.trains & (np.diff(streams.offsets) > 1)).tolist():
        rows = streams.rows(stream)
        start_ns, end_ns = streams.start_ns[rows], np.maximum.accumulate(streams.end_ns[rows])
        pauses_s = np.maximum(start_ns[1:] - end_ns[:-1], 0).sum() / _NANOSECONDS
        whole_s = (end_ns[-1] - start_ns[0]) / _NANOSECONDS
        found[stream] = whole_s - pauses_s > covered_share * whole_s
    return found
