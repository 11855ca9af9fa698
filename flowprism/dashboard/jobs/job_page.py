"""A job: how long its iterations take, what is wrong with it, and how it is laid out over its endpoints."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import ConfigDict, Field

from datamodel.service.api_models import JobDetail
from datamodel.service.filters import IncidentFilter
from flowprism.dashboard.clock import clock_of
from flowprism.dashboard.jobs.job_iteration_times import job_pace
from flowprism.dashboard.jobs.job_layout import job_layout
from flowprism.dashboard.jobs.job_measures import MEASURES, By
from flowprism.dashboard.jobs.job_members import MOST_STAYS, members
from flowprism.dashboard.overview_page import tone
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.dashboard.time_range import LENGTHS_S, Last, TimeRange, asked_range
from flowprism.rendering.figures.layout_grid import LEVELS
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.query_parameters import Name, Parameters, Text
from flowprism.service.queries.incidents.incident_queries import incidents
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.job_queries import job

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_MOST_CASES = 50
MOST_LAYOUTS = 100  # read to derive the membership


class JobWanted(Parameters):
    """Which time is shown, and what colours the layout; stands in the address."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    last: Last = ""
    begin: Text = Field(default="", alias="from")
    to: Text = ""
    by: By | None = None

    @property
    def time(self) -> str:
        """The part of the address that says which time, with `&` behind it; "" for the usual one."""
        named = {"last": self.last, "from": self.begin, "to": self.to}
        return "".join(f"{urlencode({name: value})}&" for name, value in named.items() if value)


@router.get("/jobs/{name:path}", response_model=None)
def job_page(request: Request, viewer: Seeing, name: Name, wanted: Annotated[JobWanted, Query()]) -> Response:
    """The page."""
    stores, now_ns = get_stores(request), time.time_ns()
    detail = job(stores, viewer, now_ns, name)
    if detail is None:
        raise HTTPException(404, f"No job {name} is known to you.")
    span = _span(wanted, detail)
    cases = incidents(stores, viewer, now_ns, IncidentFilter(states=("open", "suspected"), job=name), most=_MOST_CASES)
    known = names(stores)
    open_now = [row.incident for row in cases]
    grid = job_layout(stores, viewer, detail, wanted.by, open_now, known)
    return render_page(
        request,
        viewer,
        "job.html",
        now_ns=now_ns,
        job=detail,
        tone=tone(detail),
        cases=sorted(cases, key=lambda row: (row.incident.state, -row.incident.slowdown_ratio)),
        pace=job_pace(stores, viewer, now_ns, detail, span, clock_of(request, now_ns).zone),
        asked=span,
        same_time=wanted.time,
        lengths=LENGTHS_S,
        grid=grid,
        members=members(detail.layouts[:MOST_LAYOUTS], known),
        most_stays=MOST_STAYS,
        by=wanted.by or (grid.by if grid else "none"),
        by_itself=wanted.by is None,
        measures=MEASURES,
        levels=LEVELS,
        names=known,
    )


def _span(wanted: JobWanted, detail: JobDetail) -> TimeRange:
    try:
        return asked_range(wanted.last, wanted.begin, wanted.to, detail.last_seen_ns)
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
