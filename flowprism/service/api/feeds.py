"""`/feeds`, `/components`, `/fabric`: what everything else stands on."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from datamodel.api_models import FabricView, TrafficView
from flowprism.service.access.dependencies import Seeing
from flowprism.service.api.page_documents import ComponentList, FeedList
from flowprism.service.http.responses import respond
from flowprism.service.queries import fabric as fabric_answers
from flowprism.service.queries import feeds as answers
from flowprism.service.queries import traffic as traffic_answers
from flowprism.service.queries.visibility import require_all_seen

router = APIRouter(tags=["feeds"])


@router.get("/feeds", response_model=FeedList, summary="Exporters")
def feeds(request: Request, viewer: Seeing) -> Response:
    """List exporters: records and losses of the last hour, sampling rates, clocks. For users of all tenants."""
    require_all_seen(viewer)
    return respond(request, FeedList(items=tuple(answers.exporters(request.app.state.stores, time.time_ns()))))


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
