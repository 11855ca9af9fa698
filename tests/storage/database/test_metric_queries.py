"""Counts of what is kept, on both engines."""

from __future__ import annotations

from datamodel.service.result_rows import REQUESTED
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.metric_queries import incident_counts, inventory_time_ns, newest_scans
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results


def test_newest_scans(database: Database) -> None:
    """One of each policy: that of the window that ends last; scans on demand are no policy's."""
    assert newest_scans(database) == []
    for end_ns, policy in ((300, "all"), (200, "all"), (250, "some"), (400, f"{REQUESTED}1")):
        save_scan(database, ScanResult(results.kept(end_ns, policy)))
    assert [(scan.policy, scan.window_end_ns, scan.finished_ns) for scan in newest_scans(database)] == [
        ("all", 300, 302),
        ("some", 250, 252),
    ]


def test_incidents_are_counted(database: Database) -> None:
    """Those under way."""
    assert incident_counts(database) == {}
    cases = [results.incident("i1"), results.incident("i2"), results.incident("i3", severity="critical")]
    cases.append(results.incident("i4", state="resolved", resolved_ns=5))
    save_scan(database, ScanResult(results.kept(100), jobs=[results.job("j1"), results.job("j2")], incidents=cases))
    assert incident_counts(database) == {("open", "straggler", "warning"): 2, ("open", "straggler", "critical"): 1}


def test_inventory_time(database: Database) -> None:
    """That of the newest."""
    assert inventory_time_ns(database) is None
    save_inventory(database, results.inventory(), "ann", 7)
    assert inventory_time_ns(database) == 7
