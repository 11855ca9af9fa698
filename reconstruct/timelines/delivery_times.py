"""When the receiver had what a stream sent, as far as acknowledgements tell."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int, Streams
from reconstruct.jit import compiled, to_contiguous


def arrival_ns(streams: Streams, rows: Int) -> Int:
    """(rows,) when the receiver had each row's last byte, of one stream's rows; see `arrivals_ns`."""
    bounds = np.array([0, len(rows)], np.int64)
    return arrivals_ns(streams, rows, streams.end_ns[rows], bounds)


def arrivals_ns(streams: Streams, rows: Int, end_ns: Int, offsets: Int) -> Int:
    """(rows,) when the receiver had each row's last byte; when it was sent, where no acknowledgement was seen.

    A receiver may sit on the last acknowledgement of a message (RFC 1122 allows 500 ms): a row counts with no more than
    twice the latency of the slower of its neighbours.

    Args:
        streams: whose rows they are.
        rows: row numbers, stream after stream.
        end_ns: (rows,) their last bytes.
        offsets: (streams + 1,) bounds of each stream's rows.
    """
    arrived = np.empty(len(rows), np.int64)
    if streams.delivered_ns.strides == (0,) and not streams.delivered_ns[:1].any():
        _latest(to_contiguous(end_ns), to_contiguous(offsets), arrived)
    else:
        _arrivals(to_contiguous(end_ns), to_contiguous(streams.delivered_ns[rows]), to_contiguous(offsets), arrived)
    return arrived


@compiled
def _latest(end: Int, offsets: Int, arrived: Int) -> None:
    """Each stream's running maximum."""
    for s in range(len(offsets) - 1):
        latest = end[offsets[s]] if offsets[s + 1] > offsets[s] else 0
        for r in range(offsets[s], offsets[s + 1]):
            latest = max(latest, end[r])
            arrived[r] = latest


@compiled
def _arrivals(end: Int, acknowledged: Int, offsets: Int, arrived: Int) -> None:
    """Ends with latencies, bounded by their neighbours', never running backwards."""
    for s in range(len(offsets) - 1):
        low, high = offsets[s], offsets[s + 1]
        latest = np.int64(-1)
        for r in range(low, high):
            own = max(acknowledged[r] - end[r], 0) if acknowledged[r] > 0 else 0
            q = max(r - 1, low)
            before = max(acknowledged[q] - end[q], 0) if acknowledged[q] > 0 else 0
            q = min(r + 1, high - 1)
            after = max(acknowledged[q] - end[q], 0) if acknowledged[q] > 0 else 0
            latest = max(latest, end[r] + min(own, 2 * max(before, after)))
            arrived[r] = latest
