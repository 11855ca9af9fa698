"""When the receiver had what a stream sent, as far as acknowledgements tell."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Int, Streams


def arrival_ns(streams: Streams, rows: Int) -> Int:
    """(rows,) when the receiver had each row's last byte; when it was sent, where no acknowledgement was seen.

    A receiver may sit on the last acknowledgement of a message (RFC 1122 allows 500 ms): a row counts with no more than
    twice the latency of the slower of its neighbours.
    """
    end, acknowledged = streams.end_ns[rows], streams.delivered_ns[rows]
    latency = np.where(acknowledged > 0, np.maximum(acknowledged - end, 0), 0)
    before, after = np.concatenate([latency[:1], latency[:-1]]), np.concatenate([latency[1:], latency[-1:]])
    latency = np.minimum(latency, 2 * np.maximum(before, after))
    return np.asarray(np.maximum.accumulate(end + latency), np.int64)
