"""An empty results database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flowprism.service.access import passwords
from storage.database.engine import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Of a service that begins."""
    opened = Database(f"sqlite:///{tmp_path}/results.sqlite")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessing the passwords of these tests may be cheap: hashes of 32 MiB each would take most of their time."""
    monkeypatch.setattr(passwords, "_LOG_COST", 4)
