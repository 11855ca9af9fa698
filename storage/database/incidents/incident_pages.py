"""Pages of incidents with what people said of them: acknowledged, muted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import JSON, ColumnElement, Row, Select, Text, and_, cast, func, or_, select, type_coerce

from datamodel.service.filters import IncidentFilter
from datamodel.service.incidents import Incident
from storage.database.connection import Database
from storage.database.tables import INCIDENT_CHANGES, INCIDENT_NOTES, INCIDENTS, JOBS

Query = Select[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class IncidentStatus:
    """What people said of an incident, as it counts now.

    Attributes:
        acknowledged_by: author of the last acknowledgement; None without one since it reopened.
        muted: whether it is.
        muted_until_ns: until when; None for ever, and where it is not muted.
    """

    acknowledged_by: str | None = None
    muted: bool = False
    muted_until_ns: int | None = None


@dataclass(frozen=True, slots=True)
class KeptIncident:
    """An incident with its job's label and tenant, and how it stands."""

    incident: Incident
    label: str | None
    tenant: str | None
    standing: IncidentStatus


def incident_page(
    database: Database, wanted: IncidentFilter, now_ns: int, after: str = "", most: int = 100
) -> list[KeptIncident]:
    """Incidents, those seen last first.

    Args:
        database: the results.
        wanted: which of them.
        now_ns: when a mute counts, UTC.
        after: `incident_key` of the last one of the page before; "" for the first page.
        most: how many.

    Raises:
        ValueError: `after` is no such key.
    """
    query = _joined()
    for condition in _conditions(wanted, now_ns):
        query = query.where(condition)
    if after:
        seen_ns, _, name = after.partition(" ")
        same_time = and_(INCIDENTS.c.seen_ns == int(seen_ns), INCIDENTS.c.id > name)
        query = query.where(or_(INCIDENTS.c.seen_ns < int(seen_ns), same_time))
    query = query.order_by(INCIDENTS.c.seen_ns.desc(), INCIDENTS.c.id).limit(most)
    return _kept(database, query, now_ns)


def kept_incident(database: Database, name: str, now_ns: int) -> KeptIncident | None:
    """The incident of this id; None where there is none."""
    return next(iter(_kept(database, _joined().where(INCIDENTS.c.id == name), now_ns)), None)


def incident_key(incident: Incident) -> str:
    """What a page that goes on behind this incident begins after."""
    return f"{incident.seen_ns} {incident.id}"


def standings(database: Database, names: Sequence[str], now_ns: int) -> dict[str, IncidentStatus]:
    """Return the status of incidents by id; those without notes are omitted.

    An acknowledgement counts until the incident is resolved and comes back; the latest mute counts.
    """
    back = select(INCIDENT_CHANGES.c.incident, func.max(INCIDENT_CHANGES.c.time_ns))
    back = back.where(INCIDENT_CHANGES.c.incident.in_(names) & (INCIDENT_CHANGES.c.kind == "reopened"))
    said = select(INCIDENT_NOTES).where(INCIDENT_NOTES.c.incident.in_(names) & (INCIDENT_NOTES.c.kind != "comment"))
    with database.reading() as connection:
        reopened = {row[0]: row[1] for row in connection.execute(back.group_by(INCIDENT_CHANGES.c.incident))}
        notes = connection.execute(said.order_by(INCIDENT_NOTES.c.time_ns, INCIDENT_NOTES.c.kind)).all()
    found: dict[str, IncidentStatus] = {}
    for note in notes:
        if note.kind == "acknowledged" and note.time_ns < reopened.get(note.incident, 0):
            continue
        found[note.incident] = _with(found.get(note.incident, IncidentStatus()), note, now_ns)
    return found


def _with(before: IncidentStatus, note: Row[tuple[object, ...]], now_ns: int) -> IncidentStatus:
    if note.kind == "acknowledged":
        return replace(before, acknowledged_by=note.author)
    muted = note.kind == "muted" and (note.until_ns is None or note.until_ns > now_ns)
    return replace(before, muted=muted, muted_until_ns=note.until_ns if muted else None)


def _joined() -> Query:
    """Join incidents with their jobs; those without a job remain."""
    query = select(INCIDENTS.c.id, INCIDENTS.c.document, JOBS.c.label, JOBS.c.tenant)
    return query.outerjoin(JOBS, JOBS.c.id == INCIDENTS.c.job)


def _kept(database: Database, query: Query, now_ns: int) -> list[KeptIncident]:
    with database.reading() as connection:
        rows = connection.execute(query).all()
        said = standings(database, [row.id for row in rows], now_ns) if rows else {}
    return [
        KeptIncident(
            Incident.model_validate_json(row.document), row.label, row.tenant, said.get(row.id, IncidentStatus())
        )
        for row in rows
    ]


def _conditions(wanted: IncidentFilter, now_ns: int) -> Iterator[ColumnElement[bool]]:
    listed = (("state", wanted.states), ("kind", wanted.kinds), ("severity", wanted.severities))
    for name, values in listed:
        if values:
            yield INCIDENTS.c[name].in_(values)
    if wanted.job is not None:
        yield INCIDENTS.c.job == wanted.job
    if wanted.tenant is not None:
        yield JOBS.c.tenant == wanted.tenant if wanted.tenant else JOBS.c.tenant.is_(None)
    if wanted.text:
        document = type_coerce(cast(INCIDENTS.c.document, Text().with_variant(JSON(), "postgresql")), JSON)
        texts = (JOBS.c.label, document["summary"].as_string(), document["subject"]["ids"].as_string())
        yield or_(INCIDENTS.c.id == wanted.text, *(text.icontains(wanted.text, autoescape=True) for text in texts))
    if wanted.since_ns:
        yield INCIDENTS.c.seen_ns >= wanted.since_ns
    if wanted.until_ns is not None:
        yield INCIDENTS.c.start_ns < wanted.until_ns
    if wanted.muted is not None:
        yield _muted(now_ns) if wanted.muted else ~_muted(now_ns)
    if wanted.acknowledged is not None:
        yield _acknowledged() if wanted.acknowledged else ~_acknowledged()


def _muted(now_ns: int) -> ColumnElement[bool]:
    """The last word about muting is a mute that is not over."""
    note, later = INCIDENT_NOTES.alias("mute"), INCIDENT_NOTES.alias("later")
    newer = (later.c.incident == note.c.incident) & (later.c.time_ns > note.c.time_ns)
    newer &= later.c.kind.in_(("muted", "unmuted"))
    in_force = note.c.until_ns.is_(None) | (note.c.until_ns > now_ns)
    mine = (note.c.incident == INCIDENTS.c.id) & (note.c.kind == "muted") & in_force
    return select(note.c.incident).where(mine & ~select(later.c.incident).where(newer).exists()).exists()


def _acknowledged() -> ColumnElement[bool]:
    """There is an acknowledgement, and the incident has not come back since."""
    note, change = INCIDENT_NOTES.alias("acknowledgement"), INCIDENT_CHANGES.alias("return")
    back = (change.c.incident == note.c.incident) & (change.c.kind == "reopened") & (change.c.time_ns > note.c.time_ns)
    mine = (note.c.incident == INCIDENTS.c.id) & (note.c.kind == "acknowledged")
    return select(note.c.incident).where(mine & ~select(change.c.incident).where(back).exists()).exists()
