"""The last word of every part is kept."""

from __future__ import annotations

from datamodel.service.api_models import ComponentStatus
from storage.database.components import components, forget_components, save_component
from storage.database.connection import Database


def test_last_word_counts(database: Database) -> None:
    """What a part says replaces what it said; parts that fell silent can be forgotten."""
    scanner = ComponentStatus(name="scanner h1", kind="scanner", started_ns=1, seen_ns=5, figures={"scans_total": 3.0})
    save_component(database, scanner.model_copy(update={"seen_ns": 2, "healthy": False, "detail": "starting"}))
    save_component(database, ComponentStatus(name="api h1", kind="api", started_ns=1, seen_ns=3))
    save_component(database, scanner)
    assert [part.name for part in components(database)] == ["api h1", "scanner h1"]
    assert components(database)[1] == scanner
    assert forget_components(database, 4) == 1
    assert components(database) == [scanner]
