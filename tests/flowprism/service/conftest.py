"""Stores that tests of answers share; who changes one makes one for itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flowprism.service.access.accounts import passwords
from flowprism.service.stores import Stores
from tests.flowprism.service.stored import stored_demo, stored_many


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """The bundled capture, scanned."""
    stores = stored_demo(tmp_path_factory.mktemp("demo"))
    yield stores
    stores.database.close()


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Forty jobs of three tenants and of nobody, two days of hours."""
    stores = stored_many(tmp_path_factory.mktemp("many"), jobs=40, days=2, endpoints=16)
    yield stores
    stores.database.close()


@pytest.fixture
def own_demo(tmp_path: Path) -> Iterator[Stores]:
    """The bundled capture, scanned, for a test that changes something."""
    stores = stored_demo(tmp_path)
    yield stores
    stores.database.close()


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessing the passwords of these tests may be cheap: hashes of 32 MiB each would take most of their time."""
    monkeypatch.setattr(passwords, "_LOG_COST", 4)
