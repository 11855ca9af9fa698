"""What several rooms of the product's shell are tested with."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from flowprism.service.queries.changes import Change, ChangeTracker
from tests.flowprism.command_line import Run, runner
from tests.storage.database.made_tables import without_steps


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("analyze", ...)` runs the command line and gives exit code, stdout and stderr."""
    return runner(monkeypatch, capsys)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Set once a process has looked for changes: the first look is what new things are compared with."""
    event, look = Event(), ChangeTracker.look

    def looking(watch: ChangeTracker) -> list[Change]:
        found = look(watch)
        event.set()
        return found

    monkeypatch.setattr(ChangeTracker, "look", looking)
    return event


@pytest.fixture(scope="package", autouse=True)
def _tables_without_steps() -> Iterator[None]:
    """Results databases get their tables at once; `test_schema_migration.py` goes the way of every version."""
    with without_steps():
        yield
