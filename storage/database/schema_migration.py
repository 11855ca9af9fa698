"""Bringing the tables to another version: each step is a module in `migrations/versions`, forth and back."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from datamodel.errors import InputError

_LOCK = 0x666C6F77  # one migration at a time, in any process


def upgrade(connection: Connection, to: str = "head") -> None:
    """Bring the tables up to a version, by default the newest.

    Args:
        connection: of a writing transaction; all steps count together with it.
        to: a version, or "head".

    Raises:
        InputError: they are of a version that this flowprism does not know.
    """
    _lock(connection)
    config = _config(connection)
    there = version(connection)
    if there is not None and there not in {
        step.revision for step in ScriptDirectory.from_config(config).walk_revisions()
    }:
        raise InputError(f"{connection.engine.url.render_as_string()}: made by a newer flowprism (tables {there})")
    command.upgrade(config, to)


def downgrade(connection: Connection, to: str) -> None:
    """Bring the tables down to a version; "base" removes them all. What they held beyond it is lost."""
    _lock(connection)
    command.downgrade(_config(connection), to)


def version(connection: Connection) -> str | None:
    """The version of the tables; None before the first."""
    return MigrationContext.configure(connection).get_current_revision()


def _lock(connection: Connection) -> None:
    """SQLite's writing transactions exclude each other by themselves."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
