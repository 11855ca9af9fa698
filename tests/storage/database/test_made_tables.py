"""Tests that have their tables made at once have those that every step leads to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import text

from storage.database import connection
from storage.database.connection import Database
from storage.database.schema_migration import upgrade, version
from tests.storage.conftest import Cluster
from tests.storage.database.made_tables import without_steps


def dump(file: Path) -> list[str]:
    """All that a database holds, as statements."""
    with closing(sqlite3.connect(file)) as made:
        return sorted(made.iterdump())


def test_tables_made_at_once_are_those_of_all_steps(tmp_path: Path) -> None:
    """To the word, with the version; a database that has tables is brought up to date by its steps."""
    with without_steps():
        assert vars(connection)["upgrade"] is not upgrade
        at_once = Database(f"sqlite:///{tmp_path}/at-once.sqlite")
        again = Database(f"sqlite:///{tmp_path}/at-once.sqlite")
    assert vars(connection)["upgrade"] is upgrade
    by_steps = Database(f"sqlite:///{tmp_path}/by-steps.sqlite")
    with at_once.reading() as one, by_steps.reading() as other:
        assert version(one) == version(other) is not None
    for database in (at_once, again, by_steps):
        database.close()
    assert dump(tmp_path / "at-once.sqlite") == dump(tmp_path / "by-steps.sqlite")


HELD = (
    (
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns"
        " WHERE table_schema = current_schema()"
    ),
    (
        "SELECT tablename, indexname, replace(indexdef, current_schema(), '') FROM pg_indexes"
        " WHERE schemaname = current_schema()"
    ),
    (
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = current_schema()::regnamespace"
    ),
    "SELECT version_num FROM alembic_version",
)


def test_a_servers_tables_made_at_once_are_those_of_all_steps(cluster: Cluster) -> None:
    """Columns, indexes, constraints and the version, the first time and the next."""
    found = []
    with without_steps():
        made = [Database(cluster.new_schema()) for _ in range(2)]
    for database in (*made, Database(cluster.new_schema())):
        with database.reading() as one:
            found.append([sorted(map(str, one.execute(text(query)))) for query in HELD])
        database.close()
    assert found[0] == found[1] == found[2]
    assert all(found[0])
