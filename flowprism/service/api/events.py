"""`/events`: what happened to jobs and is no fault."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from datamodel.reports.findings import EventKind
from datamodel.service.filters import EventFilter
from flowprism.service.access.dependencies import Seeing
from flowprism.service.api.page_documents import EventPage
from flowprism.service.http.query_parameters import MOST_NS, PageParameters, Text, Time
from flowprism.service.http.responses import cursor, decode_cursor, respond, wrong_cursor
from flowprism.service.queries.jobs import events as answers

router = APIRouter(tags=["events"])


class EventParameters(PageParameters):
    """Which events."""

    job: Text | None = Field(default=None, description="a job's id")
    kind: list[EventKind] = Field(default=[], description="one or several; none: all")
    start_ns: Time = Field(default=0, description="begun then or later, ns UTC")
    end_ns: Time = Field(default=MOST_NS, description="begun before, ns UTC")


@router.get("/events", response_model=EventPage, summary="Events, the newest first")
def events(request: Request, viewer: Seeing, asked: Annotated[EventParameters, Query()]) -> Response:
    """Starts, ends, restarts, checkpoints, evaluations, changes of membership, pauses."""
    wanted = EventFilter(asked.job, tuple(asked.kind), asked.start_ns, asked.end_ns)
    after = decode_cursor(asked.cursor)
    try:
        found = answers.events(request.app.state.stores, viewer, wanted, after, asked.limit)
    except ValueError:
        raise wrong_cursor() from None
    following = cursor(answers.after_event(found[-1])) if len(found) == asked.limit else None
    return respond(request, EventPage(items=tuple(found), next=following))
