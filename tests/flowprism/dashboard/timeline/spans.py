"""Spans written by hand, in milliseconds: what a test of the timeline page is about stands in one line each."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS, Timelines

Row = tuple[int, int, str, float, float, int, int, int]  # endpoint, iteration, span, start, end, peer, bytes, group


def spans(*rows: Row) -> Frame:
    """A frame of one job's spans, starting at 1 s after the epoch."""
    endpoint, iteration, kind, start, end, peer, moved, group = zip(*rows, strict=True) if rows else ((),) * 8
    milliseconds = [np.array(values, np.float64) * 1e6 + 1e9 for values in (start, end)]
    return Frame(
        SPANS,
        {
            "job": np.zeros(len(rows), np.int32),
            "endpoint": np.array(endpoint, np.int32),
            "iteration": np.array(iteration, np.int32),
            "span": np.array([SPAN_NAMES.index(name) for name in kind], np.int8),
            "start_ns": milliseconds[0].astype(np.int64),
            "end_ns": milliseconds[1].astype(np.int64),
            "peer": np.array(peer, np.int32),
            "bytes": np.array(moved, np.int64),
            "group": np.array(group, np.int32),
        },
    )


def timelines(*rows: Row) -> Timelines:
    """The same with addresses 10.0.0.1, 10.0.0.2 ... and one group."""
    frame = spans(*rows)
    count = int(max(frame["endpoint"].max(initial=-1), frame["peer"].max(initial=-1))) + 1
    return Timelines(frame, tuple(f"10.0.0.{n + 1}" for n in range(count)), ("j",), ("dp 10.0.0.1,10.0.0.2",))


# Two stages: 0 computes and sends to 1, which waits for it, computes and sends back; then 0 computes to the end.
CHAIN: tuple[Row, ...] = (
    (0, 1, "compute", 0, 10, -1, 0, -1),
    (0, 1, "pp_send", 10, 12, 1, 500, 0),
    (0, 1, "wait", 12, 30, 1, 0, -1),
    (0, 1, "pp_recv", 30, 32, 1, 500, 0),
    (0, 1, "compute", 32, 40, -1, 0, -1),
    (1, 1, "wait", 0, 10, 0, 0, -1),
    (1, 1, "pp_recv", 10, 12, 0, 500, 0),
    (1, 1, "compute", 12, 30, -1, 0, -1),
    (1, 1, "pp_send", 30, 32, 0, 500, 0),
    (1, 1, "idle", 32, 40, -1, 0, -1),
)
