"""What the timeline shows of iterations whose spans cannot be known, as from samples: their times with errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np

from flowprism.dashboard.jobs.job_iteration_times import job_of
from flowprism.dashboard.time_range import TimeRange
from flowprism.dashboard.timeline.timeline_query import Choice
from flowprism.rendering.facts import iteration_seconds
from flowprism.rendering.figures.iterations import WITHIN, draw_iterations
from flowprism.service.stores import Stores


@dataclass(frozen=True, slots=True)
class IterationTime:
    """One iteration's time, and half its 95 % interval; None where the error is not known."""

    index: int
    seconds: float
    within_s: float | None


@dataclass(frozen=True, slots=True)
class WithoutSpans:
    """Iterations around the chosen ones.

    Attributes:
        figure: their times with error bars.
        rows: the same in numbers.
        mean_s, within_s: their mean, and half its 95 % interval from their scatter; None of a single one.
    """

    figure: str
    rows: Sequence[IterationTime]
    mean_s: float
    within_s: float | None


def without_spans(stores: Stores, choice: Choice, zone: tzinfo) -> WithoutSpans | None:
    """What is known of the iterations to choose from; None where there is none.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if not choice.points:
        return None
    job = job_of(stores, choice.job, TimeRange(choice.points[0].start_ns, choice.points[-1].end_ns))
    if not job.iterations:
        return None
    seconds = iteration_seconds(job)
    rows = [
        IterationTime(one.index, value, _within(one.duration_error_ns))
        for one, value in zip(job.iterations, seconds.tolist(), strict=True)
    ]
    many = len(seconds)
    within_s = WITHIN * float(np.std(seconds, ddof=1)) / many**0.5 if many > 1 else None
    return WithoutSpans(draw_iterations(job, (), (), zone), rows, float(np.mean(seconds)), within_s)


def _within(error_ns: int | None) -> float | None:
    return None if error_ns is None else WITHIN * error_ns / 1e9
