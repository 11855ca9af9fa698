"""Scans that were asked for are worked on in turn and end once."""

from __future__ import annotations

from datamodel.service.api_models import ScanRequest
from storage.database.connection import Database
from storage.database.scans.scan_requests import ask, finish, forget_requests, next_requests, request, requests, start


def asked(name: str, requested_ns: int) -> ScanRequest:
    """A request of ann's for two jobs."""
    return ScanRequest(
        id=name, policy="default", jobs=("a", "b"), author="ann", requested_ns=requested_ns, state="waiting"
    )


def test_a_request_from_asking_to_its_end(database: Database) -> None:
    """It waits, runs and ends; the end is told once, and told again it changes nothing."""
    assert ask(database, asked("r1", 10))
    assert not ask(database, asked("r1", 99))
    assert request(database, "r1") == asked("r1", 10)
    assert start(database, "r1")
    assert [one.state for one in next_requests(database)] == ["running"]
    assert finish(database, "r1", "done", 20, "healthy")
    assert not finish(database, "r1", "failed", 30)
    assert not start(database, "r1")
    found = request(database, "r1")
    assert found is not None
    assert (found.state, found.finished_ns, found.detail) == ("done", 20, "healthy")
    assert next_requests(database) == []
    assert request(database, "r2") is None


def test_first_come_first_served(database: Database) -> None:
    """The oldest is next; lists begin with the newest; old ones that are over can be forgotten."""
    for name, time_ns in (("b", 20), ("a", 30), ("c", 10)):
        ask(database, asked(name, time_ns))
    assert [one.id for one in next_requests(database)] == ["c", "b", "a"]
    assert [one.id for one in requests(database, most=2)] == ["a", "b"]
    finish(database, "c", "failed", 40, "no records")
    assert forget_requests(database, 40) == 0
    assert forget_requests(database, 41) == 1
    assert [one.id for one in requests(database)] == ["a", "b"]
