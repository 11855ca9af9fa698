"""Counts of what is kept, on both engines."""

from __future__ import annotations

from storage.database.engine import Database
from storage.database.feeds import save_inventory
from storage.database.figures import incident_counts, inventory_time_ns, jobs_seen, newest_scans
from storage.database.scans import ScanResult, save_scan
from tests.storage.database import results


def test_newest_scans(database: Database) -> None:
    """One of each policy: that of the window that ends last."""
    assert newest_scans(database) == []
    for end_ns, policy in ((300, "all"), (200, "all"), (250, "some")):
        save_scan(database, ScanResult(results.kept(end_ns, policy)))
    assert [(scan.policy, scan.window_end_ns, scan.finished_ns) for scan in newest_scans(database)] == [
        ("all", 300, 302),
        ("some", 250, 252),
    ]


def test_incidents_and_jobs_are_counted(database: Database) -> None:
    """Those under way; those seen behind a time."""
    assert incident_counts(database) == {}
    assert jobs_seen(database, 0) == 0
    cases = [results.incident("i1"), results.incident("i2"), results.incident("i3", severity="critical")]
    cases.append(results.incident("i4", state="resolved", resolved_ns=5))
    save_scan(database, ScanResult(results.kept(100), jobs=[results.job("j1"), results.job("j2")], incidents=cases))
    assert incident_counts(database) == {("open", "straggler", "warning"): 2, ("open", "straggler", "critical"): 1}
    assert jobs_seen(database, 99) == 2
    assert jobs_seen(database, 100) == 0


def test_inventory_time(database: Database) -> None:
    """That of the newest."""
    assert inventory_time_ns(database) is None
    save_inventory(database, results.inventory(), "ann", 7)
    assert inventory_time_ns(database) == 7
