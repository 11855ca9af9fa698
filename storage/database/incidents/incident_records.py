"""Incidents, their history, and what people note about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import IntegrityError

from datamodel.service.incidents import ChangeKind, Incident, IncidentChange, IncidentState
from datamodel.service.result_rows import IncidentNote
from storage.database.connection import Database, upsert
from storage.database.tables import INCIDENT_CHANGES, INCIDENT_NOTES, INCIDENTS, JOBS


def incidents(
    database: Database,
    states: Sequence[IncidentState] = ("open",),
    job: str | None = None,
    tenant: str | None = None,
    seen_since_ns: int = 0,
    most: int = 1000,
) -> list[Incident]:
    """Incidents in some states, those seen last first.

    Args:
        database: the results.
        states: which of them.
        job: of one job; None for all, and for those of no job.
        tenant: whose jobs; None for all.
        seen_since_ns: only those that a scan has seen since.
        most: how many.
    """
    query = select(INCIDENTS.c.document).where(INCIDENTS.c.state.in_(states) & (INCIDENTS.c.seen_ns >= seen_since_ns))
    if job is not None:
        query = query.where(INCIDENTS.c.job == job)
    if tenant is not None:
        query = query.join(JOBS, JOBS.c.id == INCIDENTS.c.job).where(JOBS.c.tenant == tenant)
    query = query.order_by(INCIDENTS.c.seen_ns.desc(), INCIDENTS.c.id).limit(most)
    with database.reading() as connection:
        return [Incident.model_validate_json(text) for text in connection.execute(query).scalars()]


def incident(database: Database, name: str) -> Incident | None:
    """The incident of this id; None where there is none."""
    query = select(INCIDENTS.c.document).where(INCIDENTS.c.id == name)
    with database.reading() as connection:
        text = connection.execute(query).scalar()
    return None if text is None else Incident.model_validate_json(text)


def history(database: Database, name: str) -> list[IncidentChange]:
    """What happened to an incident, in order of time."""
    query = select(INCIDENT_CHANGES).where(INCIDENT_CHANGES.c.incident == name)
    query = query.order_by(INCIDENT_CHANGES.c.time_ns, INCIDENT_CHANGES.c.kind)
    with database.reading() as connection:
        return [
            IncidentChange(
                incident=row.incident, time_ns=row.time_ns, kind=cast("ChangeKind", row.kind), detail=row.detail
            )
            for row in connection.execute(query)
        ]


def add_note(database: Database, note: IncidentNote) -> bool:
    """Store a person's note on an incident, once if repeated; returns whether there is such an incident."""
    try:
        with database.writing() as connection:
            upsert(connection, INCIDENT_NOTES, [asdict(note)])
    except IntegrityError:
        return False
    return True


def notes(database: Database, name: str) -> list[IncidentNote]:
    """What people did about an incident, in order of time."""
    query = select(INCIDENT_NOTES).where(INCIDENT_NOTES.c.incident == name)
    query = query.order_by(INCIDENT_NOTES.c.time_ns, INCIDENT_NOTES.c.author, INCIDENT_NOTES.c.kind)
    with database.reading() as connection:
        return [IncidentNote(**row._asdict()) for row in connection.execute(query)]


def forget_incidents(database: Database, before_ns: int) -> int:
    """Remove incidents that were resolved before a time, with their history; how many."""
    with database.writing() as connection:
        return connection.execute(delete(INCIDENTS).where(INCIDENTS.c.resolved_ns < before_ns)).rowcount


def incident_rows(after: Sequence[Incident]) -> list[dict[str, object]]:
    """Rows of incidents as a scan left them."""
    columns = ("id", "job", "kind", "state", "severity", "start_ns", "seen_ns", "resolved_ns")
    return [{**{name: getattr(one, name) for name in columns}, "document": one.model_dump_json()} for one in after]


def write_changes(connection: Connection, changes: Sequence[IncidentChange]) -> None:
    """What a scan changed, inside its transaction. What was dismissed goes, and its history with it."""
    gone = {change.incident for change in changes if change.kind == "dismissed"}
    if gone:
        connection.execute(delete(INCIDENTS).where(INCIDENTS.c.id.in_(sorted(gone))))
    upsert(connection, INCIDENT_CHANGES, [change.model_dump() for change in changes if change.incident not in gone])
