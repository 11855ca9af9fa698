"""Who joined a job and who left it since its former scans, as an event."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from datamodel.findings import Event, Membership, Place
from datamodel.layout import Groups
from datamodel.report import JobReport
from datamodel.result_rows import JobRecord
from diagnose.finding_text import listed


def changes(
    jobs: Iterable[JobReport],
    known: Mapping[str, JobRecord],
    before: Mapping[str, Groups],
    window_end_ns: int,
    seen: Iterable[Event] = (),
) -> Iterator[Event]:
    """An event for each job that others are in now; dated by the end of the window, which is the first to show it.

    Only groups tell that everybody was seen: whoever they name now is new where neither the groups before named it nor
    the scan before saw it, and whoever they named has left where nothing of it is seen any more. A job of which either
    names nobody is passed over, and so is a window that is older than what is known.

    Args:
        jobs: of a window, under the names that last.
        known: jobs of former scans, by name.
        before: process groups that former scans found last, by job.
        window_end_ns: of the window, UTC.
        seen: events of the window; whom a change among them names left or joined then.
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
            said = "; ".join(filter(None, (_told(joined, "joined"), _told(left, "left"))))
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


def _told(some: Collection[str], what: str) -> str:
    return f"{listed(tuple(sorted(some)))} {what}" if some else ""
