"""`/jobs/{id}/timeline`: what each endpoint did in some iterations, drawn by the browser and listed in tables."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from pydantic import BaseModel, Field

from datamodel.errors import LimitExceededError
from flowprism.dashboard.clock import clock_of
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.dashboard.timeline import timeline_tables
from flowprism.dashboard.timeline.mean_iteration import mean_iteration
from flowprism.dashboard.timeline.pack import packed
from flowprism.dashboard.timeline.picker import draw_picker
from flowprism.dashboard.timeline.span_handoff import Handing
from flowprism.dashboard.timeline.timeline_query import MEDIAN, Asked, Choice, Shown, choose, read
from flowprism.dashboard.timeline.without_spans import without_spans
from flowprism.service.access.dependencies import Seeing
from flowprism.service.viewer import Viewer

ORDERS = (("stage", "by stage"), ("lateness", "latest first"))
HEIGHTS = (("fit", "fitting"), ("small", "low"), ("large", "high"))
_LARGEST = 2**53


class WhichIterations(BaseModel):
    """What the address says of iterations; whatever it says of the picture besides is for the browser."""

    first: int | None = Field(default=None, ge=0, le=_LARGEST)
    last: int | None = Field(default=None, ge=0, le=_LARGEST)
    at_ns: int | None = Field(default=None, ge=0, le=2**63 - 1)
    vs: str = Field(default="", max_length=20)

    def asked(self) -> Asked:
        """The same for the reader."""
        return Asked(self.first, self.last, self.at_ns, self.vs.strip())


Which = Annotated[WhichIterations, Query()]


def router() -> APIRouter:
    """The page, and the spans it draws."""
    pages = _Pages()
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/jobs/{name:path}/timeline", pages.page, methods=["GET"], response_class=HTMLResponse)
    routes.add_api_route("/jobs/{name:path}/timeline.spans", pages.spans, methods=["GET"])
    return routes


class _Pages:
    """Both answers. What the first has read is what the second sends, so it is read once."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._handing: Handing[Shown] = Handing()

    def page(self, request: Request, viewer: Seeing, name: str, which: Which) -> HTMLResponse:
        """The page: the picture's frame, and all its numbers in tables."""
        now_ns = time.time_ns()
        choice = _choice(request, viewer, now_ns, name, which)
        shown = _read(request, viewer, now_ns, choice)
        address = _spans_address(request, choice)
        zone = clock_of(request, now_ns).zone
        self._handing.leave((viewer, address), shown)
        return render_page(
            request,
            viewer,
            "timeline.html",
            now_ns=now_ns,
            job=choice.job,
            choice=choice,
            shown=shown,
            without=without_spans(get_stores(request), choice, zone) if shown.part is None else None,
            mean=mean_iteration(get_stores(request), viewer, shown),
            vs=which.vs,
            wanted=which.first is not None or which.at_ns is not None,
            spans_address=address,
            picker=Markup(draw_picker(choice, request.url.path)),  # noqa: S704 - it escapes what it is given
            path=timeline_tables.path(shown),
            waits=timeline_tables.wait_rows(shown),
            rows=timeline_tables.rows(shown),
            orders=ORDERS,
            heights=HEIGHTS,
            picked=_picked(request),
            median=MEDIAN,
        )

    def spans(self, request: Request, viewer: Seeing, name: str, which: Which) -> Response:
        """What the canvas draws (`flowprism.dashboard.timeline.pack`)."""
        shown = self._handing.take((viewer, f"{request.url.path}?{request.url.query}"))
        if shown is None:
            now_ns = time.time_ns()
            shown = _read(request, viewer, now_ns, _choice(request, viewer, now_ns, name, which))
        if shown.part is None:
            raise HTTPException(404, "no spans were kept of these iterations")
        content = packed(timeline_tables.lanes(shown), shown.part, shown.other)
        return Response(content, media_type="application/octet-stream")


def _read(request: Request, viewer: Viewer, now_ns: int, choice: Choice) -> Shown:
    try:
        return read(get_stores(request), viewer, now_ns, choice)
    except LimitExceededError as error:
        raise HTTPException(422, str(error)) from error


def _choice(request: Request, viewer: Viewer, now_ns: int, name: str, which: WhichIterations) -> Choice:
    choice = choose(get_stores(request), viewer, now_ns, name, which.asked())
    if choice is None:
        raise HTTPException(404, f"there is no job {name}")
    return choice


def _spans_address(request: Request, choice: Choice) -> str:
    """Return the address of the spans of the choice, by its iteration indices, so that figure and tables agree."""
    if not choice.shown:
        return ""
    address = f"{request.url.path}.spans?first={choice.shown[0].first}&last={choice.shown[-1].last}"
    return address if choice.other is None else f"{address}&vs={choice.other.first}"


def _picked(request: Request) -> dict[str, str]:
    """What the address says of the picture, one of the choices there are."""
    asked = request.query_params
    orders, heights = ([value for value, _ in choices] for choices in (ORDERS, HEIGHTS))
    return {
        "sort": asked["sort"] if asked.get("sort") in orders else orders[0],
        "rows": asked["rows"] if asked.get("rows") in heights else heights[0],
        "path": "1" if asked.get("path") == "1" else "",
    }
