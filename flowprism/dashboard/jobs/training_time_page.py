"""`/training-time`: what the GPU-hours of all jobs went to, by day, cause, job and host."""

from __future__ import annotations

import time
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from datamodel.reports.fleet_time import GpuHours
from datamodel.reports.training_time import TIME_USES
from diagnose.training_time.fleet import lost
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.query_parameters import Parameters
from flowprism.service.queries.jobs.fleet_time import fleet_training_time

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Length = Literal["1d", "7d", "30d"]
DAYS: dict[Length, int] = {"1d": 1, "7d": 7, "30d": 30}
MOST_JOBS, MOST_HOSTS = 50, 20


class TrainingTimeQuery(Parameters):
    """How long a time."""

    last: Length = "7d"


@router.get("/training-time", response_model=None)
def page(request: Request, viewer: Seeing, wanted: Annotated[TrainingTimeQuery, Query()]) -> Response:
    """The page."""
    found = fleet_training_time(get_stores(request), viewer, time.time_ns(), DAYS[wanted.last])
    return render_page(
        request,
        viewer,
        "training_time.html",
        found=found,
        jobs=found.jobs[:MOST_JOBS],
        hosts=found.hosts[:MOST_HOSTS],
        wanted=wanted.last,
        days=DAYS[wanted.last],
        lengths=tuple(DAYS),
        uses=TIME_USES,
        parts_of=parts_of,
        lost=lost,
    )


def parts_of(spent: GpuHours, width: int) -> list[tuple[str, float, float]]:
    """Use, begin and length of each part of a bar so wide, in order; those of no length are left out."""
    if not spent.total:
        return []
    begin, found = 0.0, list[tuple[str, float, float]]()
    for use in TIME_USES:
        length = width * getattr(spent, use) / spent.total
        if length > 0:
            found.append((use, round(begin, 1), round(length, 1)))
        begin += length
    return found
