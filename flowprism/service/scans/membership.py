"""Events for endpoints that joined or left a job since earlier scans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from datamodel.reports.findings import Event, Membership, Place
from datamodel.reports.layout import Groups
from datamodel.reports.report import JobReport
from datamodel.service.result_rows import JobRecord
from diagnose.finding_text import listed


def changes(
    jobs: Iterable[JobReport],
    known: Mapping[str, JobRecord],
    before: Mapping[str, Groups],
    window_end_ns: int,
    seen: Iterable[Event] = (),
) -> Iterator[Event]:
    """Yield an event for each job with changed members, at the end of the window, which is the first to show it.

    Only process groups are complete lists of members. An endpoint joined if it is in the groups now, but neither in the
    groups before nor in the previous scan. It left if it was in the groups before and is not observed any more. Jobs
    without groups before or now are skipped, and so are windows older than the known state.

    Args:
        jobs: of a window, with stable names.
        known: jobs of earlier scans, by name.
        before: latest process groups of earlier scans, by job.
        window_end_ns: of the window, UTC.
        seen: events of the window; endpoints of their membership changes are not reported again.
    """
    named: dict[str, set[str]] = {}
    for event in seen:
        if event.change is not None:
            moved = (*event.change.leavers, *event.change.joiners)
            named.setdefault(event.job, set()).update(place.endpoint for place in moved)
    for job in jobs:
        then, now = before.get(job.id, Groups()).members, job.groups.members
        if not then or not now or job.id not in known or known[job.id].last_seen_ns > window_end_ns:
            continue
        joined = now - then - set(known[job.id].endpoints) - named.get(job.id, set())
        left = then - now - set(job.endpoints) - named.get(job.id, set())
        if joined or left:
            said = "; ".join(filter(None, (_describe(joined, "joined"), _describe(left, "left"))))
            change = Membership(kind=None, leavers=_places(left), joiners=_places(joined))
            yield Event(
                job=job.id,
                kind="membership_change",
                start_ns=window_end_ns,
                end_ns=window_end_ns,
                detail=said,
                change=change,
            )


def _places(endpoints: Collection[str]) -> tuple[Place, ...]:
    return tuple(Place(endpoint=endpoint) for endpoint in sorted(endpoints))


def _describe(some: Collection[str], what: str) -> str:
    return f"{listed(tuple(sorted(some)))} {what}" if some else ""
