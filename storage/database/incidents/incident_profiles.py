"""What profiles show of incidents: the newest reading of each."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from datamodel.profiles import IncidentProfiles
from storage.database.connection import Database, upsert
from storage.database.tables import INCIDENT_PROFILES


def incident_profiles(database: Database, incidents: Collection[str]) -> dict[str, IncidentProfiles]:
    """Return what profiles show of some incidents, by incident; those without any are left out."""
    query = select(INCIDENT_PROFILES).where(INCIDENT_PROFILES.c.incident.in_(incidents))
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return {row.incident: IncidentProfiles.model_validate_json(row.document) for row in rows}


def save_incident_profiles(database: Database, incident: str, profiles: IncidentProfiles) -> None:
    """Keep a reading in place of an earlier one; none where the incident is gone."""
    with suppress(IntegrityError), database.writing() as connection:
        upsert(connection, INCIDENT_PROFILES, [{"incident": incident, "document": profiles.model_dump_json()}])
