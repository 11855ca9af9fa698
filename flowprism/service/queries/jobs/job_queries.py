"""Jobs: many at a glance, one with its layouts, its iterations and its pace over a long time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from datamodel.durations import HOUR_NS, MINUTE_NS
from datamodel.frame import Frame
from datamodel.reports.layout import Layout
from datamodel.reports.report import Iteration
from datamodel.service.api_models import IterationPoint, IterationSeries, JobDetail, JobRow, LayoutSince, Trend
from datamodel.service.filters import JobFilter
from datamodel.service.job_state import Judgement
from flowprism.service.queries.jobs import iteration_pace
from flowprism.service.queries.jobs.fleet_time import lost_since_midnight
from flowprism.service.queries.jobs.job_states import JudgedJob, job_states, situation, states_of
from flowprism.service.queries.jobs.post_training import post_training
from flowprism.service.queries.lake import kept
from flowprism.service.queries.reference_time import newest_ns
from flowprism.service.queries.visibility import can_see, restrict_tenant
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.jobs import overview
from storage.database.jobs.overview import JobSummary, glance, glances, newest_layouts, stretches, worst_incidents
from storage.database.scans.scan_records import layouts
from storage.lake.selection import Selection

_EVERY_JOB = JobFilter()


def jobs(
    stores: Stores,
    viewer: Viewer,
    now_ns: int,
    wanted: JobFilter = _EVERY_JOB,
    after: str = "",
    most: int = 200,
    *,
    with_ended: bool = True,
) -> list[JobRow]:
    """Jobs that the viewer sees, in the order wanted.

    Args:
        stores: where answers are read from.
        viewer: the caller.
        now_ns: the clock, UTC.
        wanted: which jobs.
        after: the last id of the page before; "" for the first page.
        most: how many.
        with_ended: whether jobs that have ended are wanted.

    Raises:
        StorageError: the database cannot be reached.
    """
    any_seen, tenant = restrict_tenant(viewer, wanted.tenant)
    if not any_seen:
        return []
    with stores.database.reading():
        end_ns = newest_ns(stores.database, now_ns)
        asked = replace(wanted, tenant=tenant)
        judged = job_states(stores, situation(stores, now_ns), asked, with_ended=with_ended)
        states = {one.mark.id: one.judgement for one in _page(judged, after, most)}
        found = glances(stores.database, list(states))
        names = [one.job.id for one in found]
        arranged, recent = newest_layouts(stores.database, names), iteration_pace.recent(stores.database, names, end_ns)
        worst = worst_incidents(stores.database, names)
    going = {name: iteration_pace.pace(recent[name], end_ns, worst.get(name)) for name in names}
    lost = lost_since_midnight(stores, viewer, now_ns)
    return [JobRow(**_row(one, arranged.get(one.job.id), going[one.job.id], states[one.job.id], lost)) for one in found]


def _page(judged: list[JudgedJob], after: str, most: int) -> list[JudgedJob]:
    """Those that follow one job, or the first ones; where that one is in the list no more, none."""
    if not after:
        return judged[:most]
    at = next((n for n, one in enumerate(judged) if one.mark.id == after), len(judged))
    return judged[at + 1 : at + 1 + most]


def job(stores: Stores, viewer: Viewer, now_ns: int, name: str) -> JobDetail | None:
    """The job of this id, as it was when it was seen last; None where there is none that the viewer sees."""
    with stores.database.reading():
        return _detail(stores, viewer, now_ns, name)


def _detail(stores: Stores, viewer: Viewer, now_ns: int, name: str) -> JobDetail | None:
    found = summary(stores, viewer, name)
    if found is None:
        return None
    known = layouts(stores.database, name)
    end_ns = min(newest_ns(stores.database, now_ns), found.job.last_seen_ns)
    worst = worst_incidents(stores.database, [name]).get(name)
    going = iteration_pace.pace(iteration_pace.recent(stores.database, [name], end_ns)[name], end_ns, worst)
    judged = states_of(stores, situation(stores, now_ns), [name])[name]
    return JobDetail(
        **_row(found, known[0].layout if known else None, going, judged, lost_since_midnight(stores, viewer, now_ns)),
        addresses=found.job.endpoints,
        host_names=found.job.hosts,
        period_s=found.job.period_s,
        smallest_slowdown_ratio=found.job.smallest_slowdown_ratio,
        reasons=found.job.reasons,
        post_training=post_training(stores, name, found.job.last_seen_ns),
        layouts=tuple(LayoutSince(since_ns=one.since_ns, layout=one.layout, groups=one.groups) for one in known),
    )


def labels(stores: Stores, names: Collection[str]) -> dict[str, str]:
    """Label of each of these jobs, which the viewer is known to see; those without one are left out."""
    return overview.labels(stores.database, sorted(names))


def trend(stores: Stores, viewer: Viewer, name: str, start_ns: int, end_ns: int, most: int = 500) -> Trend | None:
    """A job's iteration times in [start_ns, end_ns) in at most `most` equal steps, of minutes or of hours.

    None where there is no such job that the viewer sees.
    """
    if summary(stores, viewer, name) is None:
        return None
    length_ns = MINUTE_NS if end_ns - start_ns <= most * MINUTE_NS else HOUR_NS
    begin_ns = start_ns // length_ns * length_ns
    step_ns = length_ns * max(-(-(end_ns - begin_ns) // (length_ns * most)), 1)
    rows = stretches(stores.database, [name], length_ns, begin_ns, end_ns)[name]
    return iteration_pace.series(rows, begin_ns, end_ns, step_ns)


def iterations(
    stores: Stores, viewer: Viewer, name: str, start_ns: int, end_ns: int, most: int = 2000
) -> IterationSeries | None:
    """A job's iterations that ended in [start_ns, end_ns); the slowest of those put together is kept.

    None where there is no such job that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if summary(stores, viewer, name) is None:
        return None
    frame = iteration_frame(stores, name, start_ns, end_ns)
    return IterationSeries(
        job=name, start_ns=start_ns, end_ns=end_ns, iterations=len(frame), points=_points(frame, max(most, 1))
    )


def iteration_frame(stores: Stores, name: str, start_ns: int, end_ns: int) -> Frame:
    """A job's iterations (`datamodel.service.scan_history.ITERATIONS`) that ended in [start_ns, end_ns), by time."""
    selection = Selection(start_ns=start_ns, end_ns=end_ns, jobs=frozenset({name}))
    frame, _ = kept(stores, "iterations", selection)
    return frame.take((frame["end_ns"] >= start_ns) & (frame["end_ns"] < end_ns)).sort("end_ns", "index")


def iterations_of(frame: Frame) -> tuple[Iteration, ...]:
    """List stored iterations in the form of reports."""
    columns = (frame[name].tolist() for name in ("index", "start_ns", "end_ns", "duration_error_ns"))
    return tuple(
        Iteration(index=n, start_ns=start, end_ns=end, duration_error_ns=None if error < 0 else error)
        for n, start, end, error in zip(*columns, strict=True)
    )


def summary(stores: Stores, viewer: Viewer, name: str) -> JobSummary | None:
    """A job at a glance; None where there is no such job that the viewer sees."""
    found = glance(stores.database, name)
    return found if found is not None and can_see(viewer, found.job.tenant) else None


def members(stores: Stores, viewer: Viewer, name: str) -> tuple[str, ...] | None:
    """Addresses of a job's endpoints; None where there is no such job that the viewer sees."""
    found = summary(stores, viewer, name)
    return None if found is None else found.job.endpoints


def visible(stores: Stores, viewer: Viewer, name: str) -> bool:
    """Whether there is a job of this id that the viewer sees."""
    return summary(stores, viewer, name) is not None


def _row(
    found: JobSummary,
    arranged: Layout | None,
    going: iteration_pace.IterationPace,
    judged: Judgement,
    lost: Mapping[str, float | None] | None,
) -> dict[str, Any]:
    """The fields of a `JobRow`."""
    known = found.job
    return {
        "id": known.id,
        "label": known.label,
        "tenant": known.tenant,
        "world_size": known.world_size,
        "endpoints": len(known.endpoints),
        "hosts": len(known.hosts),
        "layout": arranged,
        "first_seen_ns": known.first_seen_ns,
        "last_seen_ns": known.last_seen_ns,
        "state": judged.state,
        "state_reason": judged.reason,
        "state_as_of_ns": judged.as_of_ns,
        "severity": found.severity,
        "incidents": found.incidents,
        "iteration_s": going.iteration_s,
        "iteration_span_ns": going.iteration_span_ns,
        "norm_s": going.norm_s,
        "slowdown_ratio": going.slowdown_ratio,
        "slowdown_span_ns": going.slowdown_span_ns,
        "gpu_hours_lost": None if known.world_size is None or lost is None else lost.get(known.id, 0.0),
        "trend": going.trend,
    }


def _points(frame: Frame, most: int) -> tuple[IterationPoint, ...]:
    """Iterations one by one or, where there are more than `most`, equally many in each point."""
    count = len(frame)
    if not count:
        return ()
    begins = np.arange(0, count, -(-count // most))
    lengths_s = (frame["end_ns"] - frame["start_ns"]) / 1e9
    longest = np.array([begin + int(part.argmax()) for begin, part in _parts(lengths_s, begins)])
    ends = np.append(begins[1:], count)
    sums, least = np.add.reduceat(lengths_s, begins), np.minimum.reduceat(lengths_s, begins)
    return tuple(
        IterationPoint(
            first=int(frame["index"][begins[n]]),
            last=int(frame["index"][ends[n] - 1]),
            start_ns=int(frame["start_ns"][begins[n]]),
            end_ns=int(frame["end_ns"][ends[n] - 1]),
            shortest_s=float(least[n]),
            mean_s=float(sums[n] / (ends[n] - begins[n])),
            longest_s=float(lengths_s[longest[n]]),
            longest=int(frame["index"][longest[n]]),
        )
        for n in range(len(begins))
    )


def _parts(values: npt.NDArray[np.float64], begins: npt.NDArray[np.int64]) -> list[tuple[int, npt.NDArray[np.float64]]]:
    return list(zip(begins.tolist(), np.split(values, begins[1:]), strict=True))
