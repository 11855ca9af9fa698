"""A job's iteration times in a time range: the figure with incidents and events, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from datamodel.reports.findings import Event, Finding
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, JobReport
from datamodel.service.api_models import JobDetail, Trend
from datamodel.service.filters import EventFilter, IncidentFilter
from datamodel.service.incidents import Incident
from flowprism.dashboard.time_range import TimeRange
from flowprism.rendering.figures.iterations import LEFT, RIGHT, WIDTH, IterationRow, draw_iterations, iteration_rows
from flowprism.rendering.figures.trend import draw_trend
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.events import events
from flowprism.service.queries.jobs.job_queries import iteration_frame, iterations_of, trend
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

MOST_ITERATIONS = 20_000  # shown one by one; longer ranges show means of minutes or hours
MOST_MEANS = 1500  # a day of minutes; longer ranges show hours
_MOST_HAPPENINGS = 200


@dataclass(frozen=True, slots=True)
class MeanRow:
    """One row of the table of a long range: the mean of a minute or an hour."""

    start_ns: int
    mean_s: float
    hit: bool


@dataclass(frozen=True, slots=True)
class JobPace:
    """A job's iteration times as figure and tables.

    Attributes:
        span: the time range shown; starts with the first iteration if that is later than requested.
        figure: its SVG; None where no iteration is known.
        iterations: number of iterations where they are shown one by one, else 0.
        rows: of the table, each one iteration or several; empty for a long range.
        means: rows of the table of a long range.
        findings: incidents of this time, as the figure marks them.
        happened: events of this time, in their order.
        begins_px, ends_px: where the axis of time begins and ends, as parts of the figure's width.
    """

    span: TimeRange
    figure: str | None
    iterations: int
    rows: Sequence[IterationRow]
    means: Sequence[MeanRow]
    findings: Sequence[Finding]
    happened: Sequence[Event]
    begins_px: float = LEFT / WIDTH
    ends_px: float = RIGHT / WIDTH


def job_pace(stores: Stores, viewer: Viewer, now_ns: int, detail: JobDetail, span: TimeRange, zone: tzinfo) -> JobPace:
    """Collect the iteration times of a job that the viewer may see.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    found = incidents(stores, viewer, now_ns, _of_job(detail.id, span), most=_MOST_HAPPENINGS)
    findings = [one for row in reversed(found) for one in as_findings(row.incident, span)]
    asked = EventFilter(job=detail.id, start_ns=span.start_ns, end_ns=span.end_ns)
    happened = events(stores, viewer, asked, most=_MOST_HAPPENINGS)[::-1]
    short = (span.end_ns - span.start_ns) / 1e9 <= MOST_ITERATIONS * (detail.period_s or 1.0)
    job = job_of(stores, detail, span) if short else None
    if job is not None and job.iterations:
        begun = replace(span, start_ns=max(span.start_ns, job.iterations[0].start_ns))
        within = [one for one in happened if one.start_ns >= begun.start_ns]
        figure = draw_iterations(job, findings, within, zone)
        shown = replace(begun, end_ns=job.iterations[-1].end_ns)
        return JobPace(shown, figure, len(job.iterations), iteration_rows(job, findings), (), findings, happened)
    means = trend(stores, viewer, detail.id, span.start_ns, span.end_ns, MOST_MEANS)
    means = None if means is None else _begun(means)
    if means is None:
        return JobPace(span, None, 0, (), (), findings, happened)
    figure = draw_trend(means, findings, happened, detail.norm_s, zone)
    shown = replace(span, start_ns=means.start_ns, end_ns=means.start_ns + len(means.mean_s) * means.step_ns)
    return JobPace(shown, figure, 0, (), _means(means), findings, happened)


def job_of(stores: Stores, detail: JobDetail, span: TimeRange) -> JobReport:
    """Return the job as in a report, with the iterations of a time range and the layout that applied at its end."""
    frame = iteration_frame(stores, detail.id, span.start_ns, span.end_ns + 1)
    steps = iterations_of(frame)
    known = next((one for one in detail.layouts if one.since_ns <= span.end_ns), None)
    known = known or next(
        reversed(detail.layouts), None
    )  # the first layout that a scan inferred also applied before that scan
    return JobReport(
        id=detail.id,
        label=detail.label,
        tenant=detail.tenant,
        endpoints=detail.addresses,
        hosts=detail.host_names,
        world_size=detail.world_size,
        layout=Layout() if known is None else known.layout,
        groups=Groups() if known is None else known.groups,
        iterations=steps,
        period_s=detail.period_s,
        detectability=Detectability(
            timeline_error_ratio=None, smallest_slowdown_ratio=detail.smallest_slowdown_ratio, reasons=detail.reasons
        ),
    )


def as_findings(one: Incident, span: TimeRange) -> list[Finding]:
    """The times of a range in which an incident was so, as findings: it may have come and gone."""
    found = one.stretches(span.end_ns)
    return [f for f in found if f.start_ns < span.end_ns and (f.end_ns is None or f.end_ns > span.start_ns)]


def _of_job(name: str, span: TimeRange) -> IncidentFilter:
    return IncidentFilter(states=("open", "resolved"), job=name, since_ns=span.start_ns, until_ns=span.end_ns)


def _begun(means: Trend) -> Trend | None:
    """Drop the leading steps without a mean; None where no step has one."""
    first = next((n for n, mean in enumerate(means.mean_s) if mean is not None), None)
    if first is None:
        return None
    changes = {"start_ns": means.start_ns + first * means.step_ns, "mean_s": means.mean_s[first:]}
    return means.model_copy(update={**changes, "severity": means.severity[first:]})


def _means(means: Trend) -> list[MeanRow]:
    worst = means.severity or (None,) * len(means.mean_s)
    return [
        MeanRow(means.start_ns + n * means.step_ns, mean, worst[n] is not None)
        for n, mean in enumerate(means.mean_s)
        if mean is not None
    ]
