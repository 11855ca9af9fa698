"""`/docs`: the routes of the HTTP API, and `/openapi.json`: where its description is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import render_page
from flowprism.service.access.dependencies import Seeing

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_METHODS = ("get", "put", "post", "delete")


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One route of the API: its group, method, path and what it does."""

    tag: str
    method: str
    path: str
    summary: str


@router.get("/docs", response_model=None)
def docs(request: Request, viewer: Seeing) -> Response:
    """The page: every route with what it does; it loads nothing from elsewhere."""
    said = request.app.openapi()
    return render_page(
        request, viewer, "api.html", routes=list(_routes(said["paths"])), description=request.app.openapi_url
    )


def _routes(paths: dict[str, dict[str, dict[str, object]]]) -> Iterator[ApiRoute]:
    """Routes in the order of the description."""
    for path, operations in paths.items():
        for method in _METHODS:
            operation = operations.get(method)
            if operation is not None:
                tags = operation.get("tags")
                tag = str(tags[0]) if isinstance(tags, list) and tags else ""
                yield ApiRoute(tag, method.upper(), path, str(operation.get("summary", "")))


@router.get("/openapi.json", response_model=None)
def openapi(request: Request, _: Seeing) -> Response:
    """Where programs look for the description first."""
    return RedirectResponse(str(request.app.openapi_url), 307)
