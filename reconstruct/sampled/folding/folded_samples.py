"""Samples of many iterations laid over one another: when each message passes, and how fast a ring moves its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.medians import MAD_TO_SIGMA, MEDIAN_ERROR
from reconstruct.numeric.robust_statistics import slope
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.folding.agreed_places import AGREED, SAME_PLACE
from reconstruct.sampled.folding.folded_messages import cuts
from reconstruct.sampled.jobs.sampled_recognition import SampledJob

# A ring whose last member came late stalls until every chunk has gone round once: the later half shows its pace.
LATER_HALF = 0.5
FEWEST_POINTS, MOST_POINTS = 5, 48
# Fewer iterations have no scatter.
FEWEST_ITERATIONS = 3
# No sample is dated better than this: it lies somewhere in what a switch samples together.
BEST_DATED_NS = 1e6


@dataclass(frozen=True, slots=True)
class Points:
    """One connection's samples of whole iterations: (n,) each.

    Attributes:
        iteration: from 1 on; iteration i lies between edges i - 1 and i.
        phase: share of the iteration's bytes that were sent, 0 to 1.
        after_ns: time since the iteration began.
        doubt_ns: width of the span of time that it may lie in.
    """

    iteration: Int
    phase: Float
    after_ns: Float
    doubt_ns: Float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its standard error; nan where too little was seen."""

    value: float
    error: float


UNKNOWN = Estimate(float("nan"), float("nan"))


def points(progress: ProgressCurves, job: SampledJob, member: int) -> Points:
    """The samples of the job's connection number `member` that lie in whole iterations."""
    time_ns, position = progress.curve(int(job.connections[member]))
    phase = (position - job.origin_bytes[member]) / job.quantum_bytes[member]
    iteration = np.ceil(phase).astype(np.int64)
    inside = (iteration >= 1) & (iteration < len(job.edges_ns))
    iteration = iteration[inside]
    doubt_ns = progress.spans(int(job.connections[member]))[1][inside]
    return Points(iteration, phase[inside] - iteration + 1, time_ns[inside] - job.edges_ns[iteration - 1], doubt_ns)


def places(rows: Sequence[Points], iterations: Int, period_ns: float) -> Float:
    """Where connections that act alike pause between messages: shares of their bytes, 0 and 1 among them.

    Args:
        rows: samples of each connection.
        iterations: those of equal length to look at.
        period_ns: their length.
    """
    found = []
    for own in rows:
        chosen = np.isin(own.iteration, iterations)
        found.append(cuts(own.phase[chosen], own.after_ns[chosen] / period_ns, len(iterations))[1:-1])
    every = np.sort(np.concatenate(found)) if found else np.zeros(0)
    groups = np.split(every, np.flatnonzero(np.diff(every) > SAME_PLACE) + 1)
    kept = [float(np.median(group)) for group in groups if len(group) >= max(AGREED * len(rows), 1)]
    return np.array([0.0, *kept, 1.0])


def passing_ns(own: Points, low: float, high: float, iterations: Int) -> Estimate:
    """When the middle of what lies between two places passes, after the iteration began, and its standard error.

    Each iteration counts by what its best dated samples are worth: one that opened a datagram is known to a
    millisecond, one that an agent held into a pause is not.
    """
    chosen = (own.phase > low) & (own.phase <= high) & np.isin(own.iteration, iterations)
    which, time_ns = own.iteration[chosen], own.after_ns[chosen]
    weight = 1 / (own.doubt_ns[chosen] ** 2 + BEST_DATED_NS**2)
    single, worth = [], []
    for i in np.unique(which).tolist():
        here = which == i
        single.append(_weighted_median(time_ns[here], weight[here]))
        worth.append(float(weight[here].sum()))
    if len(single) < FEWEST_ITERATIONS:
        return UNKNOWN
    values, weights = np.array(single), np.array(worth)
    centre = _weighted_median(values, weights)
    spread = MAD_TO_SIGMA * _weighted_median(np.abs(values - centre), weights)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    middle = _weighted_median(time_ns, weight)
    return Estimate(middle, MEDIAN_ERROR * max(spread, BEST_DATED_NS) / float(np.sqrt(max(effective, 1.0))))


def _weighted_median(values: Float, weights: Float) -> float:
    order = np.argsort(values, kind="stable")
    running = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(running, running[-1] / 2)])


def _typical(values: Float) -> Estimate:
    """Median of independent values with its standard error."""
    if len(values) < FEWEST_ITERATIONS:
        return UNKNOWN
    centre = float(np.median(values))
    spread = MAD_TO_SIGMA * float(np.median(np.abs(values - centre)))
    return Estimate(centre, MEDIAN_ERROR * spread / float(np.sqrt(len(values))))


def pace_ns(members: Sequence[Points], iterations: Int) -> Estimate:
    """How long a ring would need for all of an iteration's bytes at the pace of their later half.

    Its members move the same bytes at a time: in every iteration the samples of all of them lie on one line, whose
    robust slope (Theil and Sen) is the pace; median over iterations.
    """
    slopes = []
    for i in iterations.tolist():
        phase = np.concatenate([m.phase[m.iteration == i] for m in members])
        after = np.concatenate([m.after_ns[m.iteration == i] for m in members])
        late = phase > LATER_HALF
        steep = _slope(phase[late], after[late])
        if steep is not None:
            slopes.append(steep)
    return _typical(np.array(slopes))


def _slope(x: Float, y: Float) -> float | None:
    if len(x) < FEWEST_POINTS:
        return None
    some = np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(np.int64)
    some = np.argsort(x, kind="stable")[some]
    x, y = x[some], y[some]
    steep = slope(x, y, 0.2 * (1 - LATER_HALF))
    return None if np.isnan(steep) else steep
