"""Folded messages -> who computes longer: late after all it waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.sampled.message_delays import MessageDelays
from diagnose.sampled.sampled_job_view import SampledView

# Late is who sends later by so many standard errors, by this share of the most late one, and of what iterations lost:
# what one loses all wait for, so more than so many times that is a mistake of the cut between messages.
SURE, AS_LATE, WORTH, MOST = 3.0, 0.5, 0.05, 2.0
# Who is late is held to be the cause when it is later in the end by this share of what an iteration became longer.
EXPLAINS = 0.5


@dataclass(frozen=True, slots=True)
class Late:
    """Endpoints that compute together, and how much later than what set them going they send.

    Attributes:
        endpoints: (e,) address codes.
        excess_ns, error_ns: (e,) later than all they waited for, and its standard error.
        before_ns: (e,) when they sent before, after the iteration began.
        late: (e,) whose own compute makes the job late.
        surely: (e,) who sends later at all, beyond errors.
    """

    endpoints: Int
    excess_ns: Float
    error_ns: Float
    before_ns: Float
    late: Bool
    surely: Bool


def late_in_pipelines(view: SampledView, between: MessageDelays, longer_ns: float) -> Late:
    """Who is late with the first message it sends in an iteration, beyond what it received before.

    Later messages wait for both their ends: the neighbours of a late stage send late too, to it and back. The first one
    of each stage finds its receiver idle, for that has had nothing to do yet, so it leaves when its sender is done.
    Those that compute together count as one.
    """
    together = view.computing()[view.job.endpoints]
    excess, error, before = (np.full(len(together), np.nan) for _ in range(3))
    explained = np.zeros(len(together), np.bool_)
    number = view.computing()
    for group in np.unique(together).tolist():
        own = together == group
        found = _beyond(between, number, group)
        if found is not None:
            excess[own], error[own], before[own] = found
            ends = np.isin(between.src, view.job.endpoints[own]) | np.isin(between.dst, view.job.endpoints[own])
            explained[own] = float(between.later_ns[ends].max(initial=0.0)) >= EXPLAINS * longer_ns
    surely = _surely(excess, error, longer_ns)
    late = surely & explained & (excess >= AS_LATE * np.max(excess[surely], initial=0.0))
    return Late(view.job.endpoints, excess, error, before, late, surely)


def _beyond(between: MessageDelays, number: Int, group: int) -> tuple[float, float, float] | None:
    """(excess, error, time before) of the first messages of those that compute together; None where none is seen."""
    sent = between.take(number[between.src] == group)
    if not len(sent):
        return None
    first = np.array([np.flatnonzero(sent.src == e)[0] for e in np.unique(sent.src)])
    received = between.take((number[between.dst] == group) & (between.before_ns < sent.before_ns[first].min()))
    waited, doubt = 0.0, 0.0
    if len(received):
        last = np.array([np.flatnonzero(received.dst == e)[-1] for e in np.unique(received.dst)])
        waited, doubt = max(_mean(received.take(last))[0], 0.0), _mean(received.take(last))[1]
    late, error = _mean(sent.take(first))
    return late - waited, float(np.hypot(error, doubt)), float(sent.before_ns[first].mean())


def _mean(some: MessageDelays) -> tuple[float, float]:
    """Mean lateness, weighted by how well each is known, and its standard error."""
    weight = 1 / np.maximum(some.error_ns, 1.0) ** 2
    return float(np.average(some.later_ns, weights=weight)), float(weight.sum() ** -0.5)


def _surely(excess: Float, error: Float, longer_ns: float) -> Bool:
    """Who sends later, beyond errors; nobody is later than what iterations lost allows."""
    with np.errstate(invalid="ignore"):
        sure = (excess >= SURE * error) & (excess >= WORTH * longer_ns) & (excess <= MOST * longer_ns)
    return np.asarray(sure, np.bool_)
