"""Documents kept with incidents, one of each table: the newest replaces the one before."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel
from sqlalchemy import Table, select
from sqlalchemy.exc import IntegrityError

from storage.database.connection import Database, upsert

D = TypeVar("D", bound=BaseModel)


def incident_documents(database: Database, table: Table, incidents: Collection[str], kind: type[D]) -> dict[str, D]:
    """Return the documents of some incidents, by incident; those without any are left out."""
    with database.reading() as connection:
        rows = connection.execute(select(table).where(table.c.incident.in_(incidents))).all()
    return {row.incident: kind.model_validate_json(row.document) for row in rows}


def save_incident_document(database: Database, table: Table, incident: str, document: BaseModel) -> None:
    """Keep a document in place of an earlier one; none where the incident is gone."""
    with suppress(IntegrityError), database.writing() as connection:
        upsert(connection, table, [{"incident": incident, "document": document.model_dump_json()}])
