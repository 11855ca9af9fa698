"""Whether the service knows when it is not well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodel.service.api_models import ComponentStatus
from flowprism.service.config.settings import Settings
from flowprism.service.monitoring import health
from flowprism.service.monitoring.health import checks
from flowprism.service.stores import Stores
from storage.database.components import save_component
from storage.database.connection import Database
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results

SECOND_NS = 1_000_000_000
NOW_NS = 1_700_000_000 * SECOND_NS
SETTINGS = Settings.model_validate(
    {"scans": {"policies": [{"name": "health", "every_s": 60}], "patience_s": 10, "settle_s": 5}}
)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """A service that is well."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    (tmp_path / "flows").mkdir()
    yield Stores(database, str(tmp_path / "flows"))
    database.close()


def speak(stores: Stores, name: str, ago_s: float, **more: object) -> None:
    """Have a part say something."""
    seen_ns = NOW_NS - round(ago_s * SECOND_NS)
    said = {"name": name, "kind": "scanner", "started_ns": NOW_NS - 200 * SECOND_NS, "seen_ns": seen_ns}
    save_component(stores.database, ComponentStatus.model_validate(said | more))


def scanned(stores: Stores, ago_s: float, policy: str = "health") -> None:
    """Keep a scan of a window that ended so long ago."""
    end_ns = NOW_NS - round(ago_s * SECOND_NS)
    save_scan(stores.database, ScanResult(results.kept(end_ns, policy)))


def ill(stores: Stores, settings: Settings = SETTINGS) -> dict[str, str]:
    """What is not well."""
    return {check.name: check.detail for check in checks(stores, settings, NOW_NS) if not check.well}


def test_all_is_well(stores: Stores) -> None:
    """Before anything was scanned, with parts that speak, and with a scan that is new."""
    assert ill(stores) == {}
    speak(stores, "scanner a", 29.0)
    scanned(stores, 190.0)
    assert ill(stores) == {}


def test_silent_and_unwell_components(stores: Stores) -> None:
    """A part that is silent is missed for an hour; one that speaks may say that it is not well."""
    scanned(stores, 1.0)
    speak(stores, "scanner a", 31.0)
    speak(stores, "scanner b", 1.0, healthy=False, detail="no records for 90 s")
    speak(stores, "scanner gone", 3601.0)
    assert ill(stores) == {"components": "scanner a: silent for 31 s; scanner b: no records for 90 s"}


def test_late_scans(stores: Stores) -> None:
    """A policy that misses three windows and the patience is late; one never scanned, since the scanner began."""
    scanned(stores, 196.0)
    assert ill(stores) == {"scans": "health: the newest window ended 196 s ago"}
    other = Settings.model_validate({"scans": {"policies": [{"name": "new", "every_s": 20, "window_s": 20}]}})
    assert ill(stores, other) == {}
    speak(stores, "scanner a", 1.0)
    assert ill(stores, other) == {"scans": "new: never scanned, the scanner began 200 s ago"}


def test_the_lake(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is gone, or a disk that is nearly full; a bucket is not looked at from here."""
    assert stores.flows is not None
    monkeypatch.setattr(health, "LEAST_FREE_RATIO", 1.1)
    assert "of the disk is free" in ill(stores)["lake"]
    Path(stores.flows).rmdir()
    assert ill(stores)["lake"].endswith("No such file or directory")
    assert ill(Stores(stores.database, "s3://bucket/flows")) == {}


def test_no_database(stores: Stores) -> None:
    """Nothing can be answered, and the parts and scans are not said to be well."""
    with stores.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE parts")
    found = {check.name: check for check in checks(stores, SETTINGS, NOW_NS)}
    assert not found["database"].well
    assert found["database"].needed
    assert found["components"].detail == found["scans"].detail == "the database is away"
