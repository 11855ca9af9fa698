"""An empty results database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.database.connection import Database


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with its tables, made once: each test begins with a copy."""
    file = tmp_path_factory.mktemp("empty") / "results.sqlite"
    Database(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def database(empty: Path, tmp_path: Path) -> Iterator[Database]:
    """Of a service that begins."""
    shutil.copy(empty, tmp_path / "results.sqlite")
    opened = Database(f"sqlite:///{tmp_path}/results.sqlite")
    yield opened
    opened.close()
