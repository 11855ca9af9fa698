"""What the network did while profiles were recorded, cut out of timelines and a report."""

from __future__ import annotations

import numpy as np

from datamodel.frame import empty
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Finding
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Provenance, Report, Window
from flowprism import __version__

NO_TIMELINES = Timelines(empty(SPANS), (), (), ())


def recorded_fabric(timelines: Timelines, report: Report | None, window: Window) -> Analysis:
    """Spans, iterations, findings and events that overlap a window, of jobs that have spans in it.

    Args:
        timelines: of a longer time.
        report: of the same; None: jobs are known by their spans alone.
        window: when profiles were recorded, on the flows' clock.
    """
    spans = timelines.spans
    spans = spans.take((spans["start_ns"] < window.end_ns) & (spans["end_ns"] > window.start_ns))
    seen = [timelines.jobs[code] for code in np.unique(spans["job"]).tolist()]
    cut = Timelines(spans, timelines.addresses, timelines.jobs, timelines.groups)
    known = {job.id: job for job in report.jobs} if report is not None else {}
    jobs = (_during(known[name], window) if name in known else _seen(cut, name) for name in seen)
    base = report or Report(
        provenance=Provenance(version=__version__), window=window, feed=FeedSummary(records=0, bytes=0)
    )
    changes = {
        "window": window,
        "jobs": tuple(jobs),
        "findings": tuple(_clipped(one, window) for one in base.findings if _overlaps(one, window)),
        "events": tuple(_clipped(one, window) for one in base.events if _overlaps(one, window)),
    }
    return Analysis(base.model_copy(update=changes), cut, {})


def _during(job: JobReport, window: Window) -> JobReport:
    some = (i for i in job.iterations if i.start_ns < window.end_ns and i.end_ns > window.start_ns)
    return job.model_copy(update={"iterations": tuple(some)})


def _seen(timelines: Timelines, name: str) -> JobReport:
    """A job that only its spans show."""
    spans = timelines.spans
    codes = np.unique(spans["endpoint"][spans["job"] == timelines.jobs.index(name)])
    unknown = Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None)
    endpoints = tuple(timelines.addresses[code] for code in codes.tolist())
    return JobReport(id=name, endpoints=endpoints, layout=Layout(), groups=Groups(), detectability=unknown)


def _overlaps(one: Finding | Event, window: Window) -> bool:
    return one.start_ns < window.end_ns and (one.end_ns is None or one.end_ns > window.start_ns)


def _clipped(one: Finding | Event, window: Window) -> Finding | Event:
    """What was on for hours is as long as the recording."""
    end_ns = one.end_ns if one.end_ns is None else min(one.end_ns, window.end_ns)
    return one.model_copy(update={"start_ns": max(one.start_ns, window.start_ns), "end_ns": end_ns})
