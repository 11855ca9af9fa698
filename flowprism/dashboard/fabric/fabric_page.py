"""`/fabric`: switches and cables with their load, which of them are suspected, and the ways between two endpoints."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, Field

from flowprism.dashboard.fabric.fabric_tables import MOST_NAMES, hosts, links_that_matter, suspected, ways
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.rendering.figures.fabric import draw_tiers, load_css, tiers
from flowprism.service.access.dependencies import Seeing
from flowprism.service.queries.fabric.fabric_queries import fabric
from flowprism.service.queries.fabric.repeat_offenders import repeat_offenders
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.job_queries import labels

LOAD_NAMES = ("under 10 %", "under 30 %", "under 60 %", "under 85 %", "85 % and more")


class FabricQuery(BaseModel):
    """What the address asks for: a pair, and which hosts."""

    src: str = Field(default="", max_length=200)
    dst: str = Field(default="", max_length=200)
    host: str = Field(default="", max_length=200)


def router() -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/fabric", page, methods=["GET"], response_class=HTMLResponse)
    return routes


def page(request: Request, viewer: Seeing, which: Annotated[FabricQuery, Query()]) -> HTMLResponse:
    """The page: the drawing, the cables that matter most, hosts and rails."""
    now_ns, stores = time.time_ns(), get_stores(request)
    view, known = fabric(stores, viewer, now_ns), names(stores)
    pair = ways(view, known, which.src.strip(), which.dst.strip())
    suspects, placed = suspected(view, known), tiers(view)
    late = {one.host: one for one in repeat_offenders(stores, viewer, now_ns).items}
    rows = hosts(view, which.host.strip(), suspects, {host for host, one in late.items() if one.is_offender})
    endpoints = [node.id for node in view.nodes if node.role == "endpoint"]
    return render_page(
        request,
        viewer,
        "fabric.html",
        now_ns=now_ns,
        view=view,
        names=known,
        figure=Markup(draw_tiers(placed, pair.nodes if pair else (), suspects)),  # noqa: S704 - it escapes what it is given
        placed=placed,
        endpoints=endpoints,
        offered=endpoints[:MOST_NAMES],
        pair=pair,
        links=links_that_matter(view),
        hosts=rows,
        late=late,
        labels=labels(stores, {job for row in rows.rows for job in row.jobs}),
        wanted=which,
        load_css=load_css,
        load_names=LOAD_NAMES,
    )
