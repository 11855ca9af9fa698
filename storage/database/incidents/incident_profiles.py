"""What profiles show of incidents: the newest reading of each."""

from __future__ import annotations

from collections.abc import Collection

from datamodel.telemetry.profiles import IncidentProfiles
from storage.database.connection import Database
from storage.database.incidents.incident_documents import incident_documents, save_incident_document
from storage.database.tables import INCIDENT_PROFILES


def incident_profiles(database: Database, incidents: Collection[str]) -> dict[str, IncidentProfiles]:
    """Return what profiles show of some incidents, by incident; those without any are left out."""
    return incident_documents(database, INCIDENT_PROFILES, incidents, IncidentProfiles)


def save_incident_profiles(database: Database, incident: str, profiles: IncidentProfiles) -> None:
    """Keep a reading in place of an earlier one; none where the incident is gone."""
    save_incident_document(database, INCIDENT_PROFILES, incident, profiles)
