"""`/paths` and `/jobs/{job}/paths`: uplinks, collisions and plans of paths, and what became of those."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from datamodel.document import Document
from datamodel.service.api_models import PathsDetail, PathsRow
from flowprism.rendering.formats.path_plan_files import PlanFile
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.query_parameters import Name, Parameters
from flowprism.service.http.responses import respond, respond_with_etag
from flowprism.service.queries.fabric import paths as answers

router = APIRouter(tags=["paths"])
_MEDIA_TYPES = {PlanFile.JSON: "application/json", PlanFile.CSV: "text/csv; charset=utf-8"}
_PLAIN = "text/plain; charset=utf-8"


class PathsList(Document):
    """Jobs whose paths were seen, those that a plan gains most first."""

    items: tuple[PathsRow, ...]


class PathsParameters(Parameters):
    """How many jobs."""

    limit: int = Field(default=100, ge=1, le=500, description="how many at most: those seen last")


class ConnectionParameters(Parameters):
    """How many connections."""

    limit: int = Field(default=1000, ge=1, le=100_000, description="connections at most")


class PlanParameters(Parameters):
    """Which file."""

    format: PlanFile = Field(default=PlanFile.JSON, description="as of `flowprism plan paths`")


@router.get("/paths", response_model=PathsList, summary="Uplinks and plans of paths by job")
def paths(request: Request, viewer: Seeing, asked: Annotated[PathsParameters, Query()]) -> Response:
    """Uplink balance, collisions and the plan's outcome of each job whose paths scans have seen."""
    return respond(request, PathsList(items=tuple(answers.paths(request.app.state.stores, viewer, asked.limit))))


@router.get(
    "/jobs/{job:path}/paths/plan",
    response_class=Response,
    responses={200: {"content": {kind: {"schema": {"type": "string"}} for kind in (*_MEDIA_TYPES.values(), _PLAIN)}}},
    summary="The plan of a job's paths as a file",
)
def plan(request: Request, viewer: Seeing, job: Name, asked: Annotated[PlanParameters, Query()]) -> Response:
    """The plan in force, which later scans compare with what they see. Nothing is applied."""
    found = answers.plan_file(request.app.state.stores, viewer, job, asked.format)
    if found is None:
        raise HTTPException(404, "there is no plan for a job of this id")
    named = re.sub(r"[^A-Za-z0-9._-]", "_", job)
    return respond_with_etag(
        request,
        found.encode(),
        _MEDIA_TYPES.get(asked.format, _PLAIN),
        {"Content-Disposition": f'attachment; filename="paths-{named}.{asked.format}"'},
    )


@router.get("/jobs/{job:path}/paths", response_model=PathsDetail, summary="A job's paths")
def job_paths(request: Request, viewer: Seeing, job: Name, asked: Annotated[ConnectionParameters, Query()]) -> Response:
    """Each long connection: the interfaces by which it leaves switches, those planned, and what became of the plan."""
    found = answers.job_paths(request.app.state.stores, viewer, job, asked.limit)
    return respond(request, found, "job of this id whose paths were seen")
