"""All routes of the API, version 1."""

from __future__ import annotations

from fastapi import APIRouter

from flowprism.service.api import incidents, jobs


def router() -> APIRouter:
    """What is answered under `/api/v1`."""
    whole = APIRouter(prefix="/api/v1")
    for part in (jobs.router, incidents.router):
        whole.include_router(part)
    return whole
