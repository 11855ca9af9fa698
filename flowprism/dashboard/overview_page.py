"""The overview: is anything wrong, with which job, since when, because of what; then every job at a glance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from datamodel.answers import IncidentRow, JobRow
from datamodel.filters import IncidentFilter, JobFilter
from datamodel.findings import Severity
from datamodel.scan import Verdict
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.showing import shelf_of, show
from flowprism.rendering.figures.spark import draw_spark
from flowprism.service.access.dependencies import Seeing
from flowprism.service.answers.analyses import names
from flowprism.service.answers.census import census
from flowprism.service.answers.incidents import incidents
from flowprism.service.answers.jobs import jobs
from flowprism.service.answers.moments import moment
from flowprism.service.api.parameters import Parameters, Text
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer
from storage.database.census import Census

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_ROWS, _TILES = 50, 480
_MOST_CASES = 200
_MISSING, _LATE_S = 3, 300  # so many scans in a row, and not less than so long
_SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
Shown = Literal["all", "findings", "unknown", "healthy"]


class Wanted(Parameters):
    """Which jobs, and how they are shown; stands in the address, so that a view can be shared."""

    q: Text = ""
    tenant: Text = ""
    show: Shown = "all"
    gone: bool = False
    view: Literal["rows", "tiles"] = "rows"
    after: Text = ""

    def but(self, **changes: object) -> str:
        """The address of another view that differs in this; on its first page unless it says which."""
        asked = {**self.model_dump(), "after": "", **changes}
        usual = Wanted().model_dump()
        query = urlencode({name: _text(value) for name, value in asked.items() if value != usual[name]})
        return f"/?{query}" if query else "/"


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job with the mark and the small line that go with it."""

    job: JobRow
    tone: str
    words: str
    spark: str


@router.get("/", response_model=None)
def overview(request: Request, viewer: Seeing, wanted: Annotated[Wanted, Query()]) -> Response:
    """The page."""
    shelf, now_ns = shelf_of(request), time.time_ns()
    most = _TILES if wanted.view == "tiles" else _ROWS
    asked = JobFilter(
        text=wanted.q.strip(), tenant=wanted.tenant or None, verdicts=_verdicts(wanted.show),
        live=None if wanted.gone else True, order="worst",
    )  # fmt: skip
    found = jobs(shelf, viewer, now_ns, asked, wanted.after, most + 1)
    counted = census(shelf, viewer, now_ns)
    return show(
        request,
        viewer,
        "overview.html",
        now_ns=now_ns,
        wanted=wanted,
        counted=counted,
        worst=worst_incident(shelf, viewer, now_ns) if counted.incidents else None,
        lines=[_line(one, with_spark=wanted.view == "rows") for one in found[:most]],
        following=found[most - 1].id if len(found) > most else None,
        names=names(shelf),
        headline=headline(counted),
        stale_since_ns=stale_since(
            shelf, now_ns, min(one.every_s for one in request.app.state.settings.scans.policies)
        ),
    )


def stale_since(shelf: Shelf, now_ns: int, every_s: float) -> int | None:
    """Until when scans looked, where that is so long ago that some must be missing; else None."""
    seen_ns = moment(shelf.database, now_ns).now_ns
    return seen_ns if now_ns - seen_ns > max(_MISSING * every_s, _LATE_S) * 1e9 else None


def worst_incident(shelf: Shelf, viewer: Viewer, now_ns: int) -> IncidentRow | None:
    """The open incident that most needs somebody: of the worst severity, unheard before heard, dearest first."""
    for severity in _SEVERITIES:
        found = incidents(shelf, viewer, now_ns, IncidentFilter(severities=(severity,)), most=_MOST_CASES)
        if found:
            return min(found, key=_urgency)
    return None


def _urgency(row: IncidentRow) -> tuple[bool, bool, float, int, str]:
    one = row.incident
    return row.muted, row.acknowledged_by is not None, -one.slowdown_ratio, one.start_ns, one.id


def headline(counted: Census) -> str:
    """What there is to say where nothing is wrong."""
    if not counted.jobs:
        return "No job is in sight"
    if counted.unknown == counted.jobs:
        return "Jobs are seen, but the feed cannot tell how they do"
    return "The job runs as it should" if counted.jobs == 1 else f"All {counted.jobs:,} jobs run as they should"


def tone(job: JobRow) -> str:
    """The mark of a job: its worst open incident's, else good, or none where nothing can be told."""
    if job.severity is not None:
        return job.severity
    return "none" if job.verdict == "unknown" or not job.live else "good"


def _line(job: JobRow, *, with_spark: bool) -> JobLine:
    mark = tone(job)
    words = {"none": "cannot tell" if job.live else "gone", "good": "healthy"}.get(mark, mark)
    return JobLine(job, mark, words, draw_spark(job.trend, job.norm_s) if with_spark else "")


def _verdicts(shown: Shown) -> tuple[Verdict, ...]:
    return () if shown == "all" else (shown,)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
