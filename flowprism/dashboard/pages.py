"""All pages of the dashboard, over the same functions as the public API."""

from __future__ import annotations

from fastapi import APIRouter

from flowprism.dashboard import (
    fabric_page,
    feeds_page,
    job_page,
    matrix_page,
    overview_page,
    settings_page,
    static_files,
    timeline_page,
)


def router() -> APIRouter:
    """What browsers are shown."""
    whole = APIRouter(include_in_schema=False)
    whole.include_router(static_files.router)
    whole.include_router(overview_page.router)
    whole.include_router(job_page.router)
    whole.include_router(timeline_page.router())
    whole.include_router(matrix_page.router())
    whole.include_router(fabric_page.router())
    whole.include_router(feeds_page.router())
    whole.include_router(settings_page.router())
    return whole
