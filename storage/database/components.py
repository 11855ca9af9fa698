"""What the running components of the service last said of themselves."""

from __future__ import annotations

from sqlalchemy import delete, select

from datamodel.service.api_models import ComponentStatus
from storage.database.connection import Database, upsert
from storage.database.tables import PARTS


def save_component(database: Database, component: ComponentStatus) -> None:
    """Keep a component's last word; what it said before is replaced."""
    row = component.model_dump(include={"name", "kind", "started_ns", "seen_ns"})
    with database.writing() as connection:
        upsert(connection, PARTS, [{**row, "document": component.model_dump_json()}])


def components(database: Database) -> list[ComponentStatus]:
    """List all components with a stored heartbeat, by name."""
    with database.reading() as connection:
        found = connection.execute(select(PARTS.c.document).order_by(PARTS.c.name)).scalars()
        return [ComponentStatus.model_validate_json(text) for text in found]


def forget_components(database: Database, before_ns: int) -> int:
    """Remove components with their last heartbeat before a time; returns their number."""
    with database.writing() as connection:
        return connection.execute(delete(PARTS).where(PARTS.c.seen_ns < before_ns)).rowcount
