"""`/scans`, `/scan-requests`: what was looked at, and asking to look now."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from datamodel.reports.scan import Verdict
from datamodel.service.api_models import ScanDetail, ScanRequest
from datamodel.service.filters import ScanFilter
from flowprism.service.access.dependencies import Operating, Seeing
from flowprism.service.api.page_documents import Ask, RequestList, ScanPage
from flowprism.service.config.settings import Settings
from flowprism.service.http.query_parameters import Name, PageParameters, Parameters, PathTime, Text
from flowprism.service.http.responses import cursor, decode_cursor, respond, wrong, wrong_cursor
from flowprism.service.queries import scans as answers

router = APIRouter(tags=["scans"])


class ScanParameters(PageParameters):
    """Which scans."""

    policy: Text | None = Field(default=None, description="made under it; without it all")
    verdict: list[Verdict] = Field(default=[], description="one or several; none: all")


class RequestParameters(Parameters):
    """How many."""

    limit: int = Field(default=100, ge=1, le=500)


@router.get("/scans", response_model=ScanPage, summary="Scans, those of the newest windows first")
def scans(request: Request, viewer: Seeing, asked: Annotated[ScanParameters, Query()]) -> Response:
    """Scans in short."""
    wanted, after = ScanFilter(asked.policy, tuple(asked.verdict)), decode_cursor(asked.cursor)
    try:
        rows = answers.scans(request.app.state.stores, viewer, wanted, after, asked.limit)
    except ValueError:
        raise wrong_cursor() from None
    following = cursor(answers.after_scan(rows[-1])) if len(rows) == asked.limit else None
    return respond(request, ScanPage(items=tuple(rows), next=following))


@router.get("/scans/{policy:path}/{window_start_ns}/{window_end_ns}", response_model=ScanDetail, summary="One scan")
def scan(
    request: Request, viewer: Seeing, policy: Name, window_start_ns: PathTime, window_end_ns: PathTime
) -> Response:
    """One scan with its verdicts and findings (`flowprism.scan/v1`)."""
    found = answers.scan_detail(request.app.state.stores, viewer, policy, window_start_ns, window_end_ns)
    return respond(request, found, "scan of this policy and window")


@router.post("/scan-requests", response_model=ScanRequest, status_code=201, summary="Ask for a scan")
def ask(request: Request, viewer: Operating, asked: Ask) -> Response:
    """Ask for a scan now: a scanner runs it soon, and `state` shows how it went."""
    settings: Settings = request.app.state.settings
    names = [policy.name for policy in settings.scans.policies]
    policy = asked.policy or names[0]
    if policy not in names:
        raise wrong("body", "policy", f"there is no such policy; known: {', '.join(names)}")
    window = (asked.window_start_ns, asked.window_end_ns)
    if (window[0] is None) != (window[1] is None):
        raise wrong("body", "window_end_ns", "a window takes both, begin and end")
    if window[0] is not None and window[1] is not None and window[1] <= window[0]:
        raise wrong("body", "window_end_ns", "it is not behind window_start_ns")
    wish = answers.NewScanRequest(policy, asked.jobs, *window)
    made = answers.ask_scan(request.app.state.stores, viewer, time.time_ns(), wish)
    answer = respond(request, made)
    answer.status_code = 201
    answer.headers["Location"] = f"/api/v1/scan-requests/{made.id}"
    return answer


@router.get("/scan-requests", response_model=RequestList, summary="Scans asked for, the newest first")
def scan_requests(request: Request, viewer: Seeing, asked: Annotated[RequestParameters, Query()]) -> Response:
    """Scans that people asked for, and how they went."""
    found = answers.scan_requests(request.app.state.stores, viewer, asked.limit)
    return respond(request, RequestList(items=tuple(found)))


@router.get("/scan-requests/{name}", response_model=ScanRequest, summary="One scan asked for")
def scan_request(request: Request, viewer: Seeing, name: Name) -> Response:
    """How a scan that was asked for went."""
    return respond(request, answers.scan_request(request.app.state.stores, viewer, name), "request of this id")
