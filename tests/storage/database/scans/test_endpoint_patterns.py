"""Patterns: one a job and stretch of six hours, the newest, and none of jobs and times that are forgotten."""

from __future__ import annotations

from sqlalchemy import update

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTIONS, PATTERN_STRETCH_NS, PATTERNS, StoredPatterns
from storage.database.connection import Database
from storage.database.scans.endpoint_patterns import newest_patterns, stored_patterns
from storage.database.scans.scan_records import ScanResult, forget_scans, save_scan
from storage.database.tables import ENDPOINT_PATTERNS
from tests.storage.database import results


def scan(database: Database, end_ns: int, late: float, job: str = "j1", tenant: str | None = "t1") -> None:
    """A scan that stored patterns of one job of two endpoints."""
    rows = Frame(PATTERNS, {"endpoint": [0, 1], "role": [0, 7], "late_ratio": [late, -late]})
    of_function = {name: [late] for name in FUNCTIONS.names} | {"endpoint": [1], "function": [3], "stage": [2]}
    patterns = StoredPatterns(job, end_ns, ("10.0.0.1", "10.0.0.2"), rows, Frame(FUNCTIONS, of_function))
    save_scan(database, ScanResult(results.kept(end_ns), jobs=(results.job(job, tenant=tenant),), patterns=(patterns,)))


def lateness(found: list[StoredPatterns]) -> list[tuple[str, int, list[float]]]:
    """Job, end and lateness of each."""
    return [(one.job, one.end_ns, one.rows["late_ratio"].tolist()) for one in found]


def test_newest_window_of_a_stretch_is_stored(database: Database) -> None:
    """Whatever the order of scans; a window that ends with the stretch belongs to it, a later one to the next."""
    for end_ns, late in ((200, 0.25), (100, 0.5), (PATTERN_STRETCH_NS, 0.125), (PATTERN_STRETCH_NS + 1, 0.5)):
        scan(database, end_ns, late)
    found = stored_patterns(database, 0, 2 * PATTERN_STRETCH_NS)
    assert lateness(found) == [
        ("j1", PATTERN_STRETCH_NS, [0.125, -0.125]),
        ("j1", PATTERN_STRETCH_NS + 1, [0.5, -0.5]),
    ]
    assert found[0].endpoints == ("10.0.0.1", "10.0.0.2")
    assert found[0].rows["role"].tolist() == [0, 7]
    assert [len(one.functions) for one in found] == [0, 0]


def test_newest_windows_of_a_job_have_functions(database: Database) -> None:
    """The newest first, at most so many."""
    for stretch in range(3):
        scan(database, stretch * PATTERN_STRETCH_NS + 1, 0.125)
    scan(database, 5 * PATTERN_STRETCH_NS, 0.5, "j2")
    found = newest_patterns(database, "j1", 2)
    assert [one.end_ns // PATTERN_STRETCH_NS for one in found] == [2, 1]
    functions = {name: column.tolist() for name, column in found[0].functions.columns().items()}
    assert (functions["function"], functions["stage"], functions["rate_bps"]) == ([3], [2], [0.125])


def test_patterns_of_earlier_versions_have_no_functions(database: Database) -> None:
    """Rows from before there were any."""
    scan(database, 100, 0.25)
    with database.writing() as connection:
        connection.execute(update(ENDPOINT_PATTERNS).values(functions=None))
    (found,) = newest_patterns(database, "j1", 1)
    assert (len(found.rows), len(found.functions)) == (2, 0)


def test_patterns_of_a_tenant_and_a_time(database: Database) -> None:
    """Windows that end within the time, the end included."""
    scan(database, 100, 0.25)
    scan(database, 200, 0.5, "j2", None)
    assert [one.job for one in stored_patterns(database, 0, 200)] == ["j1", "j2"]
    assert [one.job for one in stored_patterns(database, 100, 200)] == ["j2"]
    assert [one.job for one in stored_patterns(database, 0, 200, "t1")] == ["j1"]


def test_old_patterns_are_forgotten(database: Database) -> None:
    """Those whose window ended by then, and those of forgotten jobs."""
    scan(database, 100, 0.25)
    scan(database, PATTERN_STRETCH_NS + 100, 0.5)
    assert forget_scans(database, 101) == 2
    assert [one.end_ns for one in stored_patterns(database, 0, 2 * PATTERN_STRETCH_NS)] == [PATTERN_STRETCH_NS + 100]
    forget_scans(database, 2 * PATTERN_STRETCH_NS)
    assert stored_patterns(database, 0, 2 * PATTERN_STRETCH_NS) == []
