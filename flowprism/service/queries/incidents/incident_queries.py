"""Incidents with what people said of them, and the saying: acknowledge, accept, mute, unmute, comment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from datamodel.service.api_models import AlertRow, IncidentDetail, IncidentRow, Note
from datamodel.service.filters import IncidentFilter
from datamodel.service.result_rows import Baseline, IncidentNote
from datamodel.telemetry.profiles import IncidentProfiles
from flowprism.service.queries.incidents.eviction import eviction_advice
from flowprism.service.queries.visibility import can_see, masked, require, restrict_tenant
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.alerts import alerts
from storage.database.incidents.host_answers import host_answers
from storage.database.incidents.incident_pages import KeptIncident, incident_key, incident_page, kept_incident
from storage.database.incidents.incident_profiles import incident_profiles
from storage.database.incidents.incident_records import add_note, history, notes
from storage.database.scans.baselines import accept_baseline

_OPEN = IncidentFilter()


def incidents(
    stores: Stores, viewer: Viewer, now_ns: int, wanted: IncidentFilter = _OPEN, after: str = "", most: int = 100
) -> list[IncidentRow]:
    """Incidents that the viewer sees, those that scans saw last first.

    Args:
        stores: where answers are read from.
        viewer: the caller.
        now_ns: the clock, by which mutes end, UTC.
        wanted: which incidents; by default the open ones.
        after: `after_incident` of the last one of the page before; "" for the first page.
        most: how many.

    Raises:
        StorageError: the database cannot be reached.
        ValueError: `after` is no such key.
    """
    any_seen, tenant = restrict_tenant(viewer, wanted.tenant)
    if not any_seen:
        return []
    found = incident_page(stores.database, replace(wanted, tenant=tenant), now_ns, after, most)
    return [masked(viewer, IncidentRow(**_row(one)), {one.incident.job}) for one in found]


def after_incident(row: IncidentRow) -> str:
    """What a page that goes on behind this row begins after."""
    return incident_key(row.incident)


def incident(
    stores: Stores, viewer: Viewer, now_ns: int, name: str, *, no_execute: bool = False
) -> IncidentDetail | None:
    """The incident of this id with its history; None where there is none that the viewer sees.

    With `no_execute`, plans for Kubernetes end the pods of a host that is to be evicted.
    """
    with stores.database.reading():
        return _detail(stores, viewer, now_ns, name, no_execute)


def _detail(stores: Stores, viewer: Viewer, now_ns: int, name: str, no_execute: bool) -> IncidentDetail | None:
    found = kept_incident(stores.database, name, now_ns)
    if found is None or not can_see(viewer, found.tenant):
        return None
    said = tuple(
        Note(time_ns=one.time_ns, author=one.author, kind=one.kind, text=one.text, until_ns=one.until_ns)
        for one in notes(stores.database, name)
    )
    alerts = tuple(_alerts(stores, name)) if viewer.tenant is None else ()
    profiled = incident_profiles(stores.database, [name]).get(name)
    whole = IncidentDetail(
        **_row(found),
        changes=tuple(history(stores.database, name)),
        notes=said,
        alerts=alerts,
        eviction=eviction_advice(stores, viewer, now_ns, found.incident, no_execute=no_execute),
        hosts=host_answers(stores.database, [name]).get(name),
        profiles=None if profiled is None else profiled.answer,
    )
    return masked(viewer, whole, {found.incident.job})


def profiles(stores: Stores, viewer: Viewer, now_ns: int, name: str) -> IncidentProfiles | None:
    """What profiles show of an incident; None where none were read, or there is none that the viewer sees."""
    with stores.database.reading():
        found = kept_incident(stores.database, name, now_ns)
        if found is None or not can_see(viewer, found.tenant):
            return None
        read = incident_profiles(stores.database, [name]).get(name)
    return None if read is None else masked(viewer, read, {found.incident.job})


def acknowledge(stores: Stores, viewer: Viewer, now_ns: int, name: str, text: str = "") -> IncidentDetail | None:
    """Acknowledge an incident; None where there is none that the viewer sees.

    Raises:
        PermissionDeniedError: the viewer is no operator.
    """
    return _note(stores, viewer, IncidentNote(name, now_ns, viewer.name, "acknowledged", text))


def accept(stores: Stores, viewer: Viewer, now_ns: int, name: str, text: str = "") -> IncidentDetail | None:
    """Make what a job does since its incident began its baseline; None where there is none that the viewer sees.

    The next scan measures it, and ends the incident. An incident of no job is only noted.

    Raises:
        PermissionDeniedError: the viewer is no operator.
    """
    noted = _note(stores, viewer, IncidentNote(name, now_ns, viewer.name, "accepted", text))
    if noted is not None and noted.incident.job is not None:
        since_ns = noted.incident.start_ns
        accept_baseline(stores.database, Baseline(noted.incident.job, since_ns, now_ns, "accepted", viewer.name))
    return noted


def mute(
    stores: Stores, viewer: Viewer, now_ns: int, name: str, reason: str, until_ns: int | None
) -> IncidentDetail | None:
    """Have no alerts of an incident until a time, or for ever; None where there is none that the viewer sees.

    Raises:
        PermissionDeniedError: the viewer is no operator.
    """
    return _note(stores, viewer, IncidentNote(name, now_ns, viewer.name, "muted", reason, until_ns))


def unmute(stores: Stores, viewer: Viewer, now_ns: int, name: str, text: str = "") -> IncidentDetail | None:
    """Have alerts of an incident again; None where there is none that the viewer sees.

    Raises:
        PermissionDeniedError: the viewer is no operator.
    """
    return _note(stores, viewer, IncidentNote(name, now_ns, viewer.name, "unmuted", text))


def comment(stores: Stores, viewer: Viewer, now_ns: int, name: str, text: str) -> IncidentDetail | None:
    """Write something into an incident's history; None where there is none that the viewer sees.

    Raises:
        PermissionDeniedError: the viewer is no operator.
    """
    return _note(stores, viewer, IncidentNote(name, now_ns, viewer.name, "comment", text))


def _note(stores: Stores, viewer: Viewer, note: IncidentNote) -> IncidentDetail | None:
    require(viewer, "operator")
    found = kept_incident(stores.database, note.incident, note.time_ns)
    if found is None or not can_see(viewer, found.tenant) or not add_note(stores.database, note):
        return None
    return incident(stores, viewer, note.time_ns, note.incident)


def _alerts(stores: Stores, name: str) -> Iterator[AlertRow]:
    for one in alerts(stores.database, name):
        yield AlertRow(
            receiver=one.receiver,
            change=one.alert.change,
            state=one.state,
            created_ns=one.created_ns,
            sent_ns=one.sent_ns,
            attempts=one.attempts,
            problem=one.problem,
        )


def _row(found: KeptIncident) -> dict[str, Any]:
    """The fields of an `IncidentRow`."""
    return {
        "incident": found.incident,
        "measured_ns": found.incident.measured_ns,
        "label": found.label,
        "tenant": found.tenant,
        "acknowledged_by": found.standing.acknowledged_by,
        "muted_until_ns": found.standing.muted_until_ns,
        "muted": found.standing.muted,
    }
