"""Classes of streams -> bytes of each endpoint, minute and class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.durations import MINUTE_NS
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int, Streams
from datamodel.reconstructed.traffic import TRAFFIC
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.row_runs import run_starts


def tabulate_traffic(parts: Sequence[tuple[Streams, Int]]) -> Frame:
    """Rows of `TRAFFIC`, by endpoint, minute and class, from streams and the class of each.

    A record that lasts beyond a minute gives each its share.
    """
    ends, minutes, classes, sent, received = [], [], [], [], []
    for streams, class_of in parts:
        stream, minute, volume = _by_minute(streams)
        nothing = np.zeros(len(volume), np.int64)
        ends += [streams.src[stream], streams.dst[stream]]
        minutes += [minute, minute]
        classes += [class_of[stream], class_of[stream]]
        sent += [volume, nothing]
        received += [nothing, volume]
    if not ends or not sum(map(len, ends)):
        return Frame(TRAFFIC, {name: np.zeros(0, np.int64) for name in TRAFFIC.names})
    end, minute, kind = (np.concatenate(column) for column in (ends, minutes, classes))
    order = np.lexsort([kind, minute, end])
    end, minute, kind = end[order], minute[order], kind[order]
    first = np.flatnonzero(run_starts(end, minute, kind))
    return Frame(
        TRAFFIC,
        {
            "endpoint": end[first],
            "minute_ns": minute[first] * MINUTE_NS,
            "traffic_class": kind[first],
            "sent_bytes": np.add.reduceat(np.concatenate(sent)[order], first),
            "received_bytes": np.add.reduceat(np.concatenate(received)[order], first),
        },
    )


def _by_minute(streams: Streams) -> tuple[Int, Int, Int]:
    """Stream, minute and bytes; a minute of a stream may stand several times."""
    rows = streams.offsets, to_contiguous(streams.start_ns), to_contiguous(streams.end_ns), to_contiguous(streams.bytes)
    count = _spread(*rows, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    out = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    _spread(*rows, *out)
    return out


@compiled
def _spread(offsets: Int, start_ns: Int, end_ns: Int, size: Int, stream: Int, minute: Int, volume: Int) -> int:
    """Write (stream, minute, bytes) where there is room, and return how many there are.

    Args:
        offsets: (n + 1,) row bounds of the streams.
        start_ns: (rows,) first byte.
        end_ns: (rows,) last byte.
        size: (rows,) bytes.
        stream: (count,) written, or empty.
        minute: (count,) written, or empty.
        volume: (count,) written, or empty.
    """
    count = 0
    for n in range(len(offsets) - 1):
        last = -1
        for row in range(offsets[n], offsets[n + 1]):
            begin, end = start_ns[row], max(end_ns[row], start_ns[row] + 1)
            first, final = begin // MINUTE_NS, (end - 1) // MINUTE_NS
            left = size[row]
            for at in range(first, final + 1):
                inside = min((at + 1) * MINUTE_NS, end) - max(begin, at * MINUTE_NS)
                part = min(int(float(size[row]) * inside / (end - begin)), left) if at < final else left
                left -= part
                if at != last:
                    last = at
                    count += 1
                    if count <= len(stream):
                        stream[count - 1], minute[count - 1], volume[count - 1] = n, at, 0
                if count <= len(stream):
                    volume[count - 1] += part
    return count
