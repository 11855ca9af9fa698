"""What profiles show of incidents: the newest reading of each."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from datamodel.profiles import IncidentProfiles
from storage.database.connection import Database, upsert
from storage.database.tables import INCIDENT_PROFILES


def incident_profiles(database: Database, incident: str) -> IncidentProfiles | None:
    """Return what profiles show of an incident; None where none were read."""
    query = select(INCIDENT_PROFILES.c.document).where(INCIDENT_PROFILES.c.incident == incident)
    with database.reading() as connection:
        text = connection.execute(query).scalar()
    return None if text is None else IncidentProfiles.model_validate_json(text)


def save_incident_profiles(database: Database, incident: str, profiles: IncidentProfiles) -> None:
    """Keep a reading in place of an earlier one; none where the incident is gone."""
    with suppress(IntegrityError), database.writing() as connection:
        upsert(connection, INCIDENT_PROFILES, [{"incident": incident, "document": profiles.model_dump_json()}])
