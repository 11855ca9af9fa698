"""`/feeds`, `/components`, `/fabric`, `/repeat-offenders`: what everything else stands on."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from datamodel.reports.report import Window
from datamodel.service.api_models import FabricView, OffenderView, TrafficView
from datamodel.service.weekly_report import WeeklyReport
from flowprism.service.access.dependencies import Seeing
from flowprism.service.api.page_documents import ComponentList, FeedList
from flowprism.service.http.query_parameters import MOST_NS, Parameters, Time
from flowprism.service.http.responses import respond, wrong
from flowprism.service.queries.fabric import fabric_queries as fabric_answers
from flowprism.service.queries.fabric import repeat_offenders as offender_answers
from flowprism.service.queries.fabric.weekly_report import weekly_report
from flowprism.service.queries.feeds import feed_queries as answers
from flowprism.service.queries.feeds import traffic as traffic_answers
from flowprism.service.queries.visibility import require_all_seen

router = APIRouter(tags=["feeds"])


class FeedParameters(Parameters):
    """Which time, UTC; without it the last hour."""

    start_ns: Time | None = Field(default=None, description="its begin, ns UTC; without one everything before the end")
    end_ns: Time | None = Field(default=None, description="its end, ns UTC; without one up to now")

    def window(self) -> Window | None:
        """The time that is asked for, if one is.

        Raises:
            RequestValidationError: the end is not behind the start.
        """
        if self.start_ns is None and self.end_ns is None:
            return None
        start_ns, end_ns = self.start_ns or 0, MOST_NS if self.end_ns is None else self.end_ns
        if end_ns <= start_ns:
            raise wrong("query", "end_ns", "it is not behind start_ns")
        return Window(start_ns=start_ns, end_ns=end_ns)


class OffenderParameters(Parameters):
    """Over which time, and how many."""

    days: int = Field(default=30, ge=1, le=365, description="up to the newest scan; stored patterns reach no further")
    limit: int = Field(default=50, ge=1, le=10_000, description="hosts at most: the most suspicious ones")


@router.get("/feeds", response_model=FeedList, summary="Exporters")
def feeds(request: Request, viewer: Seeing, asked: Annotated[FeedParameters, Query()]) -> Response:
    """List exporters: records and losses of the last hour or a time range, sampling rates, clocks.

    For users of all tenants.
    """
    require_all_seen(viewer)
    rows = answers.exporters(request.app.state.stores, time.time_ns(), asked.window())
    return respond(request, FeedList(items=tuple(rows)))


@router.get("/components", response_model=ComponentList, summary="Components of the service")
def components(request: Request, viewer: Seeing) -> Response:
    """List the service's components, each with its last heartbeat. For users of all tenants."""
    require_all_seen(viewer)
    return respond(request, ComponentList(items=tuple(answers.components(request.app.state.stores))))


@router.get("/traffic", response_model=TrafficView, summary="Traffic by class")
def traffic(request: Request, viewer: Seeing) -> Response:
    """Show what the bytes of the newest scanned window were for, by class. For users of all tenants."""
    require_all_seen(viewer)
    return respond(request, traffic_answers.traffic(request.app.state.stores) or TrafficView())


@router.get("/fabric", response_model=FabricView, summary="The fabric with loads and suspects")
def fabric(request: Request, viewer: Seeing) -> Response:
    """List switches, hosts, endpoints and links of the inventory; for users of one tenant, those its jobs touch."""
    return respond(request, fabric_answers.fabric(request.app.state.stores, viewer, time.time_ns()))


@router.get("/repeat-offenders/week", response_model=WeeklyReport, summary="The week's repeat offenders")
def week(request: Request, viewer: Seeing) -> Response:
    """Show who is late in job after job at the end of the newest week, who is new and who is gone.

    It is the document of the weekly report (`alerts.weekly_report`).
    """
    return respond(request, weekly_report(request.app.state.stores, viewer, time.time_ns()))


@router.get("/repeat-offenders", response_model=OffenderView, summary="Hosts that are late in job after job")
def repeat_offenders(request: Request, viewer: Seeing, asked: Annotated[OffenderParameters, Query()]) -> Response:
    """Rank hosts by how much longer they compute than hosts of the same role, in all jobs that the user sees.

    Evidence, not a finding: no incident opens and no alert is sent.
    """
    found = offender_answers.repeat_offenders(request.app.state.stores, viewer, time.time_ns(), asked.days)
    return respond(request, found.model_copy(update={"items": found.items[: asked.limit]}))
