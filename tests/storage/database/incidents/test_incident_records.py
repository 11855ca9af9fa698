"""Incidents are found by state, job and tenant, with their history and what people did."""

from __future__ import annotations

from datamodel.service.result_rows import IncidentNote
from storage.database.connection import Database
from storage.database.incidents.incident_records import add_note, forget_incidents, incident, incidents, notes
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results


def filled(database: Database) -> None:
    """Three incidents of two tenants and one of no job."""
    made = [
        results.incident("i1", "j1", seen_ns=10),
        results.incident("i2", "j2", seen_ns=30),
        results.incident("i3", "j1", seen_ns=20, state="resolved", resolved_ns=25),
        results.incident("i4", None, seen_ns=5),
    ]
    jobs = [results.job("j1", tenant="t1"), results.job("j2", tenant="t2")]
    save_scan(database, ScanResult(results.kept(), jobs, made))


def test_incidents_are_selected(database: Database) -> None:
    """By state, job, tenant and time, those seen last first."""
    filled(database)
    assert [one.id for one in incidents(database)] == ["i2", "i1", "i4"]
    assert [one.id for one in incidents(database, ("resolved", "open"), job="j1")] == ["i3", "i1"]
    assert [one.id for one in incidents(database, tenant="t2")] == ["i2"]
    assert [one.id for one in incidents(database, seen_since_ns=10, most=1)] == ["i2"]


def test_one_incident(database: Database) -> None:
    """An incident comes back in every detail; an unknown one is none."""
    filled(database)
    assert incident(database, "i4") == results.incident("i4", None, seen_ns=5)
    assert incident(database, "i9") is None


def test_notes(database: Database) -> None:
    """What people did is kept in order, a request repeated is one note, and it goes with its incident."""
    filled(database)
    muted = IncidentNote("i3", 7, "ann", "muted", "known", until_ns=99)
    for note in (IncidentNote("i3", 8, "bob", "comment", "why?"), muted, muted):
        add_note(database, note)
    assert notes(database, "i3") == [muted, IncidentNote("i3", 8, "bob", "comment", "why?")]
    assert forget_incidents(database, 26) == 1
    assert notes(database, "i3") == []
