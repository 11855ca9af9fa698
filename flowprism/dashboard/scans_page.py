"""Scans: the policies, what was looked at and what came of it, and asking to look now."""

from __future__ import annotations

import time
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response

from datamodel.reports.scan import Verdict
from datamodel.service.filters import ScanFilter
from flowprism.dashboard.forms import Fields, Form, back
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.dashboard.time_range import read_time
from flowprism.service.access.dependencies import Operating, Seeing
from flowprism.service.config.settings import Settings
from flowprism.service.http.query_parameters import Name, Parameters, PathTime, Text
from flowprism.service.queries import scans as answers

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_MOST, _MOST_REQUESTS, _MOST_JOBS = 60, 10, 100


class ScansWanted(Parameters):
    """Which scans."""

    policy: Text = ""
    verdict: Literal["", Verdict] = ""
    after: Text = ""

    def but(self, **changes: str) -> str:
        """The address of the list that differs in this; on its first page unless it says which."""
        asked = {**self.model_dump(), "after": "", **changes}
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"/scans?{query}" if query else "/scans"


@router.get("/scans", response_model=None)
def scan_list(request: Request, viewer: Seeing, wanted: Annotated[ScansWanted, Query()]) -> Response:
    """The page."""
    stores, settings = get_stores(request), _settings(request)
    verdicts: tuple[Verdict, ...] = (wanted.verdict,) if wanted.verdict else ()
    asked = ScanFilter(wanted.policy or None, verdicts)
    try:
        found = answers.scans(stores, viewer, asked, wanted.after, _MOST + 1)
    except ValueError as error:
        raise HTTPException(400, "after: this is no place in the list") from error
    policies = settings.scans.policies
    newest = {one.name: answers.scans(stores, viewer, ScanFilter(one.name), most=1) for one in policies}
    return render_page(
        request,
        viewer,
        "scans.html",
        wanted=wanted,
        policies=policies,
        newest=newest,
        asked=answers.scan_requests(stores, viewer, _MOST_REQUESTS),
        rows=found[:_MOST],
        following=answers.after_scan(found[_MOST - 1]) if len(found) > _MOST else None,
    )


@router.get("/scans/{policy:path}/{start_ns}/{end_ns}", response_model=None)
def scan_page(request: Request, viewer: Seeing, policy: Name, start_ns: PathTime, end_ns: PathTime) -> Response:
    """One scan: a verdict a job."""
    found = answers.scan(get_stores(request), viewer, policy, start_ns, end_ns)
    if found is None:
        raise HTTPException(404, "No such scan is known to you.")
    return render_page(request, viewer, "scan.html", kept=found, scan=found.scan)


@router.post("/scans", response_model=None)
def ask(request: Request, viewer: Operating, form: Form) -> Response:
    """Ask for a scan; a scanner makes it soon."""
    names = [one.name for one in _settings(request).scans.policies]
    policy = form.text("policy", 200) or names[0]
    if policy not in names:
        raise HTTPException(400, f"There is no policy {policy[:80]!r}; known: {', '.join(names)}.")
    jobs = tuple(filter(None, (one.strip() for one in form.text("jobs").replace(",", "\n").split("\n"))))
    if len(jobs) > _MOST_JOBS:
        raise HTTPException(400, f"More than {_MOST_JOBS} jobs: leave them out to scan all of the policy's.")
    answers.ask_scan(get_stores(request), viewer, time.time_ns(), answers.NewScanRequest(policy, jobs, *_window(form)))
    return back(form, "/scans")


def _window(form: Fields) -> tuple[int | None, int | None]:
    begin, end = form.text("from", 40), form.text("to", 40)
    if not begin and not end:
        return None, None
    if not begin or not end:
        raise HTTPException(400, "A window takes both, its begin and its end.")
    try:
        window = read_time(begin), read_time(end)
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    if window[1] <= window[0]:
        raise HTTPException(400, "The window's end is not behind its begin.")
    return window


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings
