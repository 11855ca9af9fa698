"""All routes of the API, version 1."""

from __future__ import annotations

from fastapi import APIRouter

from flowprism.service.api import (
    downloads,
    event_stream,
    events,
    feeds,
    incidents,
    inventory,
    inventory_upload,
    jobs,
    paths,
    scans,
    timelines,
)
from flowprism.service.feed_plans import feed_plan_routes


def router() -> APIRouter:
    """What is answered under `/api/v1`."""
    whole = APIRouter(prefix="/api/v1")
    # A job's name may hold slashes, so whatever hangs below one comes before the job itself.
    for part in (
        timelines,
        downloads,
        paths,
        jobs,
        incidents,
        events,
        scans,
        feed_plan_routes,
        feeds,
        inventory,
        inventory_upload,
        event_stream,
    ):
        whole.include_router(part.router)
    return whole
