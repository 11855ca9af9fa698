"""Pages of scans in short, on each engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datamodel.reports.scan import JobScan, Scan, Verdict
from datamodel.service.filters import ScanFilter
from storage.database.connection import Database
from storage.database.scans import scan_pages
from storage.database.scans.scan_pages import kept_scan, scan_key, scan_page
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results


def keep(database: Database, end_ns: int, policy: str, jobs: dict[str | None, Verdict]) -> Scan:
    """A scan with a job of each of these tenants."""
    told = tuple(JobScan(id=f"j-{tenant}", label=None, tenant=tenant, verdict=jobs[tenant]) for tenant in jobs)
    kept = results.kept(end_ns, policy)
    scan = kept.scan.model_copy(update={"jobs": told, "reasons": ('"t9": {',)})
    save_scan(database, ScanResult(replace(kept, scan=scan)))
    return scan


def keys(database: Database, wanted: ScanFilter, tenant: str | None) -> list[tuple[str, int, Verdict, int]]:
    """All scans wanted, read in pages of two."""
    found, after = [], ""
    while page := scan_page(database, wanted, tenant, after, 2):
        found += [(one.policy, one.window_end_ns, one.seen.verdict, one.seen.jobs) for one in page]
        after = scan_key(page[-1].policy, page[-1].window_start_ns, page[-1].window_end_ns)
    return found


def test_pages_of_scans(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest first, each once; a tenant is told of its own part, and of no scan without one."""
    monkeypatch.setattr(scan_pages, "_BATCH", 2)
    keep(database, 100, "a", {"t1": "healthy", None: "findings"})
    keep(database, 200, "a", {"t1": "findings", "t2": "healthy"})
    keep(database, 200, "b", {"t2": "unknown", "whole": "healthy"})
    keep(database, 300, "a", {})
    keep(database, 400, "a", {"t1": "unknown"})
    everything = [("a", 400, 1), ("a", 300, 0), ("a", 200, 2), ("b", 200, 2), ("a", 100, 2)]
    assert keys(database, ScanFilter(), None) == [(policy, end, "findings", jobs) for policy, end, jobs in everything]
    assert keys(database, ScanFilter(), "t1") == [
        ("a", 400, "unknown", 1),
        ("a", 200, "findings", 1),
        ("a", 100, "healthy", 1),
    ]
    assert keys(database, ScanFilter(), "whole") == [("b", 200, "healthy", 1)]
    assert keys(database, ScanFilter(), "t9") == []
    assert keys(database, ScanFilter(verdicts=("healthy",)), "t2") == [("a", 200, "healthy", 1)]
    assert keys(database, ScanFilter(verdicts=("healthy",)), None) == []
    assert [key[1] for key in keys(database, ScanFilter(policy="b"), None)] == [200]


def test_one_scan(database: Database) -> None:
    """By its policy and window."""
    scan = keep(database, 100, "a", {"t1": "healthy"})
    found = kept_scan(database, "a", 0, 100)
    assert found is not None
    assert found.scan == scan
    assert kept_scan(database, "b", 0, 100) is None
    with pytest.raises(ValueError, match="nonsense"):
        scan_page(database, ScanFilter(), None, "nonsense 1 a")
