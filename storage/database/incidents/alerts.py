"""The outbox of alerts: written with the scan that caused them, kept until their receiver has accepted them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, select, update

from datamodel.service.alerts import GIVEN_UP_NS, WITHHELD_NS, Alert, AlertTally, OutgoingAlert
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import IncidentNote
from storage.database.connection import Database, insert_new
from storage.database.tables import ALERTS, INCIDENT_CHANGES, INCIDENT_NOTES, INCIDENTS, JOBS

_WAITING = ALERTS.c.sent_ns.is_(None) & (ALERTS.c.due_ns < WITHHELD_NS)
_SENT = ALERTS.c.sent_ns.is_not(None) | (ALERTS.c.due_ns != WITHHELD_NS)


def write_alerts(connection: Connection, alerts: Sequence[OutgoingAlert]) -> None:
    """Put alerts into the outbox, inside the scan's transaction; one that is there stays as it is."""
    for alert in sorted(alerts, key=lambda one: one.id):
        insert_new(connection, ALERTS, _row(alert))


def add_alerts(database: Database, alerts: Sequence[OutgoingAlert]) -> None:
    """Put alerts into the outbox that no scan caused; one that is there stays as it is."""
    if alerts:
        with database.writing() as connection:
            write_alerts(connection, alerts)


def waiting_alerts(database: Database, receiver: str, most: int = 1000) -> list[OutgoingAlert]:
    """List what a receiver has not accepted yet, in order of creation."""
    query = select(ALERTS).where(_WAITING & (ALERTS.c.receiver == receiver))
    return _alerts(database, query.order_by(ALERTS.c.created_ns, ALERTS.c.id).limit(most))


def alerts(
    database: Database, incident: str | None = None, before_ns: int | None = None, most: int = 100
) -> list[OutgoingAlert]:
    """The newest alerts, of one incident or all, created before a time; newest first."""
    query = select(ALERTS).order_by(ALERTS.c.created_ns.desc(), ALERTS.c.id).limit(most)
    if incident is not None:
        query = query.where(ALERTS.c.incident == incident)
    if before_ns is not None:
        query = query.where(ALERTS.c.created_ns < before_ns)
    return _alerts(database, query)


def resolved_alerts(database: Database, receiver: str, since_ns: int) -> list[OutgoingAlert]:
    """What a receiver has accepted since a time of incidents that are over still, in order of time."""
    over = select(INCIDENTS.c.id).where(INCIDENTS.c.state == "resolved")
    query = select(ALERTS).where((ALERTS.c.receiver == receiver) & (ALERTS.c.sent_ns >= since_ns))
    found = _alerts(database, query.where(ALERTS.c.incident.in_(over)).order_by(ALERTS.c.sent_ns, ALERTS.c.id))
    return [one for one in found if one.alert.status == "resolved"]


def claim_alerts(database: Database, names: Collection[str], message: str, due_ns: int) -> None:
    """Note that alerts are about to be sent together, before it is done: they go together ever after.

    Args:
        database: the results.
        names: ids.
        message: what they are sent as.
        due_ns: when to try again without an answer.
    """
    with database.writing() as connection:
        rows = connection.execute(select(ALERTS.c.id, ALERTS.c.document).where(ALERTS.c.id.in_(names))).all()
        for row in sorted(rows, key=lambda one: one.id):
            document = json.dumps({**json.loads(row.document), "message": message})
            tried = {"attempts": ALERTS.c.attempts + 1, "due_ns": due_ns, "document": document}
            connection.execute(update(ALERTS).where(ALERTS.c.id == row.id).values(tried))


def mark_sent(database: Database, names: Collection[str], now_ns: int) -> None:
    """The receiver has accepted these."""
    _mark(database, names, sent_ns=now_ns, problem="")


def mark_failed(database: Database, names: Collection[str], problem: str, due_ns: int) -> None:
    """The receiver has not accepted these: what it said, and when to try again, or GIVEN_UP_NS."""
    _mark(database, names, problem=problem, due_ns=due_ns)


def suppress(database: Database, names: Collection[str], reason: str) -> None:
    """Mark these as suppressed, for a reason."""
    _mark(database, names, problem=reason, due_ns=WITHHELD_NS)


def get_last_sent(database: Database) -> dict[tuple[str, str], int]:
    """(Open incident, receiver) -> when an alert of it was created last that is not withheld."""
    query = select(ALERTS.c.incident, ALERTS.c.receiver, func.max(ALERTS.c.created_ns).label("created_ns"))
    query = query.join(INCIDENTS, INCIDENTS.c.id == ALERTS.c.incident).where((INCIDENTS.c.state == "open") & _SENT)
    with database.reading() as connection:
        found = connection.execute(query.group_by(ALERTS.c.incident, ALERTS.c.receiver)).all()
    return {(row.incident, row.receiver): row.created_ns for row in found}


def open_incidents(database: Database) -> list[tuple[Incident, str | None, str | None]]:
    """Open incidents by id, each with its job's label and tenant."""
    query = select(INCIDENTS.c.document, JOBS.c.label, JOBS.c.tenant)
    query = query.join(JOBS, JOBS.c.id == INCIDENTS.c.job, isouter=True).where(INCIDENTS.c.state == "open")
    with database.reading() as connection:
        rows = connection.execute(query.order_by(INCIDENTS.c.id)).all()
    return [(Incident.model_validate_json(row.document), row.label, row.tenant) for row in rows]


def list_unsent_resolutions(database: Database, since_ns: int) -> list[tuple[str, Incident, str | None, str | None]]:
    """List receiver, incident, label and tenant of ended incidents whose start was sent, but not their end.

    Scans leave ends themselves, except one that was started by hand without receivers.
    """
    ends = ALERTS.c.id.like("%.resolved.%")
    sent, ended = func.max(ALERTS.c.created_ns), func.max(ALERTS.c.created_ns).filter(ends)
    pairs = select(ALERTS.c.incident, ALERTS.c.receiver).join(INCIDENTS, INCIDENTS.c.id == ALERTS.c.incident)
    pairs = pairs.where((INCIDENTS.c.state == "resolved") & (INCIDENTS.c.resolved_ns >= since_ns) & _SENT)
    missing = pairs.group_by(ALERTS.c.incident, ALERTS.c.receiver).having(ended.is_(None) | (ended < sent)).subquery()
    query = select(missing.c.receiver, INCIDENTS.c.document, JOBS.c.label, JOBS.c.tenant)
    query = query.join(INCIDENTS, INCIDENTS.c.id == missing.c.incident)
    query = query.join(JOBS, JOBS.c.id == INCIDENTS.c.job, isouter=True).order_by(INCIDENTS.c.id, missing.c.receiver)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [(row.receiver, Incident.model_validate_json(row.document), row.label, row.tenant) for row in rows]


def notes_about(database: Database, incidents: Collection[str]) -> dict[str, list[IncidentNote]]:
    """Incident -> what people did about it, in order of time; all of these ids are in it."""
    found: dict[str, list[IncidentNote]] = {name: [] for name in incidents}
    query = select(INCIDENT_NOTES).where(INCIDENT_NOTES.c.incident.in_(found))
    query = query.order_by(INCIDENT_NOTES.c.time_ns, INCIDENT_NOTES.c.author, INCIDENT_NOTES.c.kind)
    with database.reading() as connection:
        for row in connection.execute(query):
            found[row.incident].append(IncidentNote(**row._asdict()))
    return found


def last_worsened(database: Database, incidents: Collection[str]) -> dict[str, int]:
    """Incident -> when it last opened, came back or escalated."""
    worse = INCIDENT_CHANGES.c.kind.in_(("opened", "reopened", "escalated"))
    query = select(INCIDENT_CHANGES.c.incident, func.max(INCIDENT_CHANGES.c.time_ns).label("time_ns"))
    query = query.where(worse & INCIDENT_CHANGES.c.incident.in_(incidents)).group_by(INCIDENT_CHANGES.c.incident)
    with database.reading() as connection:
        return {row.incident: row.time_ns for row in connection.execute(query)}


def alert_tallies(database: Database) -> list[AlertTally]:
    """How the alerts of each receiver that ever had any stand, by name."""
    unsent = ALERTS.c.sent_ns.is_(None)
    query = select(
        ALERTS.c.receiver,
        _count(_WAITING).label("waiting"),
        _count(~unsent).label("sent"),
        _count(unsent & (ALERTS.c.due_ns == GIVEN_UP_NS)).label("given_up"),
        _count(unsent & (ALERTS.c.due_ns == WITHHELD_NS)).label("withheld"),
        func.min(ALERTS.c.created_ns).filter(_WAITING).label("oldest_ns"),
    )
    with database.reading() as connection:
        rows = connection.execute(query.group_by(ALERTS.c.receiver).order_by(ALERTS.c.receiver)).all()
    return [AlertTally(**row._asdict()) for row in rows]


def forget_alerts(database: Database, before_ns: int) -> int:
    """Remove alerts created before a time that wait no longer, but for those of open incidents; how many."""
    is_open = select(INCIDENTS.c.id).where(INCIDENTS.c.state == "open")
    old = (ALERTS.c.created_ns < before_ns) & ~_WAITING & ALERTS.c.incident.not_in(is_open)
    with database.writing() as connection:
        return connection.execute(delete(ALERTS).where(old)).rowcount


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count().filter(condition)


def _mark(database: Database, names: Collection[str], **values: object) -> None:
    if names:
        with database.writing() as connection:
            connection.execute(update(ALERTS).where(ALERTS.c.id.in_(names)).values(values))


def _alerts(database: Database, query: Select[*tuple[Any, ...]]) -> list[OutgoingAlert]:
    with database.reading() as connection:
        return [_alert(row) for row in connection.execute(query)]


def _row(one: OutgoingAlert) -> dict[str, object]:
    document = {"message": one.message, "alert": one.alert.model_dump(mode="json")}
    return {
        "id": one.id,
        "receiver": one.receiver,
        "incident": one.alert.incident.id,
        "created_ns": one.created_ns,
        "due_ns": one.due_ns,
        "attempts": one.attempts,
        "sent_ns": one.sent_ns,
        "problem": one.problem,
        "document": json.dumps(document),
    }


def _alert(row: Row[tuple[object, ...]]) -> OutgoingAlert:
    said = json.loads(row.document)
    return OutgoingAlert(
        receiver=row.receiver,
        created_ns=row.created_ns,
        due_ns=row.due_ns,
        alert=Alert.model_validate(said["alert"]),
        attempts=row.attempts,
        sent_ns=row.sent_ns,
        problem=row.problem,
        message=said["message"],
    )
