"""`/jobs/{job}/report`, `/trace`: the HTML report and the Perfetto trace of one job in one stretch of time."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from datamodel.reports.analysis import Analysis
from flowprism.rendering.formats.html import render_html
from flowprism.rendering.formats.perfetto import write_trace
from flowprism.service.access.dependencies import Seeing
from flowprism.service.access.security_headers import SANDBOX_POLICY
from flowprism.service.api.timelines import TimelineParameters, stretch
from flowprism.service.http.query_parameters import Name, Parameters, Time
from flowprism.service.http.responses import respond_with_etag
from flowprism.service.queries.jobs.analyses import kept_analysis, names
from flowprism.service.queries.jobs.job_queries import visible
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

router = APIRouter(tags=["exports"])
PERFETTO = "application/vnd.perfetto.trace"
_BINARY = {"schema": {"type": "string", "format": "binary"}}


class ExportParameters(Parameters):
    """Which time: a stretch of it, some iterations or, where neither is said, the newest ones."""

    start_ns: Time | None = Field(default=None, description="begin, ns UTC; an hour at most")
    end_ns: Time | None = Field(default=None, description="end, ns UTC")
    first: int | None = Field(default=None, ge=0, le=1 << 62, description="the first iteration's index")
    last: int | None = Field(default=None, ge=0, le=1 << 62, description="the last one's; without it the first's")


@router.get(
    "/jobs/{job:path}/report",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    summary="A job's report as one HTML page",
)
def report(request: Request, viewer: Seeing, job: Name, asked: Annotated[ExportParameters, Query()]) -> Response:
    """The page that `flowprism analyze --format html` writes, of this job and time, from what scans kept."""
    stores: Stores = request.app.state.stores
    page = render_html(_analysis(stores, viewer, job, asked), names(stores))
    return respond_with_etag(
        request, page.encode(), "text/html; charset=utf-8", {"Content-Security-Policy": SANDBOX_POLICY}
    )


@router.get(
    "/jobs/{job:path}/trace",
    response_class=Response,
    responses={200: {"content": {PERFETTO: _BINARY}}},
    summary="A job's timeline as a Perfetto trace",
)
def trace(request: Request, viewer: Seeing, job: Name, asked: Annotated[ExportParameters, Query()]) -> Response:
    """A trace for ui.perfetto.dev: a track an endpoint, iterations, findings and events."""
    stores: Stores = request.app.state.stores
    analysis = _analysis(stores, viewer, job, asked)
    with TemporaryDirectory(prefix="flowprism-") as folder:
        path = Path(folder) / "trace"
        write_trace(analysis, names(stores), path)
        content = path.read_bytes()
    name = f"{re.sub(r'[^A-Za-z0-9._-]', '_', job)}.pftrace"
    return respond_with_etag(request, content, PERFETTO, {"Content-Disposition": f'attachment; filename="{name}"'})


def _analysis(stores: Stores, viewer: Viewer, job: str, asked: ExportParameters) -> Analysis:
    if not visible(stores, viewer, job):
        raise HTTPException(404, "there is no job of this id")
    span = stretch(stores, viewer, job, TimelineParameters(**asked.model_dump()))
    found = kept_analysis(stores, viewer, job, span)
    if found is None:
        raise HTTPException(404, "there is no job of this id")
    return found
