"""Ready-to-receive messages beside a job's data: when each endpoint said that its buffer is there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.streams import Float, Int, Streams
from diagnose.delays import DP, Bounds, Sends
from diagnose.numbering import Numbering
from reconstruct.cycles import CONTROL_SHARE
from reconstruct.dates import Dates
from reconstruct.jobs import Job


@dataclass(frozen=True, slots=True)
class Ready:
    """Ready-to-receive messages of a job, by endpoint and time; of several after one event the first.

    An event at an endpoint is a record's last byte that it sent, or that was sent to it. Records as small as messages
    of readiness are none: what a sender announces beside its data (gloo does) sets nobody going.

    Attributes:
        endpoint: (r,) address code of who said so.
        at_ns: (r,) when it did.
        since_ns: (r,) time from the last event at the endpoint.
    """

    endpoint: Int
    at_ns: Int
    since_ns: Int

    @property
    def event_ns(self) -> Int:
        """(r,) when the last event was."""
        return self.at_ns - self.since_ns


def ready_messages(beside: Streams, own: Streams, job: Job) -> Ready | None:
    """What a job's endpoints say to one another beside its data (NCCL's clear-to-send); None where nothing was seen.

    A stream of nothing but messages far smaller than what the job sends in a cycle is taken for one of them.

    Args:
        beside: streams between endpoints of jobs that are no part of one.
        own: the job's data rows.
        job: the job.
    """
    told = beside.take(np.flatnonzero(np.isin(beside.src, job.endpoints)))
    if not len(told):
        return None
    largest = np.maximum.reduceat(told.bytes, told.offsets[:-1])
    least = CONTROL_SHARE * float(np.median(job.members.quantum_bytes))
    said = told.take(np.flatnonzero(largest < least))
    if not len(said):
        return None
    origin, span = _extent(said, own)

    def on_one_axis(ends: Int, times_ns: Int) -> Int:
        # a stretch for each endpoint, one behind the other
        return np.sort(np.searchsorted(job.endpoints, ends) * span + times_ns - origin)

    at = on_one_axis(np.repeat(said.src, np.diff(said.offsets)), said.start_ns)
    data = own.bytes >= least
    ends = [np.repeat(side, np.diff(own.offsets))[data] for side in (own.src, own.dst)]
    events = on_one_axis(np.concatenate(ends), np.tile(own.end_ns[data], 2))
    before = np.searchsorted(events, at, side="right") - 1
    known = (before >= 0) & (events[before] // span == at // span) & (np.diff(before, prepend=-1) != 0)
    at, since = at[known], (at - events[before])[known]
    return Ready(job.endpoints[at // span], at % span + origin, since)


def until_ready(ready: Ready, endpoints: Int, edges_ns: Int, dates: Dates | None = None) -> Sends:
    """How long each endpoint took in an iteration, all in all, from what reached it to being ready for the next.

    Between a rank and its successor data moves when both are ready, so that of two that wait for each other both seem
    late. But a receiver says so as soon as it is ready itself: the time until then is its own.

    Args:
        ready: of the job.
        endpoints: (e,) address codes, ascending.
        edges_ns: (iterations,) end of each complete one.
        dates: between what packets were sent; None where their times are known.
    """
    shape = len(endpoints), len(edges_ns)
    iteration = np.searchsorted(edges_ns, ready.at_ns)
    inside = iteration < len(edges_ns)
    cell = (Numbering(endpoints).of(ready.endpoint) * len(edges_ns) + iteration)[inside]
    first = np.full(shape[0] * shape[1], np.inf)
    np.minimum.at(first, cell, ready.at_ns[inside])
    seen = np.isfinite(first)

    def total(since_ns: Float | Int) -> Float:
        return np.where(seen, np.bincount(cell, since_ns[inside], len(seen)), np.nan).reshape(shape)

    sent = Sends(DP, 0, 0, total(ready.since_ns), np.where(seen, first, np.nan).reshape(shape))
    if dates is None:
        return sent
    starts = dates.bounds(np.repeat(endpoints, shape[1]), sent.start_ns.ravel())
    said, events = (dates.bounds(ready.endpoint, t.astype(np.float64)) for t in (ready.at_ns, ready.event_ns))
    delays = (total(np.maximum(a - b, 0)) for a, b in ((said[0], events[1]), (said[1], events[0])))
    return replace(sent, bounds=Bounds(*(s.reshape(shape) for s in starts), *delays))


def _extent(said: Streams, own: Streams) -> tuple[int, int]:
    """First instant of any row, and more than all of them last together."""
    origin = int(min(said.start_ns.min(), own.start_ns.min()))
    return origin, int(max(said.start_ns.max(), own.end_ns.max())) - origin + 1
