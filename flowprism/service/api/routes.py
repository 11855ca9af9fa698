"""All routes of the API, version 1."""

from __future__ import annotations

from fastapi import APIRouter

from flowprism.service.api import (
    events,
    exports,
    feeds,
    importing,
    incidents,
    inventory,
    jobs,
    scans,
    stream,
    timelines,
)


def router() -> APIRouter:
    """What is answered under `/api/v1`."""
    whole = APIRouter(prefix="/api/v1")
    for part in (jobs, timelines, exports, incidents, events, scans, feeds, inventory, importing, stream):
        whole.include_router(part.router)
    return whole
