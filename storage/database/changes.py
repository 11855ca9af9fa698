"""What became new since one looked last: few columns of few rows, so that one may look every second."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select

from storage.database.connection import Database
from storage.database.scans.summaries import parsed
from storage.database.tables import INCIDENT_CHANGES, INCIDENT_NOTES, INCIDENTS, JOBS, SCANS

_NEWEST_SCANS = 200

ScanKey = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class NewScan:
    """A scan: policy and window, its verdict, and the tenants whose jobs were in it."""

    policy: str
    window_start_ns: int
    window_end_ns: int
    verdict: str
    tenants: frozenset[str]


@dataclass(frozen=True, slots=True)
class TouchedIncident:
    """An incident that a scan or a person changed, with its tenant, or None."""

    id: str
    job: str | None
    state: str
    severity: str
    tenant: str | None


def newest_scan_keys(database: Database) -> list[ScanKey]:
    """Policy, begin and end of the newest windows that were scanned."""
    query = select(SCANS.c.policy, SCANS.c.window_start_ns, SCANS.c.window_end_ns)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(SCANS.c.window_end_ns.desc()).limit(_NEWEST_SCANS))
        return [(row.policy, row.window_start_ns, row.window_end_ns) for row in rows]


def new_scans(database: Database, keys: Collection[ScanKey]) -> list[NewScan]:
    """Some scans, in order of their windows' ends."""
    ends = sorted({end_ns for _, _, end_ns in keys})
    columns = (SCANS.c.policy, SCANS.c.window_start_ns, SCANS.c.window_end_ns, SCANS.c.verdict, SCANS.c.summary)
    query = select(*columns).where(SCANS.c.window_end_ns.in_(ends)).order_by(SCANS.c.window_end_ns, SCANS.c.policy)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [NewScan(*row[:4], tenants=frozenset(parsed(row.summary).tenants)) for row in rows if tuple(row[:3]) in keys]


def touched_by_scans(database: Database, ends_ns: Collection[int]) -> list[TouchedIncident]:
    """Incidents that scans of windows with these ends saw, or changed."""
    changed = select(INCIDENT_CHANGES.c.incident).where(INCIDENT_CHANGES.c.time_ns.in_(ends_ns))
    return _touched(database, INCIDENTS.c.seen_ns.in_(ends_ns) | INCIDENTS.c.id.in_(changed))


def touched_by_people(database: Database, since_ns: int) -> list[TouchedIncident]:
    """List incidents with notes after this time."""
    noted = select(INCIDENT_NOTES.c.incident).where(INCIDENT_NOTES.c.time_ns > since_ns)
    return _touched(database, INCIDENTS.c.id.in_(noted))


def newest_note_ns(database: Database) -> int:
    """When a person last said something of an incident; 0 before the first time."""
    with database.reading() as connection:
        return connection.execute(select(func.max(INCIDENT_NOTES.c.time_ns))).scalar() or 0


def _touched(database: Database, condition: ColumnElement[bool]) -> list[TouchedIncident]:
    query = select(INCIDENTS.c.id, INCIDENTS.c.job, INCIDENTS.c.state, INCIDENTS.c.severity, JOBS.c.tenant)
    query = query.outerjoin(JOBS, JOBS.c.id == INCIDENTS.c.job).where(condition).order_by(INCIDENTS.c.id)
    with database.reading() as connection:
        return [TouchedIncident(*row) for row in connection.execute(query)]
