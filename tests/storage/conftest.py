"""A results database on each engine; PostgreSQL as a private cluster under a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from storage.database.connection import Database
from tests.storage.database.made_tables import without_steps

NUMBERS = count(1)
SETTINGS = {"listen_addresses": "''", "fsync": "off", "max_connections": "50", "unix_socket_permissions": "0777"}


def program(name: str) -> str | None:
    """Where a program of PostgreSQL's server lies; Debian keeps them out of the path."""
    found = shutil.which(name)
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return found or (str(kept[0]) if kept else None)


class Cluster:
    """A server of our own, which nobody else reaches."""

    def __init__(self, folder: Path) -> None:
        """Make it and start it."""
        self.folder = folder
        # The server refuses to run as root.
        self._as = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "nobody", "nogroup")
        self.run("initdb", "--no-sync", "--auth=trust", "--username=tester", "--encoding=UTF8", "--locale=C")
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in SETTINGS.items())
            file.write(f"unix_socket_directories = '{folder}'\n")
        self.start()

    def run(self, name: str, *arguments: str) -> None:
        """Run one of its programs on it."""
        command = [*self._as, str(program(name)), *arguments, "-D", str(self.folder / "data")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start the server and wait until it answers."""
        log = str(self.folder / "log")
        command = [*self._as, str(program("pg_ctl")), "start", "-w", "-l", log, "-D", str(self.folder / "data")]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=self.folder)

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; "immediate" is as if it had been killed."""
        self.run("pg_ctl", "stop", "-w", "-m", mode)

    def address(self, name: str) -> str:
        """Of a database in it."""
        return f"postgresql://tester@/{name}?host={self.folder}"

    def new(self) -> str:
        """Address of a new, empty database."""
        name = f"test{next(NUMBERS)}"
        admin = create_engine(
            self.address("postgres").replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )
        with admin.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        admin.dispose()
        return self.address(name)

    def new_schema(self) -> str:
        """Address of a new, empty schema: a database is a thousand files, to write and in the end to remove."""
        name = f"test{next(NUMBERS)}"
        admin = create_engine(self.address("postgres").replace("postgresql:", "postgresql+psycopg:"))
        with admin.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        admin.dispose()
        return f"{self.address('postgres')}&options=-csearch_path%3D{name}"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A running server; tests that need one are skipped where there is none."""
    missing = [name for name in ("initdb", "pg_ctl", "postgres") if program(name) is None]
    if missing:
        pytest.skip(f"no {missing[0]} on this machine (Debian: postgresql)")
    with tempfile.TemporaryDirectory(prefix="flowprism-pg-") as name:  # short: a socket's path has 107 characters
        made = Cluster(Path(name))
        yield made
        made.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database on each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/results.sqlite"
    made: Cluster = request.getfixturevalue("cluster")
    return made.new_schema()


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """A results database, its tables made at once: `test_schema_migration.py` goes the way of every version."""
    with without_steps():
        opened = Database(address)
    yield opened
    opened.close()
