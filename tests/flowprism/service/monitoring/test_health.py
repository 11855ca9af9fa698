"""Whether the service knows when it is not well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodel.api_models import ComponentStatus
from flowprism.service.config.settings import Settings
from flowprism.service.monitoring import health
from flowprism.service.monitoring.health import checks
from flowprism.service.stores import Stores
from storage.database.components import save_component
from storage.database.connection import Database
from storage.database.scans import ScanResult, save_scan
from tests.storage.database import results

SECOND_NS = 1_000_000_000
NOW_NS = 1_700_000_000 * SECOND_NS
SETTINGS = Settings.model_validate(
    {"scans": {"policies": [{"name": "health", "every_s": 60}], "patience_s": 10, "settle_s": 5}}
)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Stores]:
    """A service that is well."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    (tmp_path / "flows").mkdir()
    yield Stores(database, str(tmp_path / "flows"))
    database.close()


def speak(shelf: Stores, name: str, ago_s: float, **more: object) -> None:
    """Have a part say something."""
    seen_ns = NOW_NS - round(ago_s * SECOND_NS)
    said = {"name": name, "kind": "scanner", "started_ns": NOW_NS - 200 * SECOND_NS, "seen_ns": seen_ns}
    save_component(shelf.database, ComponentStatus.model_validate(said | more))


def scanned(shelf: Stores, ago_s: float, policy: str = "health") -> None:
    """Keep a scan of a window that ended so long ago."""
    end_ns = NOW_NS - round(ago_s * SECOND_NS)
    save_scan(shelf.database, ScanResult(results.kept(end_ns, policy)))


def ill(shelf: Stores, settings: Settings = SETTINGS) -> dict[str, str]:
    """What is not well."""
    return {check.name: check.detail for check in checks(shelf, settings, NOW_NS) if not check.well}


def test_all_is_well(shelf: Stores) -> None:
    """Before anything was scanned, with parts that speak, and with a scan that is new."""
    assert ill(shelf) == {}
    speak(shelf, "scanner a", 29.0)
    scanned(shelf, 190.0)
    assert ill(shelf) == {}


def test_silent_and_unwell_components(shelf: Stores) -> None:
    """A part that is silent is missed for an hour; one that speaks may say that it is not well."""
    scanned(shelf, 1.0)
    speak(shelf, "scanner a", 31.0)
    speak(shelf, "scanner b", 1.0, healthy=False, detail="no records for 90 s")
    speak(shelf, "scanner gone", 3601.0)
    assert ill(shelf) == {"components": "scanner a: silent for 31 s; scanner b: no records for 90 s"}


def test_late_scans(shelf: Stores) -> None:
    """A policy that misses three windows and the patience is late; one never scanned, since the scanner began."""
    scanned(shelf, 196.0)
    assert ill(shelf) == {"scans": "health: the newest window ended 196 s ago"}
    other = Settings.model_validate({"scans": {"policies": [{"name": "new", "every_s": 20, "window_s": 20}]}})
    assert ill(shelf, other) == {}
    speak(shelf, "scanner a", 1.0)
    assert ill(shelf, other) == {"scans": "new: never scanned, the scanner began 200 s ago"}


def test_the_lake(shelf: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is gone, or a disk that is nearly full; a bucket is not looked at from here."""
    assert shelf.flows is not None
    monkeypatch.setattr(health, "LEAST_FREE_RATIO", 1.1)
    assert "of the disk is free" in ill(shelf)["lake"]
    Path(shelf.flows).rmdir()
    assert ill(shelf)["lake"].endswith("No such file or directory")
    assert ill(Stores(shelf.database, "s3://bucket/flows")) == {}


def test_no_database(shelf: Stores) -> None:
    """Nothing can be answered, and the parts and scans are not said to be well."""
    with shelf.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE parts")
    found = {check.name: check for check in checks(shelf, SETTINGS, NOW_NS)}
    assert not found["database"].well
    assert found["database"].needed
    assert found["components"].detail == found["scans"].detail == "the database is away"
