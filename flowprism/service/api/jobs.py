"""`/jobs`: at a glance, one by one, their layouts, iterations and pace; `/training-time`: all of them together."""

from __future__ import annotations

import time
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from datamodel.document import Document
from datamodel.reports.fleet_time import FleetTime
from datamodel.reports.training_time import TrainingDays
from datamodel.service.api_models import IterationSeries, JobDetail, LayoutSince, Trend
from datamodel.service.filters import JobFilter, JobOrder
from datamodel.service.job_state import JobState
from datamodel.service.pattern_view import PatternView
from flowprism.service.access.dependencies import Seeing
from flowprism.service.api.page_documents import JobPage
from flowprism.service.http.arrow_responses import FORMAT, TABLE, Format, arrow_stream, wants_arrow
from flowprism.service.http.query_parameters import Name, PageParameters, Parameters, Span, Text
from flowprism.service.http.responses import cursor, decode_cursor, respond, wrong
from flowprism.service.queries.jobs import job_queries as answers
from flowprism.service.queries.jobs.fleet_time import USUAL_DAYS, fleet_training_time
from flowprism.service.queries.jobs.job_patterns import job_patterns
from flowprism.service.queries.jobs.training_days import MOST_DAYS, training_days
from flowprism.service.stores import Stores

router = APIRouter(tags=["jobs"])


class JobParameters(PageParameters):
    """Which jobs."""

    limit: int = Field(default=50, ge=1, le=500, description="how many on a page at most")
    text: Text = Field(default="", description="part of the id, label, tenant, a host's name or an address")
    tenant: Text | None = Field(default=None, description="their tenant; empty: those without one")
    state: list[JobState] = Field(default=[], description="one or several; none: all")
    order: JobOrder = Field(default="id", description="`worst`: by severity and number of open incidents")


class LayoutList(Document):
    """The layouts that a job had, the newest first."""

    items: tuple[LayoutSince, ...]


class IterationParameters(Span):
    """Which iterations."""

    most: int = Field(default=2000, ge=1, le=20_000, description="points; more iterations are put together")
    format: Format | None = FORMAT


class TrendParameters(Span):
    """Which time."""

    most: int = Field(default=500, ge=1, le=5000, description="steps")


class PatternParameters(Parameters):
    """How many."""

    limit: int = Field(default=50, ge=1, le=100_000, description="patterns at most: the most unlike ones")


class FleetParameters(Parameters):
    """Over which time, and how many."""

    days: int = Field(default=USUAL_DAYS, ge=1, le=MOST_DAYS, description="UTC, the day of the newest scan among them")
    limit: int = Field(default=50, ge=1, le=10_000, description="jobs and hosts at most: those that lost most")


@router.get("/jobs", response_model=JobPage, summary="Jobs at a glance")
def jobs(request: Request, viewer: Seeing, asked: Annotated[JobParameters, Query()]) -> Response:
    """Jobs with their state, their layout, their iteration time against the baseline, and their open incidents."""
    wanted = JobFilter(asked.text, asked.tenant, tuple(asked.state), asked.order)
    stores: Stores = request.app.state.stores
    rows = answers.jobs(stores, viewer, time.time_ns(), wanted, decode_cursor(asked.cursor), asked.limit)
    following = cursor(rows[-1].id) if len(rows) == asked.limit else None
    return respond(request, JobPage(items=tuple(rows), next=following))


@router.get("/jobs/{job:path}/layouts", response_model=LayoutList, summary="A job's layouts")
def layouts(request: Request, viewer: Seeing, job: Name) -> Response:
    """The layouts that a job had with their process groups, the newest first."""
    found = answers.job(request.app.state.stores, viewer, time.time_ns(), job)
    return respond(request, found and LayoutList(items=found.layouts), "job of this id")


@router.get("/jobs/{job:path}/patterns", response_model=PatternView, summary="What a job's endpoints are like")
def patterns(request: Request, viewer: Seeing, job: Name, asked: Annotated[PatternParameters, Query()]) -> Response:
    """List the newest patterns of endpoints by function, those first that are least like their peers.

    Evidence, not a finding: no incident opens and no alert is sent.
    """
    found = job_patterns(request.app.state.stores, viewer, job, asked.limit)
    return respond(request, found, "job of this id")


@router.get(
    "/jobs/{job:path}/iterations", response_model=IterationSeries, responses=TABLE, summary="A job's iterations"
)
def iterations(request: Request, viewer: Seeing, job: Name, asked: Annotated[IterationParameters, Query()]) -> Response:
    """List iterations that ended in a time range; many are aggregated, with the slowest given.

    An Arrow stream has a row for each iteration, none aggregated, with the standard error of its duration.
    """
    stores: Stores = request.app.state.stores
    if not wants_arrow(request, asked.format):
        found = answers.iterations(stores, viewer, job, asked.start_ns, asked.end_ns, asked.most)
        return respond(request, found, "job of this id")
    if not answers.visible(stores, viewer, job):
        raise HTTPException(404, "there is no job of this id")
    frame = answers.iteration_frame(stores, job, asked.start_ns, asked.end_ns)
    error_ns = pa.array(frame["duration_error_ns"], mask=frame["duration_error_ns"] < 0)
    columns = {name: pa.array(frame[name]) for name in ("index", "start_ns", "end_ns")}
    return arrow_stream(request, pa.table({**columns, "duration_error_ns": error_ns}), {})


@router.get("/jobs/{job:path}/trend", response_model=Trend, summary="A job's pace over a long time")
def trend(request: Request, viewer: Seeing, job: Name, asked: Annotated[TrendParameters, Query()]) -> Response:
    """Mean iteration times in equal steps of minutes or hours, with the worst severity of each."""
    _ordered(asked)
    found = answers.trend(request.app.state.stores, viewer, job, asked.start_ns, asked.end_ns, asked.most)
    return respond(request, found, "job of this id")


@router.get("/jobs/{job:path}/training-time", response_model=TrainingDays, summary="Where a job's time went")
def spent(request: Request, viewer: Seeing, job: Name, asked: Annotated[Span, Query()]) -> Response:
    """Account for each day, UTC: productive, slowed, paused, down or unknown; 31 days at most."""
    _ordered(asked)
    found = training_days(request.app.state.stores, viewer, job, asked.start_ns, asked.end_ns)
    return respond(request, found, "job of this id")


@router.get("/training-time", response_model=FleetTime, summary="Where the GPU-hours of all jobs went")
def fleet(request: Request, viewer: Seeing, asked: Annotated[FleetParameters, Query()]) -> Response:
    """GPU-hours of all jobs that the user sees, by what they went to: together, by day, by job and by host."""
    found = fleet_training_time(request.app.state.stores, viewer, time.time_ns(), asked.days)
    cut = {"jobs": found.jobs[: asked.limit], "hosts": found.hosts[: asked.limit]}
    return respond(request, found.model_copy(update=cut))


@router.get("/jobs/{job:path}", response_model=JobDetail, summary="One job")
def job(request: Request, viewer: Seeing, job: Name) -> Response:
    """One job with its members, and the layouts it had."""
    return respond(request, answers.job(request.app.state.stores, viewer, time.time_ns(), job), "job of this id")


def _ordered(asked: Span) -> None:
    if asked.end_ns <= asked.start_ns:
        raise wrong("query", "end_ns", "it is not behind start_ns")
