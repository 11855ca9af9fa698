"""Iterations counted on over windows: the one that two windows show has one number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event
from datamodel.reports.report import Iteration, JobReport
from storage.lake.selection import Selection, select

# How far back a job's last iterations are looked for; one that paused longer is counted from 0 again.
MEMORY_NS = 86_400_000_000_000


def known_iterations(lake: str, jobs: frozenset[str], window_start_ns: int) -> dict[str, Frame]:
    """Job -> its iterations that were kept and are not long over, by end (`datamodel.service.scan_history.ITERATIONS`).

    Raises:
        InputError: the lake cannot be read.
    """
    if not jobs:
        return {}
    found = select(lake, "iterations", Selection(start_ns=window_start_ns - MEMORY_NS, jobs=jobs))
    code = {text: n for n, text in enumerate(found.book)}
    rows = found.frame.sort("end_ns")
    return {job: rows.take(rows["job"] == code[job]) for job in sorted(jobs) if job in code}


def continue_numbering(analysis: Analysis, known: Mapping[str, Frame]) -> Analysis:
    """An analysis whose iterations go on counting where those that are known end.

    The first iteration of a window may have begun before it; where it is known, it begins as it did.
    """
    report, spans = analysis.report, analysis.timelines.spans
    first = {job.id: first_number(job.iterations, known[job.id]) for job in report.jobs if job.id in known}
    jobs = tuple(_whole(_moved(job, first.get(job.id, 0)), known.get(job.id)) for job in report.jobs)
    by = np.array([first.get(job, 0) for job in analysis.timelines.jobs] or [0], np.int64)
    number = spans["iteration"].astype(np.int64)
    spans = spans.replace(iteration=np.where(number >= 0, number + by[spans["job"]], number))
    timelines = replace(analysis.timelines, spans=spans)
    events = tuple(_event_moved(event, first.get(event.job, 0)) for event in report.events)
    return replace(analysis, report=report.model_copy(update={"jobs": jobs, "events": events}), timelines=timelines)


def _event_moved(event: Event, by: int) -> Event:
    if event.change is None or event.change.iteration is None:
        return event
    change = event.change.model_copy(update={"iteration": event.change.iteration + by})
    return event.model_copy(update={"change": change})


def first_number(iterations: tuple[Iteration, ...], known: Frame) -> int:
    """What number the first of some iterations has.

    The newest known one that ends with one of them, to half a typical iteration, says it. Where none does, they
    follow the last known one.
    """
    if not iterations or not len(known):
        return 0
    ends: Int = np.array([one.end_ns for one in iterations], np.int64)
    tolerance = float(np.median(np.diff(ends))) / 2 if len(ends) > 1 else (ends[0] - iterations[0].start_ns) / 2
    end_ns, number = known["end_ns"].astype(np.int64), known["index"].astype(np.int64)
    for row in range(len(end_ns) - 1, -1, -1):
        nearest = int(np.argmin(np.abs(ends - end_ns[row])))
        if abs(int(ends[nearest]) - int(end_ns[row])) <= tolerance:
            return max(int(number[row]) - nearest, 0)
        if end_ns[row] < ends[0] - tolerance:
            break
    before = int(np.count_nonzero(ends <= end_ns[-1]))
    return max(int(number.max()) + 1 - before, 0)


def starts_known(job: JobReport, known: Frame) -> bool:
    """Whether it is known when the first iteration of a job that goes on counting began."""
    return bool(job.iterations) and bool((known["index"] == job.iterations[0].index).any())


def _whole(job: JobReport, known: Frame | None) -> JobReport:
    """A job whose first iteration begins where it did, if that is known."""
    if known is None or not job.iterations:
        return job
    head = job.iterations[0]
    begun_ns = known["start_ns"][known["index"] == head.index]
    if not len(begun_ns) or begun_ns[0] >= head.start_ns:
        return job
    head = head.model_copy(update={"start_ns": int(begun_ns[0])})
    return job.model_copy(update={"iterations": (head, *job.iterations[1:])})


def _moved(job: JobReport, by: int) -> JobReport:
    if not by:
        return job
    iterations = tuple(one.model_copy(update={"index": one.index + by}) for one in job.iterations)
    return job.model_copy(update={"iterations": iterations})
