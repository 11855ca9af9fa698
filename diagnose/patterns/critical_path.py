"""The critical path of an iteration: whatever takes longer on it makes the iteration longer.

Found backwards from the iteration's last end, as in the critical path method (Kelley and Walker, 1959) where the
activities and the waits between endpoints are known: the predecessor of each point on the path is the endpoint's
activity that ended last before it; a span of waiting is no work but leads to the endpoint that was waited for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPAN_NAMES

_WAIT, IDLE = SPAN_NAMES.index("wait"), SPAN_NAMES.index("idle")
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One section of the path.

    Attributes:
        endpoint: code of the endpoint that worked.
        span: its activity, an index into SPAN_NAMES; -1 where no span covers the time.
        start_ns, end_ns: when; the steps follow one another without a gap.
        waiter: code of the endpoint that waited for what this step ends with, -1 where the path stays.
        peer: code of the endpoint that it sent to or received from, -1 where there is none.
        group: code of the process group that it exchanged with, -1 where there is none.
    """

    endpoint: int
    span: int
    start_ns: int
    end_ns: int
    waiter: int = -1
    peer: int = _NOTHING
    group: int = _NOTHING

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def name(self) -> str:
        """What was done, in words of the timeline."""
        return "unknown" if self.span == _NOTHING else SPAN_NAMES[self.span]


class _Lane:
    """The spans of one endpoint in order of their ends, so that what ended last before a time is found at once."""

    def __init__(self, spans: Frame, rows: Int) -> None:
        self.start, self.end, self.span, self.peer, self.group = (
            spans[name][rows].tolist() for name in ("start_ns", "end_ns", "span", "peer", "group")
        )

    def latest(self, until_ns: int) -> int | None:
        """Index of the span that was on last before a time: one that is on then, else the last that ended.

        Of those that are on the one that began last, as it is what the endpoint turned to.
        """
        after = bisect_left(self.end, until_ns)
        on = [n for n in range(after, len(self.end)) if self.start[n] < until_ns]
        if on:
            return max(on, key=lambda n: (self.start[n], -self.end[n]))
        return after - 1 if after else None


class Lanes:
    """The lane of each endpoint in one iteration, made when the path comes to it: it passes few of them."""

    def __init__(self, spans: Frame, iteration: int | None = None) -> None:
        self._spans = spans
        self._iteration = iteration
        self._lanes: dict[int, _Lane] = {}

    def __contains__(self, endpoint: int) -> bool:
        return len(self[endpoint].end) > 0

    def __getitem__(self, endpoint: int) -> _Lane:
        if endpoint not in self._lanes:
            spans, of = self._spans, self._spans["endpoint"]
            first, end = np.searchsorted(of, np.array([endpoint, endpoint + 1], of.dtype)).tolist()
            start_ns, end_ns = spans["start_ns"][first:end], spans["end_ns"][first:end]
            is_work = (spans["span"][first:end] != IDLE) & (end_ns > start_ns)
            if self._iteration is not None:
                is_work &= spans["iteration"][first:end] == self._iteration
            order = np.lexsort((start_ns, end_ns))
            self._lanes[endpoint] = _Lane(spans, first + order[is_work[order]])
        return self._lanes[endpoint]


def critical_path(spans: Frame) -> list[Step]:
    """The path of one iteration in order of time, from its first begin to its last end; empty without spans.

    Args:
        spans: of that iteration, of all endpoints that took part.
    """
    is_work = (spans["span"] != IDLE) & (spans["end_ns"] > spans["start_ns"])
    work = spans.take(np.flatnonzero(is_work)).sort("endpoint")
    if len(work) == 0:
        return []
    last = int(np.lexsort((-work["endpoint"], work["end_ns"]))[-1])
    return trace_back(Lanes(work), int(work["start_ns"].min()), int(work["end_ns"][last]), int(work["endpoint"][last]))


def trace_back(lanes: Lanes, begin_ns: int, time_ns: int, at: int) -> list[Step]:
    """The path back to a begin from an end, and the endpoint that ended then."""
    steps: list[Step] = []
    waiter, been = -1, {at}
    while time_ns > begin_ns:
        found = lanes[at].latest(time_ns)
        if found is None:
            steps.append(Step(at, _NOTHING, begin_ns, time_ns, waiter))
            break
        lane = lanes[at]
        peer, group = lane.peer[found], lane.group[found]
        if lane.end[found] < time_ns:
            start, span, peer, group = lane.end[found], _NOTHING, _NOTHING, _NOTHING
        elif lane.span[found] == _WAIT and peer in lanes and peer not in been:
            waiter, at = at if waiter < 0 else waiter, peer
            been.add(peer)
            continue
        else:
            start, span = lane.start[found], lane.span[found]
        steps.append(Step(at, span, start, time_ns, waiter, peer, group))
        time_ns, waiter, been = start, -1, {at}
    return _joined(steps[::-1])


def _joined(steps: Sequence[Step]) -> list[Step]:
    """Neighbours that are one activity of one endpoint become one."""
    joined: list[Step] = []
    for step in steps:
        before = joined[-1] if joined else None
        same = (step.endpoint, step.span, -1, step.peer, step.group)
        if before and (before.endpoint, before.span, before.waiter, before.peer, before.group) == same:
            joined[-1] = replace(step, start_ns=before.start_ns)
        else:
            joined.append(step)
    return joined
