"""All routes of the API, version 1."""

from __future__ import annotations

from fastapi import FastAPI

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


def add_api_routes(app: FastAPI) -> None:
    """Add what is answered under `/api/v1`.

    One by one: routes of routers inside routers are made again for each level, which a start would wait for.
    """
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
        app.include_router(part.router, prefix="/api/v1")
