"""Tables of an empty database at once: the many steps that lead to them take longer than most tests' queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import Connection, event, inspect

from storage.database import connection as connections
from storage.database import schema_migration

# What the steps have sent to a server, which it understands without them, with what went along.
_SENT: list[tuple[str, Any]] = []


@contextmanager
def without_steps() -> Iterator[None]:
    """Databases that are made meanwhile get, where they are empty, what the steps have made in another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "upgrade", _upgrade)
        yield


def _upgrade(connection: Connection) -> None:
    if inspect(connection).get_table_names():
        schema_migration.upgrade(connection)
    elif connection.dialect.name == "sqlite":
        for statement in _statements():
            connection.exec_driver_sql(statement)
    elif _SENT:
        for statement, values in _SENT:
            connection.exec_driver_sql(statement, values)
    else:
        _SENT.extend(_sent_by_steps(connection))


def _sent_by_steps(connection: Connection) -> list[tuple[str, Any]]:
    """All that the steps have a server do; they have done it then."""
    sent: list[tuple[str, Any]] = []

    def keep(_on: object, _cursor: object, statement: str, values: object, *_more: object) -> None:
        sent.append((statement, values or None))

    event.listen(connection, "before_cursor_execute", keep)
    try:
        schema_migration.upgrade(connection)
    finally:
        event.remove(connection, "before_cursor_execute", keep)
    return sent


@cache
def _statements() -> tuple[str, ...]:
    """What makes the tables that all steps lead to, with the rows that they leave there."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "upgrade", schema_migration.upgrade)
        connections.Database(f"sqlite:///{folder}/made.sqlite").close()
        with closing(sqlite3.connect(Path(folder) / "made.sqlite")) as made:
            return tuple(one for one in made.iterdump() if one not in {"BEGIN TRANSACTION;", "COMMIT;"})
