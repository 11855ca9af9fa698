"""Spreading spans over lanes so that none overlap on a lane: what a trace viewer and a picture both ask for."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


def assign_lanes(start_ns: Times, end_ns: Times) -> tuple[Times, int]:
    """The lane of each span, shape (spans,), and the number of lanes; the fewest that hold them without overlap.

    Spans may touch. The earliest takes the first lane that is free;
    of equal starts the longer goes first.
    """
    lanes = np.zeros(len(start_ns), np.int64)
    busy: list[tuple[int, int]] = []  # (free from, lane)
    free: list[int] = []
    count = 0
    for row in np.lexsort((-end_ns, start_ns)).tolist():
        while busy and busy[0][0] <= start_ns[row]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, count = count, count + 1
        lanes[row] = lane
        heapq.heappush(busy, (int(end_ns[row]), lane))
    return lanes, count
