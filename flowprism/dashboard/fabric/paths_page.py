"""`/fabric/paths`: uplink balance by switch and job, long connections now and as planned, and what became of a plan."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from datamodel.reports.path_plan import PlanState, Port
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.rendering.formats.path_plan_files import PlanFile
from flowprism.service.access.dependencies import Seeing
from flowprism.service.queries.fabric.paths import job_paths, paths
from flowprism.service.queries.jobs.analyses import names

MOST_CONNECTIONS = 200
TONES: dict[PlanState, str] = {
    "kept": "good", "drifted": "critical", "not applied": "warning", "not seen": "none", "nothing to move": "good",
}  # fmt: skip


class PathsQuery(BaseModel):
    """What the address asks for: a job."""

    job: str = Field(default="", max_length=200)


def router() -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/fabric/paths", page, methods=["GET"], response_class=HTMLResponse)
    return routes


def page(request: Request, viewer: Seeing, which: Annotated[PathsQuery, Query()]) -> HTMLResponse:
    """The page: all jobs, then one of them, the one that a plan gains most where none is asked for."""
    stores = get_stores(request)
    rows = paths(stores, viewer)
    wanted = which.job or (rows[0].job if rows else "")
    return render_page(
        request,
        viewer,
        "paths.html",
        rows=rows,
        wanted=wanted,
        shown=job_paths(stores, viewer, wanted, MOST_CONNECTIONS) if wanted else None,
        names=names(stores),
        tones=TONES,
        files=tuple(PlanFile),
        doors=doors,
    )


def doors(ports: tuple[Port, ...] | None) -> str:
    """Where a connection leaves switches, as switch:interface of each."""
    return ", ".join(map(str, ports or ())) or "unknown"
