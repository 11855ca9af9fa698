"""`/feeds`: what each exporter sends, what of it is lost or rejected, and how the components of the service go."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from flowprism.dashboard.feeds.feed_view import running, shown, summary
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.service.access.dependencies import Seeing
from flowprism.service.queries.feeds.feed_queries import components, exporters
from flowprism.service.queries.visibility import require_all_seen


def router() -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/feeds", page, methods=["GET"], response_class=HTMLResponse)
    return routes


def page(request: Request, viewer: Seeing) -> HTMLResponse:
    """Render the page; for viewers of all tenants only, because tenants share exporters."""
    require_all_seen(viewer)
    now_ns, stores = time.time_ns(), get_stores(request)
    found = shown(exporters(stores, now_ns))
    figures = {one.row.exporter: Markup(one.figure) for one in found}  # noqa: S704 - they escape what they are given
    return render_page(
        request,
        viewer,
        "feeds.html",
        now_ns=now_ns,
        exporters=found,
        figures=figures,
        summary=summary(found),
        parts_running=running(components(stores), now_ns),
    )
