"""Waits between endpoints: spans of waiting, summed by pair of waiting and awaited endpoint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from flowprism.dashboard.timeline.lateness import WAIT


@dataclass(frozen=True, slots=True)
class Wait:
    """The time that one endpoint waited for another.

    Attributes:
        waiter, awaited: codes of endpoints.
        seconds: sum over the spans; longest_s the longest of them.
        times: number of spans.
    """

    waiter: int
    awaited: int
    seconds: float
    longest_s: float
    times: int


def waits(spans: Frame) -> list[Wait]:
    """Sum the waits of each pair of waiting and awaited endpoint, the longest sum first."""
    rows = np.flatnonzero((spans["span"] == WAIT) & (spans["peer"] >= 0))
    order = rows[np.lexsort((spans["peer"][rows], spans["endpoint"][rows]))]
    if len(order) == 0:
        return []
    waiter, awaited = spans["endpoint"][order], spans["peer"][order]
    seconds = (spans["end_ns"][order] - spans["start_ns"][order]) / 1e9
    first = np.flatnonzero(np.append(True, (waiter[1:] != waiter[:-1]) | (awaited[1:] != awaited[:-1])))
    sums, longest = np.add.reduceat(seconds, first), np.maximum.reduceat(seconds, first)
    times = np.diff(np.append(first, len(order)))
    columns = waiter[first], awaited[first], sums, longest, times
    found = [Wait(*values) for values in zip(*(c.tolist() for c in columns), strict=True)]
    return sorted(found, key=lambda w: (-w.seconds, w.waiter, w.awaited))


def awaited_s(found: list[Wait]) -> dict[int, float]:
    """Seconds that others waited for each endpoint, the most first."""
    sums: dict[int, float] = {}
    for wait in found:
        sums[wait.awaited] = sums.get(wait.awaited, 0.0) + wait.seconds
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
