"""`/incidents`: what is wrong, and what people do about it."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from datamodel.reports.findings import FindingKind, Severity
from datamodel.service.api_models import IncidentDetail
from datamodel.service.filters import IncidentFilter
from datamodel.service.incidents import IncidentState
from datamodel.telemetry.profiles import IncidentProfiles
from flowprism.service.access.dependencies import Operating, Seeing
from flowprism.service.api.page_documents import Comment, IncidentPage, Mute, Said
from flowprism.service.http.query_parameters import Name, PageParameters, Parameters, Text, Time
from flowprism.service.http.responses import cursor, decode_cursor, respond, wrong, wrong_cursor
from flowprism.service.queries.incidents import incident_queries as answers

router = APIRouter(tags=["incidents"])
_WHAT = "incident of this id"
_NOTHING_SAID = Said()


class IncidentParameters(PageParameters):
    """Which incidents."""

    state: list[IncidentState] = Field(default=["open"], description="one or several")
    job: Text | None = Field(default=None, description="a job's id")
    tenant: Text | None = Field(default=None, description="of its jobs; empty: of no tenant or no job")
    kind: list[FindingKind] = Field(default=[], description="one or several; none: all")
    severity: list[Severity] = Field(default=[], description="one or several; none: all")
    text: Text = Field(default="", description="part of the summary, the job's label or an id in the subject")
    muted: bool | None = None
    acknowledged: bool | None = None
    since_ns: Time = Field(default=0, description="seen by a scan then or later, ns UTC")
    until_ns: Time | None = Field(default=None, description="begun before, ns UTC")


class EvictionParameters(Parameters):
    """What the commands that evict a host may do."""

    no_execute: bool = Field(default=False, description="end the pods of the host at once (a NoExecute taint)")


@router.get("/incidents", response_model=IncidentPage, summary="Incidents, those seen last first")
def incidents(request: Request, viewer: Seeing, asked: Annotated[IncidentParameters, Query()]) -> Response:
    """Incidents with what people said of them; by default the open ones."""
    wanted = IncidentFilter(
        states=tuple(asked.state),
        job=asked.job,
        tenant=asked.tenant,
        kinds=tuple(asked.kind),
        severities=tuple(asked.severity),
        text=asked.text,
        muted=asked.muted,
        acknowledged=asked.acknowledged,
        since_ns=asked.since_ns,
        until_ns=asked.until_ns,
    )
    after = decode_cursor(asked.cursor)
    try:
        rows = answers.incidents(request.app.state.stores, viewer, time.time_ns(), wanted, after, asked.limit)
    except ValueError:
        raise wrong_cursor() from None
    following = cursor(answers.after_incident(rows[-1])) if len(rows) == asked.limit else None
    return respond(request, IncidentPage(items=tuple(rows), next=following))


@router.get("/incidents/{incident}", response_model=IncidentDetail, summary="One incident")
def incident(
    request: Request, viewer: Seeing, incident: Name, asked: Annotated[EvictionParameters, Query()]
) -> Response:
    """One incident with its evidence and its whole history."""
    stores, now_ns = request.app.state.stores, time.time_ns()
    return respond(request, answers.incident(stores, viewer, now_ns, incident, no_execute=asked.no_execute), _WHAT)


@router.get("/incidents/{incident}/profiles", response_model=IncidentProfiles, summary="Profiles of an incident")
def profiles(request: Request, viewer: Seeing, incident: Name) -> Response:
    """What `flowprism profile read` stored with an incident: verdicts, and where the time of each rank went."""
    found = answers.profiles(request.app.state.stores, viewer, time.time_ns(), incident)
    return respond(request, found, "profile of this incident")


@router.post("/incidents/{incident}/acknowledge", response_model=IncidentDetail, summary="Look after an incident")
def acknowledge(request: Request, viewer: Operating, incident: Name, said: Said = _NOTHING_SAID) -> Response:
    """Acknowledge an incident; this counts until it is resolved and reopens."""
    stores, now_ns = request.app.state.stores, time.time_ns()
    return respond(request, answers.acknowledge(stores, viewer, now_ns, incident, said.text), _WHAT)


@router.post("/incidents/{incident}/accept", response_model=IncidentDetail, summary="Accept a slower pace")
def accept(request: Request, viewer: Operating, incident: Name, said: Said = _NOTHING_SAID) -> Response:
    """Make what the job does since then its baseline: a change was intended. The next scan ends the incident."""
    stores, now_ns = request.app.state.stores, time.time_ns()
    return respond(request, answers.accept(stores, viewer, now_ns, incident, said.text), _WHAT)


@router.post("/incidents/{incident}/mute", response_model=IncidentDetail, summary="Have no alerts of an incident")
def mute(request: Request, viewer: Operating, incident: Name, said: Mute) -> Response:
    """Have no alerts of it until a time, or for ever."""
    stores, now_ns = request.app.state.stores, time.time_ns()
    if said.until_ns is not None and said.until_ns <= now_ns:
        raise wrong("body", "until_ns", "this is past")
    return respond(request, answers.mute(stores, viewer, now_ns, incident, said.reason, said.until_ns), _WHAT)


@router.post("/incidents/{incident}/unmute", response_model=IncidentDetail, summary="Have alerts of it again")
def unmute(request: Request, viewer: Operating, incident: Name, said: Said = _NOTHING_SAID) -> Response:
    """Have alerts of it again."""
    stores, now_ns = request.app.state.stores, time.time_ns()
    return respond(request, answers.unmute(stores, viewer, now_ns, incident, said.text), _WHAT)


@router.post("/incidents/{incident}/comment", response_model=IncidentDetail, summary="Comment an incident")
def comment(request: Request, viewer: Operating, incident: Name, said: Comment) -> Response:
    """Write something into its history."""
    stores, now_ns = request.app.state.stores, time.time_ns()
    return respond(request, answers.comment(stores, viewer, now_ns, incident, said.text), _WHAT)
