"""What hosts answered about incidents: the newest answer of each."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from datamodel.host_cause import HostAnswer
from storage.database.connection import Database, upsert
from storage.database.tables import HOST_ANSWERS


def host_answers(database: Database, incidents: Collection[str]) -> dict[str, HostAnswer]:
    """Return the answers about some incidents, by incident."""
    with database.reading() as connection:
        rows = connection.execute(select(HOST_ANSWERS).where(HOST_ANSWERS.c.incident.in_(incidents))).all()
    return {row.incident: HostAnswer.model_validate_json(row.document) for row in rows}


def save_host_answer(database: Database, incident: str, answer: HostAnswer) -> None:
    """Keep an answer in place of an earlier one; none where the incident is gone."""
    with suppress(IntegrityError), database.writing() as connection:
        upsert(connection, HOST_ANSWERS, [{"incident": incident, "document": answer.model_dump_json()}])
