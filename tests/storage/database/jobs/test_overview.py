"""Pages of jobs, events and incidents, on each engine."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from datamodel.reports.findings import Event
from datamodel.reports.report import Detectability
from datamodel.service.filters import EventFilter, IncidentFilter, JobFilter
from datamodel.service.incidents import IncidentChange
from datamodel.service.result_rows import IncidentNote
from storage.database.connection import Database, upsert
from storage.database.incidents.incident_pages import incident_key, incident_page, kept_incident
from storage.database.incidents.incident_records import add_note
from storage.database.jobs.overview import (
    JobMark,
    event_key,
    events,
    glance,
    glances,
    job_marks,
    newest_layouts,
    newest_window,
    stretches,
)
from storage.database.scans.scan_records import ScanResult, save_scan
from storage.database.tables import EVENTS
from tests.storage.database import results


def fill(database: Database) -> None:
    """Five jobs: one with a critical incident, one with two warnings, one with an info; two of tenant t2."""
    tenants = {"a": "t1", "b": "t1", "c": "t2", "d": "t2", "e": None}
    seen = Detectability(timeline_error_ratio=0.1, smallest_slowdown_ratio=1.05)
    jobs = [results.job(name, tenant=tenant) for name, tenant in tenants.items()]
    jobs[:4] = [job.model_copy(update={"detectability": seen}) for job in jobs[:4]]
    cases = [
        results.incident("i1", "d", severity="critical", seen_ns=5),
        results.incident("i2", "b", seen_ns=5),
        results.incident("i3", "b", seen_ns=7, summary="100 % of Zürich's links"),
        results.incident("i4", "c", severity="info", seen_ns=3),
        results.incident("i5", "a", state="resolved", resolved_ns=9, seen_ns=9),
        results.incident("i6", None, seen_ns=8),
    ]
    rollups = [results.rollup("a", start_ns=n * results.HOUR_NS) for n in range(3)]
    save_scan(database, ScanResult(results.kept(), jobs, cases, rollups=rollups))


def names(database: Database, wanted: JobFilter, since_ns: int = 0) -> list[str]:
    """Ids of all jobs wanted."""
    return [one.id for one in job_marks(database, wanted, since_ns)]


def test_jobs_by_order_and_filter(database: Database) -> None:
    """Either order gives each job once; filters give what they say."""
    assert newest_window(database) is None
    fill(database)
    assert newest_window(database) == (0, 100)
    assert names(database, JobFilter()) == ["a", "b", "c", "d", "e"]
    assert names(database, JobFilter(order="worst")) == ["d", "b", "c", "a", "e"]
    assert names(database, JobFilter(tenant="t1")) == ["a", "b"]
    assert names(database, JobFilter(tenant="")) == ["e"]
    assert names(database, JobFilter(text="LABEL OF C")) == ["c"]
    assert names(database, JobFilter(text="10.0.0.2")) == ["a", "b", "c", "d", "e"]
    assert names(database, JobFilter(text="100%")) == []
    assert names(database, JobFilter(), 99) == ["a", "b", "c", "d", "e"]
    assert names(database, JobFilter(), 100) == ["b", "c", "d"]  # an incident under way keeps a job in sight
    assert [one.id for one in job_marks(database, JobFilter(), names=("c", "x"))] == ["c"]


def test_what_a_state_follows_from(database: Database) -> None:
    """Open incidents by number and severity, hangs, and how often the best confirmed suspicion was seen."""
    fill(database)
    more = [
        results.incident("i7", "a", state="suspected", scans_seen=1),
        results.incident("i8", "a", state="suspected", scans_seen=2, kind="hang"),
        results.incident("i9", "e", kind="hang", severity="critical"),
    ]
    save_scan(database, ScanResult(results.kept(200), incidents=more))
    marks = {one.id: one for one in job_marks(database, JobFilter())}
    assert marks["a"] == JobMark("a", 16, 100, 0, None, hangs=False, may_hang=True, suspected_scans=2)
    assert marks["b"] == JobMark("b", 16, 100, 2, "warning", hangs=False, may_hang=False, suspected_scans=0)
    assert marks["e"] == JobMark("e", 16, 100, 1, "critical", hangs=True, may_hang=False, suspected_scans=0)
    assert [one.job.id for one in glances(database, ["e", "x", "a"])] == ["e", "a"]


def test_a_job_at_a_glance(database: Database) -> None:
    """Open incidents are counted, the worst severity is told, what is resolved is neither."""
    fill(database)
    told = {name: glance(database, name) for name in "abcdex"}
    assert {name: one and (one.incidents, one.severity) for name, one in told.items()} == {
        "a": (0, None),
        "b": (2, "warning"),
        "c": (1, "info"),
        "d": (1, "critical"),
        "e": (0, None),
        "x": None,
    }
    assert set(newest_layouts(database, ["a", "b", "x"])) == {"a", "b"}
    (first, *_) = stretches(database, ["a", "b"], results.HOUR_NS, 1, 2 * results.HOUR_NS)["a"]
    assert (first.start_ns, first.iterations, first.severity) == (results.HOUR_NS, 60, "warning")
    assert stretches(database, ["b"], results.HOUR_NS, 0, 1 << 60) == {"b": []}


def ids(database: Database, wanted: IncidentFilter, now_ns: int = 100) -> list[str]:
    """Ids of all incidents wanted, read in pages of two."""
    found: list[str] = []
    after = ""
    while True:
        page = incident_page(database, wanted, now_ns, after, 2)
        found += [one.incident.id for one in page]
        if len(page) < 2:
            return found
        after = incident_key(page[-1].incident)


def test_incidents_by_page_and_filter(database: Database) -> None:
    """Those seen last first, each once over pages; filters give what they say."""
    fill(database)
    assert ids(database, IncidentFilter()) == ["i6", "i3", "i1", "i2", "i4"]
    assert ids(database, IncidentFilter(states=())) == ["i5", "i6", "i3", "i1", "i2", "i4"]
    assert ids(database, IncidentFilter(states=("resolved",))) == ["i5"]
    assert ids(database, IncidentFilter(tenant="t2")) == ["i1", "i4"]
    assert ids(database, IncidentFilter(tenant="")) == ["i6"]
    assert ids(database, IncidentFilter(job="b")) == ["i3", "i2"]
    assert ids(database, IncidentFilter(severities=("critical", "info"))) == ["i1", "i4"]
    assert ids(database, IncidentFilter(kinds=("hang",))) == []
    assert ids(database, IncidentFilter(text="zürich")) == ["i3"]
    assert ids(database, IncidentFilter(text="100 % OF Z")) == ["i3"]
    assert ids(database, IncidentFilter(text="suspects")) == []
    assert ids(database, IncidentFilter(text="label of d")) == ["i1"]
    assert ids(database, IncidentFilter(since_ns=7)) == ["i6", "i3"]
    assert ids(database, IncidentFilter(until_ns=1)) == []


def test_what_people_said_counts(database: Database) -> None:
    """A mute ends by itself or by word, an acknowledgement when the incident comes back."""
    fill(database)
    add_note(database, IncidentNote("i1", 10, "ann", "muted", "known", 50))
    add_note(database, IncidentNote("i2", 10, "bob", "muted", "", None))
    add_note(database, IncidentNote("i2", 20, "bob", "unmuted"))
    add_note(database, IncidentNote("i3", 10, "eve", "acknowledged"))
    assert ids(database, IncidentFilter(muted=True), 49) == ["i1"]
    assert ids(database, IncidentFilter(muted=True), 50) == []
    assert "i2" in ids(database, IncidentFilter(muted=False), 49)
    assert ids(database, IncidentFilter(acknowledged=True)) == ["i3"]
    first = kept_incident(database, "i1", 49)
    assert first is not None
    assert (first.standing.muted, first.standing.muted_until_ns, first.tenant) == (True, 50, "t2")
    third = kept_incident(database, "i3", 49)
    assert third is not None
    assert third.standing.acknowledged_by == "eve"
    back = IncidentChange(incident="i3", time_ns=15, kind="reopened", detail="")
    save_scan(database, ScanResult(results.kept(200), changes=[back]))
    assert ids(database, IncidentFilter(acknowledged=True)) == []
    again = kept_incident(database, "i3", 49)
    assert again is not None
    assert again.standing.acknowledged_by is None


def test_events_by_page_and_filter(database: Database) -> None:
    """The newest first, each once over pages."""
    fill(database)
    told = [
        Event(job="a", kind="start", start_ns=1, end_ns=None, detail=""),
        Event(job="b", kind="pause", start_ns=5, end_ns=None, detail=""),
        Event(job="c", kind="pause", start_ns=5, end_ns=None, detail=""),
        Event(job="c", kind="end", start_ns=5, end_ns=None, detail=""),
    ]
    with database.writing() as connection:
        upsert(connection, EVENTS, [event.model_dump() for event in told])
    newest_first = [told[1], told[3], told[2], told[0]]
    found: list[Event] = []
    while page := events(database, EventFilter(), None, event_key(found[-1]) if found else "", 1):
        found += page
    assert found == newest_first
    assert events(database, EventFilter(), "t2") == [told[3], told[2]]
    assert events(database, EventFilter(job="b"), "t2") == []
    assert events(database, EventFilter(kinds=("pause",), end_ns=6), None) == [told[1], told[2]]
    assert events(database, EventFilter(start_ns=2, end_ns=5), None) == []


def test_a_wrong_key_is_an_error(database: Database) -> None:
    """What is no key of a page does not read as one."""
    with pytest.raises(ValueError, match="nonsense"):
        incident_page(database, IncidentFilter(), 0, "nonsense")


def test_a_scan_of_an_older_window_is_not_the_newest(database: Database) -> None:
    """The window that ends last counts, whenever it was scanned."""
    for end_ns in (300, 200):
        save_scan(database, ScanResult(replace(results.kept(end_ns), policy="late")))
    assert newest_window(database) == (200, 300)


def test_reading_inside_reading_is_one_transaction(database: Database) -> None:
    """Several questions of one answer share a connection; afterwards, and after an error, each has its own."""
    fill(database)
    with database.reading() as outer, database.reading() as inner:
        assert inner is outer
        assert glance(database, "a") is not None
    with suppress(KeyError), database.reading():
        raise KeyError
    with database.reading() as later:
        assert later is not outer
        assert not later.closed
    assert outer.closed
    with database.reading(), database.writing() as writer:  # who writes has a transaction of its own
        assert writer is not outer
