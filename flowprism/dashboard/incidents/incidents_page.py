"""The list of incidents, with its filters as query parameters."""

from __future__ import annotations

import time
from typing import Annotated, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response

from datamodel.reports.findings import FindingKind, Severity
from datamodel.service.filters import IncidentFilter
from datamodel.service.incidents import IncidentState
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.service.access.dependencies import Seeing
from flowprism.service.http.query_parameters import Parameters, Text
from flowprism.service.queries.incidents.incident_queries import after_incident, incidents

router = APIRouter(route_class=PageRoute, include_in_schema=False)
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
STATES: dict[str, tuple[IncidentState, ...]] = {
    "open": ("open",), "suspected": ("suspected",), "resolved": ("resolved",), "all": (),
}  # fmt: skip
_MOST = 100


class IncidentQuery(Parameters):
    """Which incidents."""

    state: Literal["open", "suspected", "resolved", "all"] = "open"
    severity: Literal["", "critical", "warning", "info"] = ""
    kind: Literal["", FindingKind] = ""
    acknowledged: Literal["", "no", "yes", "muted"] = ""
    tenant: Text = ""
    job: Text = ""
    q: Text = ""
    after: Text = ""

    def filter(self) -> IncidentFilter:
        """Convert to the filter of the queries."""
        severities: tuple[Severity, ...] = (self.severity,) if self.severity else ()
        kinds: tuple[FindingKind, ...] = (self.kind,) if self.kind else ()
        return IncidentFilter(
            states=STATES[self.state],
            job=self.job or None,
            tenant=self.tenant or None,
            kinds=kinds,
            severities=severities,
            text=self.q.strip(),
            muted=True if self.acknowledged == "muted" else None,
            acknowledged={"no": False, "yes": True}.get(self.acknowledged),
        )

    def but(self, **changes: str) -> str:
        """Return the list's address with some filters changed; its first page unless `after` is given."""
        asked = {**self.model_dump(), "after": "", **changes}
        usual = IncidentQuery().model_dump()
        query = urlencode({name: value for name, value in asked.items() if value != usual[name]})
        return f"/incidents?{query}" if query else "/incidents"


@router.get("/incidents", response_model=None)
def incident_list(request: Request, viewer: Seeing, wanted: Annotated[IncidentQuery, Query()]) -> Response:
    """The page."""
    stores, now_ns = get_stores(request), time.time_ns()
    try:
        found = incidents(stores, viewer, now_ns, wanted.filter(), wanted.after, _MOST + 1)
    except ValueError as error:
        raise HTTPException(400, "after: this is no place in the list") from error
    return render_page(
        request,
        viewer,
        "incidents.html",
        now_ns=now_ns,
        wanted=wanted,
        states=tuple(STATES),
        kinds=KINDS,
        rows=found[:_MOST],
        following=after_incident(found[_MOST - 1]) if len(found) > _MOST else None,
    )
