"""Tables of an empty SQLite database at once: the many steps that lead to them take longer than most tests' queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import Connection, inspect

from storage.database import connection as connections
from storage.database import schema_migration


@contextmanager
def without_steps() -> Iterator[None]:
    """Databases that are made meanwhile get, where they are empty, what the steps have made in another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "upgrade", _upgrade)
        yield


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name != "sqlite" or inspect(connection).get_table_names():
        schema_migration.upgrade(connection)
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)


@cache
def _statements() -> tuple[str, ...]:
    """What makes the tables that all steps lead to, with the rows that they leave there."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "upgrade", schema_migration.upgrade)
        connections.Database(f"sqlite:///{folder}/made.sqlite").close()
        with closing(sqlite3.connect(Path(folder) / "made.sqlite")) as made:
            return tuple(one for one in made.iterdump() if one not in {"BEGIN TRANSACTION;", "COMMIT;"})
