"""All pages of the dashboard, over the same functions as the public API."""

from __future__ import annotations

from fastapi import APIRouter

from flowprism.dashboard import static_files


def router() -> APIRouter:
    """What browsers are shown."""
    whole = APIRouter(include_in_schema=False)
    whole.include_router(static_files.router)
    return whole
