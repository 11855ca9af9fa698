"""What hosts answered about incidents: the newest answer of each."""

from __future__ import annotations

from collections.abc import Collection

from datamodel.reports.host_cause import HostAnswer
from storage.database.connection import Database
from storage.database.incidents.incident_documents import incident_documents, save_incident_document
from storage.database.tables import HOST_ANSWERS


def host_answers(database: Database, incidents: Collection[str]) -> dict[str, HostAnswer]:
    """Return the answers about some incidents, by incident."""
    return incident_documents(database, HOST_ANSWERS, incidents, HostAnswer)


def save_host_answer(database: Database, incident: str, answer: HostAnswer) -> None:
    """Keep an answer in place of an earlier one; none where the incident is gone."""
    save_incident_document(database, HOST_ANSWERS, incident, answer)
