"""One incident: summary, evidence, expected gain, the actions of operators, and history."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fastapi import APIRouter, HTTPException, Request, Response

from datamodel.durations import HOUR_NS
from datamodel.service.api_models import IncidentDetail
from flowprism.dashboard.clock import clock_of
from flowprism.dashboard.forms import Form, back, part
from flowprism.dashboard.incidents.incident_evidence import IncidentEvidence, incident_evidence
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.rendering import profile_times
from flowprism.service.access.dependencies import Operating, Seeing
from flowprism.service.http.query_parameters import Name
from flowprism.service.queries.incidents import incident_queries as answers
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.job_queries import job

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MUTES = (("1", "1 hour"), ("4", "4 hours"), ("8", "8 hours"), ("24", "1 day"), ("168", "7 days"), ("", "for ever"))
_GOOD = {"resolved", "eased", "dismissed"}
_MOST_HISTORY = 300


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of an incident's history: a change that a scan found, or the note of a user."""

    time_ns: int
    what: str
    tone: str
    text: str
    author: str = ""
    until_ns: int | None = None


@router.get("/incidents/{name:path}", response_model=None)
def incident_page(request: Request, viewer: Seeing, name: Name, *, no_execute: bool = False) -> Response:
    """The page; with `no_execute`, commands for Kubernetes end the pods of a host that is to be evicted."""
    stores, now_ns = get_stores(request), time.time_ns()
    row = answers.incident(stores, viewer, now_ns, name, no_execute=no_execute)
    if row is None:
        raise HTTPException(404, f"No incident {name} is known to you.")
    known = names(stores)
    detail = None if row.incident.job is None else job(stores, viewer, now_ns, row.incident.job)
    evidence = IncidentEvidence(left_out="It is about no single job.")
    if detail is not None:
        evidence = incident_evidence(stores, viewer, row.incident, detail, known, clock_of(request, now_ns).zone)
    policies = [policy.name for policy in request.app.state.settings.scans.policies]
    return render_page(
        request,
        viewer,
        "incident.html",
        now_ns=now_ns,
        row=row,
        job=detail,
        evidence=evidence,
        names=known,
        profiled=answers.profiles(stores, viewer, now_ns, name),
        profile_times=profile_times,
        happened=history(row)[:_MOST_HISTORY],
        mutes=MUTES,
        policies=policies,
        no_execute=no_execute,
    )


def history(row: IncidentDetail) -> list[HistoryEntry]:
    """List the changes and notes of an incident, newest first."""
    seen = [
        HistoryEntry(one.time_ns, one.kind, "good" if one.kind in _GOOD else row.incident.severity, one.detail)
        for one in row.changes
    ]
    said = [
        HistoryEntry(
            one.time_ns, one.kind if one.kind != "comment" else "said", "said", one.text, one.author, one.until_ns
        )
        for one in row.notes
    ]
    return sorted([*seen, *said], key=lambda one: one.time_ns, reverse=True)


@router.post("/incidents/{name:path}/acknowledge", response_model=None)
def acknowledge(request: Request, viewer: Operating, name: Name, form: Form) -> Response:
    """Acknowledge the incident: someone is working on it."""
    done = answers.acknowledge(get_stores(request), viewer, time.time_ns(), name, form.text("text"))
    return back(form, _place(done, name))


@router.post("/incidents/{name:path}/accept", response_model=None)
def accept(request: Request, viewer: Operating, name: Name, form: Form) -> Response:
    """Make the job's pace since the incident its baseline."""
    done = answers.accept(get_stores(request), viewer, time.time_ns(), name, form.text("text"))
    return back(form, _place(done, name))


@router.post("/incidents/{name:path}/mute", response_model=None)
def mute(request: Request, viewer: Operating, name: Name, form: Form) -> Response:
    """Suppress alerts of the incident for some hours, or forever."""
    hours, now_ns = form.text("hours", 10), time.time_ns()
    if hours not in {value for value, _ in MUTES}:
        raise HTTPException(400, "hours: one of those offered")
    reason = form.needed("reason", "Give a reason: the next operator needs it.")
    until_ns = now_ns + int(hours) * HOUR_NS if hours else None
    return back(form, _place(answers.mute(get_stores(request), viewer, now_ns, name, reason, until_ns), name))


@router.post("/incidents/{name:path}/unmute", response_model=None)
def unmute(request: Request, viewer: Operating, name: Name, form: Form) -> Response:
    """Send alerts of the incident again."""
    done = answers.unmute(get_stores(request), viewer, time.time_ns(), name, form.text("text"))
    return back(form, _place(done, name))


@router.post("/incidents/{name:path}/comment", response_model=None)
def comment(request: Request, viewer: Operating, name: Name, form: Form) -> Response:
    """Write something into its history."""
    text = form.needed("text", "There is nothing in the comment.")
    return back(form, _place(answers.comment(get_stores(request), viewer, time.time_ns(), name, text), name))


def _place(done: IncidentDetail | None, name: str) -> str:
    if done is None:
        raise HTTPException(404, f"No incident {name} is known to you.")
    return f"/incidents/{part(name)}#history"
