"""`/jobs/{job}/timeline`, `/rates`, `/matrix`: tables for programs, as Arrow or as JSON."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from datamodel.document import Document
from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from flowprism.rendering.formats.pairs_arrow import pairs_to_arrow
from flowprism.rendering.formats.timelines_file import to_arrow
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.arrow_responses import FORMAT, TABLE, Format, arrow_stream, wants_arrow
from flowprism.service.http.query_parameters import Cursor, Name, Parameters, Text, Time
from flowprism.service.http.responses import cursor, decode_cursor, respond, wrong
from flowprism.service.queries.jobs import job_queries as job_answers
from flowprism.service.queries.jobs import timelines as answers
from flowprism.service.queries.jobs.span_downsampling import DownsampledSpans, downsample
from flowprism.service.queries.jobs.timelines import TimeSpan
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

router = APIRouter(tags=["timelines"])


class TimelineParameters(Parameters):
    """Which spans: those of a stretch of time, of some iterations or, where neither is said, of the newest ones."""

    start_ns: Time | None = Field(default=None, description="begin, ns UTC; an hour at most")
    end_ns: Time | None = Field(default=None, description="end, ns UTC")
    first: int | None = Field(default=None, ge=0, le=1 << 62, description="the first iteration's index")
    last: int | None = Field(default=None, ge=0, le=1 << 62, description="the last one's; without it the first's")
    endpoint: list[Text] = Field(default=[], max_length=500, description="addresses; none: all of them, by page")
    cursor: Cursor = None
    limit: int = Field(default=500, ge=1, le=5000, description="endpoints on a page at most")
    most: int = Field(default=50_000, ge=1000, le=500_000, description="spans on a page; short ones are put together")
    format: Format | None = FORMAT


class MatrixParameters(Parameters):
    """Which window."""

    at_ns: Time | None = Field(default=None, description="a time inside it, ns UTC; without it the newest")
    most: int = Field(default=100_000, ge=1, le=1_000_000, description="pairs; those that move most")
    format: Format | None = FORMAT


class RateParameters(Parameters):
    """Which window."""

    at_ns: Time | None = Field(default=None, description="a time inside it, ns UTC; without it the newest")
    format: Format | None = FORMAT


class Spans(Document):
    """Columns of equal length, a span each."""

    endpoint: tuple[str, ...]
    iteration: tuple[int | None, ...]
    span: tuple[str, ...]
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    peer: tuple[str | None, ...]
    bytes: tuple[int, ...]
    group: tuple[str | None, ...]
    merged: tuple[int, ...] = Field(description="how many spans each one stands for")
    longest_ns: tuple[int, ...] = Field(description="the longest of them")
    busy_ns: tuple[int, ...] = Field(description="all of them together")


class TimelinePage(Document):
    """Some endpoints of a job in a stretch of time, in order of endpoint and time."""

    job: str
    start_ns: int
    end_ns: int
    resolution_ns: int = Field(description="spans of this length or more stand for themselves; 0: all do")
    spans: Spans
    next: str | None = Field(default=None, description="the cursor of the next endpoints; null on the last page")


class Pairs(Document):
    """Columns of equal length, an ordered pair of endpoints and what it carries each."""

    src: tuple[str, ...]
    dst: tuple[str, ...]
    role: tuple[str, ...]
    bytes: tuple[int, ...]
    transfers: tuple[int | None, ...] = Field(description="null where the feed does not show them")
    rate_bps: tuple[float | None, ...] = Field(description="median over transfers; null where unknown")
    late_ratio: tuple[float | None, ...] = Field(description="delivery time / that of its peers; 1: like them")
    bytes_error: tuple[float | None, ...] = Field(description="standard error; 0 of what was counted whole")
    rate_error_bps: tuple[float | None, ...] = Field(description="standard error; null where unknown")


class Matrix(Document):
    """Return the traffic matrix of one window, the largest pairs first."""

    job: str
    start_ns: int | None = Field(description="begin of the window; null where no window has data")
    end_ns: int | None
    total: int = Field(description="pairs there are")
    pairs: Pairs


class RateColumns(Document):
    """Columns of equal length, an endpoint and a part of the iteration each; rates in bit/s with standard errors."""

    endpoint: tuple[str, ...]
    pace: tuple[int, ...] = Field(
        description="0: mean of the iterations of about the median time; 1: of the others, those of about their median"
    )
    iterations: tuple[int, ...] = Field(description="that the mean is of")
    iteration_ns: tuple[int, ...] = Field(description="their mean time")
    bin: tuple[int, ...] = Field(description="which of the equal parts of the iteration's time")
    bins: tuple[int, ...] = Field(description="how many there are")
    sent_bps: tuple[float, ...]
    sent_error_bps: tuple[float, ...]
    received_bps: tuple[float, ...]
    received_error_bps: tuple[float, ...]


class MeanIterations(Document):
    """How fast each endpoint sends and receives over the mean iterations of a window."""

    job: str
    start_ns: int | None = Field(description="begin of the window; null where no window has such rates")
    end_ns: int | None
    rates: RateColumns


@router.get("/jobs/{job:path}/timeline", response_model=TimelinePage, responses=TABLE, summary="What each endpoint did")
def timeline(request: Request, viewer: Seeing, job: Name, asked: Annotated[TimelineParameters, Query()]) -> Response:
    """Spans of a job's endpoints: compute, communication, waiting.

    Where there are more than `most`, short ones that lie close together are put together; the longest are not.
    As an Arrow stream, the schema's metadata and the header `Link` hold what the JSON's other fields do.
    """
    stores: Stores = request.app.state.stores
    members = job_answers.members(stores, viewer, job)
    if members is None:
        raise HTTPException(404, "there is no job of this id")
    span = stretch(stores, viewer, job, asked)
    endpoints, following = _page(sorted(asked.endpoint or members), asked)
    found = answers.timeline(stores, viewer, job, span.start_ns, span.end_ns, endpoints)
    if found is None:
        raise HTTPException(404, "there is no job of this id")
    few = downsample(found.spans, max(asked.most, len(endpoints) * len(SPAN_NAMES)))
    if wants_arrow(request, asked.format):
        return _arrow_spans(request, few, found, following)
    page = TimelinePage(
        job=job,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        resolution_ns=few.resolution_ns,
        spans=_spans(few, found),
        next=following,
    )
    return respond(request, page)


@router.get(
    "/jobs/{job:path}/rates",
    response_model=MeanIterations,
    responses=TABLE,
    summary="Rates over the mean iteration",
)
def rates(request: Request, viewer: Seeing, job: Name, asked: Annotated[RateParameters, Query()]) -> Response:
    """Rates of a job's endpoints over the mean iteration, with errors, where samples show no single transfers."""
    found = answers.rates(request.app.state.stores, viewer, job, asked.at_ns)
    if found is None:
        raise HTTPException(404, "there is no job of this id")
    frame, book = found
    frame = frame.sort("pace", "endpoint", "bin")
    names = pa.array([book[code] for code in frame["endpoint"].tolist()], pa.string())
    columns = RateColumns.model_fields
    table = pa.table({name: names if name == "endpoint" else pa.array(frame[name]) for name in columns})
    if wants_arrow(request, asked.format):
        return arrow_stream(request, table, {})
    start_ns, end_ns = (int(frame["start_ns"][0]), int(frame["end_ns"][0])) if len(frame) else (None, None)
    found_rates = RateColumns(**{name: tuple(values) for name, values in table.to_pydict().items()})
    return respond(request, MeanIterations(job=job, start_ns=start_ns, end_ns=end_ns, rates=found_rates))


@router.get("/jobs/{job:path}/matrix", response_model=Matrix, responses=TABLE, summary="The traffic matrix")
def matrix(request: Request, viewer: Seeing, job: Name, asked: Annotated[MatrixParameters, Query()]) -> Response:
    """Volumes, rates and delays of a job's pairs in one window."""
    found = answers.pairs(request.app.state.stores, viewer, job, asked.at_ns)
    if found is None:
        raise HTTPException(404, "there is no job of this id")
    frame, book = found
    order = (-frame["bytes"]).argsort(kind="stable")[: asked.most]
    table = pairs_to_arrow(frame.take(order), book)
    if wants_arrow(request, asked.format):
        return arrow_stream(request, table, {"pairs": str(len(frame))})
    start_ns, end_ns = (int(frame["start_ns"][0]), int(frame["end_ns"][0])) if len(frame) else (None, None)
    pairs = Pairs(**{name: tuple(values) for name, values in table.to_pydict().items()})
    return respond(request, Matrix(job=job, start_ns=start_ns, end_ns=end_ns, total=len(frame), pairs=pairs))


def stretch(stores: Stores, viewer: Viewer, job: str, asked: TimelineParameters) -> TimeSpan:
    """The time that is asked for.

    Raises:
        HTTPException: 404, no such iteration is known.
        RequestValidationError: it has no begin, no end, or no length.
    """
    if asked.first is not None:
        found = answers.of_iterations(
            stores, viewer, job, asked.first, asked.first if asked.last is None else asked.last
        )
        if found is None:
            raise HTTPException(404, "these iterations are not known")
        return found
    if asked.start_ns is None and asked.end_ns is None:
        return answers.newest(stores, viewer, job) or TimeSpan(0, 1)
    if asked.start_ns is None or asked.end_ns is None:
        raise wrong("query", "start_ns" if asked.start_ns is None else "end_ns", "it takes both, begin and end")
    if asked.end_ns <= asked.start_ns:
        raise wrong("query", "end_ns", "it is not behind start_ns")
    return TimeSpan(asked.start_ns, asked.end_ns)


def _page(addresses: list[str], asked: TimelineParameters) -> tuple[list[str], str | None]:
    """The endpoints of this page, and the cursor of the next one. A page has room for each with all kinds of spans."""
    limit = min(asked.limit, asked.most // len(SPAN_NAMES))
    last = decode_cursor(asked.cursor)
    remaining = [address for address in addresses if address > last]
    page = remaining[:limit]
    return page, cursor(page[-1]) if len(remaining) > limit else None


def _arrow_spans(request: Request, few: DownsampledSpans, found: Timelines, following: str | None) -> Response:
    table = _span_table(few, found)
    headers = {}
    if following is not None:
        headers["Link"] = f'<{request.url.include_query_params(cursor=following)}>; rel="next"'
    return arrow_stream(request, table, {"resolution_ns": str(few.resolution_ns), "next": following or ""}, headers)


def _span_table(few: DownsampledSpans, found: Timelines) -> pa.Table:
    table = to_arrow(Timelines(few.spans, found.addresses, found.jobs, found.groups))
    for name in ("merged", "longest_ns", "busy_ns"):
        table = table.append_column(name, pa.array(getattr(few, name)))
    return table


def _spans(few: DownsampledSpans, found: Timelines) -> Spans:
    columns = _span_table(few, found).drop_columns(["job"]).to_pydict()
    return Spans(**{name: tuple(values) for name, values in columns.items()})
