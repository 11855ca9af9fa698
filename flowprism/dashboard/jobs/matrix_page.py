"""`/jobs/{id}/matrix`: volume, rate and delay of each pair of endpoints."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, Field

from flowprism.dashboard.jobs.matrix_view import MatrixSelection, matrix_view
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.rendering.figures.heatmap import Measure, draw_heat
from flowprism.service.access.dependencies import Seeing
from flowprism.service.queries.jobs.job_queries import job

MEASURES = (("volume", "volume"), ("rate", "rate"), ("delay", "delay"))


class WhichPairs(BaseModel):
    """What the address asks for."""

    measure: Measure = "volume"
    order: str = Field(default="stage", pattern="^(stage|dp|pp|tp|ep|cp)$")
    only: str = Field(default="", max_length=40)
    at_ns: int | None = Field(default=None, ge=0, le=2**63 - 1)
    incident: str = Field(default="", max_length=200)


def router() -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/jobs/{name:path}/matrix", page, methods=["GET"], response_class=HTMLResponse)
    return routes


def page(request: Request, viewer: Seeing, name: str, which: Annotated[WhichPairs, Query()]) -> HTMLResponse:
    """The page: the matrix, and the pairs that stand out in a table."""
    now_ns, stores = time.time_ns(), get_stores(request)
    found = job(stores, viewer, now_ns, name)
    if found is None:
        raise HTTPException(404, f"there is no job {name}")
    wanted = MatrixSelection(which.measure, which.order, which.only, which.at_ns, which.incident)
    view = matrix_view(stores, viewer, now_ns, found, wanted)
    figure = draw_heat(view.shown, view.suspects, view.names, view.part_of) if view.of_pairs else ""
    return render_page(
        request,
        viewer,
        "matrix.html",
        now_ns=now_ns,
        job=found,
        wanted=wanted,
        view=view,
        figure=Markup(figure),  # noqa: S704 - it escapes what it is given
        measures=MEASURES,
    )
