"""A scan counts once and wholly, on either engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from datamodel.reports.findings import Event
from datamodel.reports.layout import Groups
from datamodel.reports.report import Window
from datamodel.service.filters import EventFilter
from datamodel.service.incidents import IncidentChange
from storage.database.connection import Database
from storage.database.incidents.incident_records import history, incidents
from storage.database.jobs.overview import events
from storage.database.scans.scan_records import (
    ScanResult,
    forget_scans,
    former_layouts,
    job,
    jobs,
    layouts,
    newest_groups,
    rollups,
    save_scan,
    scans,
)
from tests.storage.database import results

ENDPOINTS = frozenset({"10.0.0.1", "10.0.0.2"})


def test_what_a_scan_left_comes_back(database: Database) -> None:
    """Scan, job, layout, incident, history and rollup are those that were kept."""
    left = results.result()
    assert save_scan(database, left)
    assert scans(database) == [left.kept]
    known = job(database, "j1")
    assert known is not None
    assert (known.label, known.tenant, known.endpoints, known.hosts) == (
        "label of j1",
        "t1",
        ("10.0.0.1", "10.0.0.2"),
        ("s1",),
    )
    assert (known.first_seen_ns, known.last_seen_ns, known.world_size, known.period_s) == (100, 100, 16, 1.25)
    (layout,) = layouts(database, "j1")
    assert (layout.layout, layout.groups) == (left.jobs[0].layout, left.jobs[0].groups)
    assert incidents(database) == list(left.incidents)
    assert history(database, "i1") == list(left.changes)
    assert rollups(database, "j1", results.HOUR_NS, 0, 1000) == list(left.rollups)


def test_scans_of_an_older_version_are_read(database: Database) -> None:
    """They are stored as documents, in which a field had another name."""
    kept = results.kept(1, "default")
    assert save_scan(database, ScanResult(kept, [], [], []))
    with database.writing() as connection:
        text = "UPDATE scans SET document = replace(document, 'duplicate_observations', 'second_sightings')"
        assert connection.exec_driver_sql(text).rowcount == 1
    assert scans(database, "default") == [kept]


def test_events_are_kept_and_extended(database: Database) -> None:
    """An event that another window tells again, with its end, is one."""
    begun = Event(job="j1", kind="pause", start_ns=50, end_ns=None, detail="in silence")
    assert save_scan(database, replace(results.result(), events=[begun]))
    ended = begun.model_copy(update={"end_ns": 70})
    assert save_scan(database, replace(results.result(policy="another"), events=[ended]))
    assert events(database, EventFilter(), None) == [ended]
    assert events(database, EventFilter(), "t2") == []


def test_a_scan_counts_once(database: Database) -> None:
    """A scan of the same policy and window told again changes nothing, also where it says something else."""
    assert save_scan(database, results.result())
    other = ScanResult(results.kept(), [results.job(tp=4)], [results.incident(state="resolved")])
    assert not save_scan(database, other)
    assert [one.state for one in incidents(database)] == ["open"]
    assert len(layouts(database, "j1")) == 1
    assert save_scan(database, results.result(policy="another"))
    assert len(scans(database)) == 2
    assert len(scans(database, policy="all")) == 1


def test_half_a_scan_is_none(database: Database) -> None:
    """Where a part of it cannot be kept, nothing is."""
    broken = ScanResult(results.kept(), [results.job()], rollups=[results.rollup("nobody")])
    with pytest.raises(IntegrityError):
        save_scan(database, broken)
    assert scans(database) == []
    assert jobs(database) == []


def test_replicas_tell_of_the_same_scan(database: Database) -> None:
    """Of several that keep the same scan at once, one is believed, and nothing is there twice."""
    save_scan(database, results.result(end_ns=1))
    with ThreadPoolExecutor(4) as pool:
        new = list(pool.map(lambda n: save_scan(database, results.result(end_ns=200 + n // 4)), range(40)))
    assert sum(new) == 10
    assert len(scans(database)) == 11
    assert len(history(database, "i1")) == 11


def test_layouts_are_kept_when_they_change(database: Database) -> None:
    """The same layout seen again is one row; another one is a new row with its time; the newest comes first."""
    for end_ns, tp in ((100, 8), (200, 8), (300, 4), (400, 4)):
        save_scan(database, ScanResult(results.kept(end_ns), [results.job(tp=tp)]))
    assert [(one.since_ns, one.layout.tp) for one in layouts(database, "j1")] == [(300, 4), (100, 8)]


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "tp"),
    [(0, 100, None), (100, 200, 8), (100, 300, 8), (200, 301, 4), (300, 400, 4), (301, 401, None)],
)
def test_former_layouts_are_of_jobs_that_the_window_before_showed(
    database: Database, start_ns: int, end_ns: int, tp: int | None
) -> None:
    """Not what the window itself showed, nor what the same endpoints ran long ago."""
    for seen_ns, size in ((100, 8), (300, 4)):
        assert save_scan(database, ScanResult(results.kept(seen_ns), [results.job(tp=size)]))
    found = former_layouts(database, Window(start_ns=start_ns, end_ns=end_ns))
    assert {ends: layout.tp for ends, layout in found.items()} == ({} if tp is None else {ENDPOINTS: tp})


def test_a_layout_known_better_is_the_same_layout(database: Database) -> None:
    """Where windows differ only in how sure they are, one row says since when, and how sure the newest one is."""
    for end_ns, confidence in ((100, 0.5), (200, 0.997), (300, 0.996)):
        seen = results.job()
        layout = seen.layout.model_copy(update={"confidence": confidence})
        save_scan(database, ScanResult(results.kept(end_ns), [seen.model_copy(update={"layout": layout})]))
    assert [(one.since_ns, one.layout.confidence) for one in layouts(database, "j1")] == [(100, 0.996)]


def test_layouts_that_are_not_trusted_are_not_kept(database: Database) -> None:
    """Nor do those that name nobody hide whom the one before named."""
    save_scan(database, ScanResult(results.kept(100), [results.job()]))
    save_scan(database, ScanResult(results.kept(200), [results.job(tp=4)], doubted=frozenset(["j1"])))
    assert [one.since_ns for one in layouts(database, "j1")] == [100]
    save_scan(database, ScanResult(results.kept(300), [results.job().model_copy(update={"groups": Groups()})]))
    assert len(layouts(database, "j1")) == 2
    assert newest_groups(database, ["j1", "none such"]) == {"j1": results.job().groups}


def test_an_old_window_does_not_undo_a_newer_one(database: Database) -> None:
    """A backfilled scan tells since when a job is there, and not how it is now."""
    save_scan(database, ScanResult(results.kept(500), [results.job(tenant="new")]))
    save_scan(database, ScanResult(results.kept(300), [results.job(tenant="old")]))
    known = job(database, "j1")
    assert known is not None
    assert (known.tenant, known.first_seen_ns, known.last_seen_ns) == ("new", 300, 500)


def test_jobs_by_page_and_tenant(database: Database) -> None:
    """Pages follow one another by id; a tenant sees its own jobs only."""
    made = [results.job(f"j{n}", tenant="t1" if n % 2 else None) for n in range(7)]
    save_scan(database, ScanResult(results.kept(), made))
    assert [one.id for one in jobs(database, most=3)] == ["j0", "j1", "j2"]
    assert [one.id for one in jobs(database, after="j2", most=3)] == ["j3", "j4", "j5"]
    assert [one.id for one in jobs(database, tenant="t1")] == ["j1", "j3", "j5"]
    assert jobs(database, seen_since_ns=101) == []
    assert job(database, "nobody") is None


def test_rollups_of_a_span(database: Database) -> None:
    """Stretches of one length that begin inside; a stretch told again is replaced."""
    hours = [results.rollup(start_ns=n * results.HOUR_NS) for n in range(5)]
    save_scan(database, ScanResult(results.kept(100), [results.job()], rollups=hours))
    save_scan(database, ScanResult(results.kept(200), [results.job()], rollups=hours[:1]))
    found = rollups(database, "j1", results.HOUR_NS, results.HOUR_NS, 3 * results.HOUR_NS)
    assert found == hours[1:3]
    assert rollups(database, "j1", 1, 0, 1 << 60) == []


def test_hours_are_the_sums_of_their_minutes(database: Database) -> None:
    """The scan that ends an hour keeps it, out of minutes of several scans; a later one may tell a minute anew."""
    minute_ns = results.HOUR_NS // 60
    minutes = [
        replace(results.rollup(start_ns=n * minute_ns), length_ns=minute_ns, worst_severity=None) for n in range(60)
    ]
    save_scan(database, ScanResult(results.kept(50 * minute_ns), [results.job()], rollups=minutes[:50]))
    assert rollups(database, "j1", results.HOUR_NS, 0, 1) == []
    save_scan(database, ScanResult(results.kept(results.HOUR_NS), [results.job()], rollups=minutes[50:]))
    (hour,) = rollups(database, "j1", results.HOUR_NS, 0, 1)
    assert (hour.iterations, hour.iteration_ns, hour.bytes) == (60 * 60, 60 * 75 * 10**9, 60 << 50)
    assert (hour.shortest_ns, hour.longest_ns, hour.worst_severity) == (10**9, 2 * 10**9, None)
    again = replace(minutes[7], iterations=61, worst_severity="critical", worst_slowdown_ratio=2.0)
    save_scan(database, ScanResult(results.kept(results.HOUR_NS + 1), [results.job()], rollups=[again]))
    (hour,) = rollups(database, "j1", results.HOUR_NS, 0, 1)
    assert (hour.iterations, hour.worst_severity, hour.worst_slowdown_ratio) == (60 * 60 + 1, "critical", 2.0)


def test_dismissed_incidents_are_forgotten(database: Database) -> None:
    """What was only suspected, and is not seen again, leaves nothing."""
    suspected = results.incident(state="suspected")
    change = IncidentChange(incident="i1", time_ns=1, kind="suspected", detail="")
    save_scan(database, ScanResult(results.kept(100), incidents=[suspected], changes=[change]))
    assert incidents(database, ("suspected",)) == [suspected]
    gone = IncidentChange(incident="i1", time_ns=2, kind="dismissed", detail="")
    save_scan(database, ScanResult(results.kept(200), changes=[gone]))
    assert incidents(database, ("suspected", "open", "resolved")) == []
    assert history(database, "i1") == []


def test_old_results_go(database: Database) -> None:
    """Scans and rollups before a time go, and jobs that no scan has seen since, with all that is theirs."""
    save_scan(database, results.result(end_ns=100))
    save_scan(database, ScanResult(results.kept(results.HOUR_NS * 9), [results.job("j2")]))
    assert forget_scans(database, results.HOUR_NS * 5) == 3
    assert [one.id for one in jobs(database)] == ["j2"]
    assert len(scans(database)) == 1
    assert layouts(database, "j1") == []
    assert rollups(database, "j1", results.HOUR_NS, 0, 1 << 62) == []
