"""Server-sent events through a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from threading import Event, Thread
from typing import Any

import httpx

from datamodel.reports.scan import JobScan
from datamodel.service.api_models import ComponentStatus
from datamodel.service.result_rows import IncidentNote
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.dependencies import require_viewer
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.queries.changes import ChangeTracker
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.components import save_component
from storage.database.incidents.incident_records import add_note
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.effort import least
from tests.flowprism.service.serving import serving
from tests.flowprism.service.stored import TENANT, demo_analysis
from tests.storage.database import results

News = tuple[str, dict[str, Any]]


def scanned(stores: Stores, policy: str, tenant: str | None = TENANT) -> str:
    """A further scan, which sees an incident of the bundled job; the incident's id."""
    end_ns = demo_analysis().report.window.end_ns + 10**9
    kept = results.kept(end_ns, policy)
    seen = JobScan(id=demo_analysis().report.jobs[0].id, label=None, tenant=tenant, verdict="findings")
    kept = replace(kept, scan=kept.scan.model_copy(update={"jobs": (seen,)}))
    incident = results.incident(f"new {policy}", seen.id, seen_ns=end_ns)
    save_scan(stores.database, ScanResult(kept, incidents=[incident]))
    return incident.id


def told(lines: Iterator[str], count: int) -> Iterator[tuple[int, News]]:
    """So many events of a stream, with their numbers."""
    number, kind = 0, ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            number = int(value)
        elif name == "event":
            kind = value
        elif name == "data":
            yield number, (kind, json.loads(value))
            count -= 1
            if not count:
                return


def served(stores: Stores, viewer: Viewer) -> Any:  # noqa: ANN401 - a context manager
    """The application for one viewer, served."""
    app = application(stores, Settings(), AccessSettings())
    app.dependency_overrides[require_viewer] = lambda: viewer
    return serving(app)


def test_a_scan_is_told_within_two_seconds(own_demo: Stores, looked: Event) -> None:
    """With the incidents it touched; who comes again is told what was missed, and no more."""
    with served(own_demo, Viewer("ann", "admin", None)) as address:
        with httpx.stream("GET", f"{address}/api/v1/stream", timeout=60) as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            assert looked.wait(60)
            policies, events = count(), list[tuple[int, News]]()

            def told_s() -> float:
                began_s, policy = time.monotonic(), f"p{next(policies)}"
                name = scanned(own_demo, policy)
                events[:] = told(lines, 2)
                assert [(kind, about.get("policy"), about.get("id")) for _, (kind, about) in events] == [
                    ("scan", policy, None),
                    ("incident", None, name),
                ]
                return time.monotonic() - began_s

            assert least(told_s, 2) < 2
        again = {"Last-Event-ID": str(events[0][0])}
        with httpx.stream("GET", f"{address}/api/v1/stream", headers=again, timeout=60) as stream:
            assert [event for _, event in told(stream.iter_lines(), 1)] == [events[1][1]]
        with httpx.stream("GET", f"{address}/api/v1/stream", headers={"Last-Event-ID": "7"}, timeout=60) as stream:
            assert [event for _, event in told(stream.iter_lines(), 1)] == [("reset", {})]


def test_a_tenant_is_told_of_its_own(own_demo: Stores, looked: Event) -> None:
    """Of others' scans and incidents nothing, of its own all, of feeds nothing."""
    with (
        served(own_demo, Viewer("bob", "viewer", "search")) as address,
        httpx.stream("GET", f"{address}/api/v1/stream", timeout=60) as stream,
    ):
        lines = stream.iter_lines()
        next(lines)
        assert looked.wait(60)
        scanned(own_demo, "p1")
        save_component(own_demo.database, ComponentStatus(name="a", kind="scanner", started_ns=1, seen_ns=1))
        scanned(own_demo, "p2", "search")
        (first,) = told(lines, 1)
        assert (first[1][0], first[1][1]["policy"]) == ("scan", "p2")


def test_streams_end_whole_when_the_service_stops(own_demo: Stores) -> None:
    """Not cut off in their middle, which is an error for the page and in the log."""
    with ExitStack() as running:
        address = running.enter_context(served(own_demo, Viewer("ann", "admin", None)))
        with httpx.stream("GET", f"{address}/api/v1/stream", timeout=60) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            stopping = Thread(target=running.pop_all().close)
            stopping.start()
            assert list(lines) == [""]
        stopping.join()


def test_what_is_new(own_demo: Stores) -> None:
    """A look tells of scans, incidents, notes and parts once each; the first one of nothing."""
    watch = ChangeTracker(own_demo)
    assert watch.look() == []
    name = scanned(own_demo, "p1")
    found = watch.look()
    assert [change.kind for change in found] == ["scan", "incident"]
    assert all(change.tenants == {TENANT} for change in found)
    assert watch.look() == []
    add_note(own_demo.database, IncidentNote(name, 5, "ann", "comment", "x"))
    (noted,) = watch.look()
    assert (noted.kind, noted.about["id"]) == ("incident", name)
    part = ComponentStatus(name="a", kind="scanner", started_ns=1, seen_ns=1)
    save_component(own_demo.database, part)
    assert [change.kind for change in watch.look()] == ["feed"]
    save_component(own_demo.database, part.model_copy(update={"seen_ns": 2}))
    assert watch.look() == []
    save_component(own_demo.database, part.model_copy(update={"healthy": False}))
    assert [change.kind for change in watch.look()] == ["feed"]
