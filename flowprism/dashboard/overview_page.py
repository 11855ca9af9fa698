"""The overview: is anything wrong, with which job, since when, because of what; then every job at a glance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from datamodel.reports.findings import Severity
from datamodel.service.api_models import IncidentRow, JobRow
from datamodel.service.filters import IncidentFilter, JobFilter
from datamodel.service.job_state import JobState
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.rendering.figures.job_sparkline import draw_spark
from flowprism.rendering.units import plural
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.query_parameters import Parameters, Text
from flowprism.service.queries.feeds.traffic import traffic
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.job_counts import Census, census
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_ROWS, _TILES = 50, 480
_MOST_CASES = 200
_IN_WORDS: dict[JobState, str] = {
    "hanging": "hanging", "slow": "slow", "suspected": "under suspicion", "stale": "stale: nothing recent is known",
    "unknown": "unknown: this telemetry cannot show a slowdown", "healthy": "healthy",
}  # fmt: skip
_TONES: dict[JobState, str] = {
    "hanging": "critical", "slow": "warning", "suspected": "info", "stale": "none", "unknown": "none",
    "healthy": "good", "ended": "none",
}  # fmt: skip
_SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
Shown = Literal["all", "incident", "suspected", "healthy", "unknown"]
SHOWN: dict[Shown, tuple[JobState, ...]] = {
    "all": (), "incident": ("slow", "hanging"), "suspected": ("suspected",), "healthy": ("healthy",),
    "unknown": ("unknown", "stale"),
}  # fmt: skip


class OverviewQuery(Parameters):
    """Which jobs, and how they are shown; stands in the address, so that a view can be shared."""

    q: Text = ""
    tenant: Text = ""
    show: Shown = "all"
    ended: bool = False
    view: Literal["rows", "tiles"] = "rows"
    after: Text = ""

    def but(self, **changes: object) -> str:
        """The address of another view that differs in this; on its first page unless it says which."""
        asked = {**self.model_dump(), "after": "", **changes}
        usual = OverviewQuery().model_dump()
        query = urlencode({name: _text(value) for name, value in asked.items() if value != usual[name]})
        return f"/?{query}" if query else "/"


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job with its mark, its state in words, what else is to be said of that, and its small figure."""

    job: JobRow
    tone: str
    words: str
    about: str
    spark: str


@router.get("/", response_model=None)
def overview(request: Request, viewer: Seeing, wanted: Annotated[OverviewQuery, Query()]) -> Response:
    """The page."""
    stores, now_ns = get_stores(request), time.time_ns()
    most = _TILES if wanted.view == "tiles" else _ROWS
    asked = JobFilter(
        text=wanted.q.strip(), tenant=wanted.tenant or None, states=SHOWN[wanted.show], order="worst",
    )  # fmt: skip
    found = jobs(stores, viewer, now_ns, asked, wanted.after, most + 1, with_ended=wanted.ended)
    counted = census(stores, viewer, now_ns)
    return render_page(
        request,
        viewer,
        "overview.html",
        now_ns=now_ns,
        wanted=wanted,
        counted=counted,
        worst=worst_incident(stores, viewer, now_ns) if counted.incidents else None,
        lines=[_line(one, with_spark=wanted.view == "rows") for one in found[:most]],
        following=found[most - 1].id if len(found) > most else None,
        names=names(stores),
        headline=headline(counted),
        traffic=traffic(stores) if viewer.tenant is None else None,
    )


def worst_incident(stores: Stores, viewer: Viewer, now_ns: int) -> IncidentRow | None:
    """Return the most urgent open incident: worst severity, then unmuted, unacknowledged, largest slowdown."""
    for severity in _SEVERITIES:
        found = incidents(stores, viewer, now_ns, IncidentFilter(severities=(severity,)), most=_MOST_CASES)
        if found:
            return min(found, key=_urgency)
    return None


def _urgency(row: IncidentRow) -> tuple[bool, bool, float, int, str]:
    one = row.incident
    return row.muted, row.acknowledged_by is not None, -one.slowdown_ratio, one.start_ns, one.id


def headline(counted: Census) -> str:
    """Summarize the states of all jobs in one line."""
    if not counted.jobs:
        return "No training job detected"
    present = [(state, counted.of(state)) for state in _IN_WORDS if counted.of(state)]
    if len(present) > 1:
        return ", ".join(f"{plural(many, 'job') if not n else f'{many:,}'} {_IN_WORDS[state]}"
                         for n, (state, many) in enumerate(present))  # fmt: skip
    ((state, many),) = present
    return f"The job is {_IN_WORDS[state]}" if many == 1 else f"All {many:,} jobs are {_IN_WORDS[state]}"


def tone(job: JobRow) -> str:
    """The mark of a job's state; where an incident is open its severity shows, and only `healthy` is good."""
    if job.severity is not None and job.state != "ended":
        return job.severity
    return _TONES[job.state]


def _line(job: JobRow, *, with_spark: bool) -> JobLine:
    about = "" if job.state == "healthy" else f"{job.state}: {job.state_reason}" if job.state_reason else job.state
    return JobLine(job, tone(job), job.state, about, draw_spark(job.trend, job.norm_s) if with_spark else "")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
