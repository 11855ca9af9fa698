"""What is answered about scans, and who may ask for one."""

from __future__ import annotations

import pytest

from datamodel.errors import PermissionDeniedError
from flowprism.service.queries.scans import (
    NewScanRequest,
    ask_scan,
    scan,
    scan_detail,
    scan_request,
    scan_requests,
    scans,
)
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.stored import TENANT, demo_analysis

ALL = Viewer("ann", "admin", None)
OWN = Viewer("oli", "operator", TENANT)
OTHER = Viewer("eve", "operator", "search")
NOW_NS = 2_000_000_000 * 10**9


def test_scans_in_short_and_one_whole(demo: Stores) -> None:
    """Rows and the document say the same."""
    report = demo_analysis().report
    rows = scans(demo, ALL)
    assert [(row.policy, row.verdict, row.jobs, row.findings) for row in rows] == [
        (policy, "findings", 1, len(report.findings)) for policy in ("health", "nightly")
    ]
    detail = scan_detail(demo, ALL, "health", report.window.start_ns, report.window.end_ns)
    assert detail is not None
    assert detail.model_dump(exclude={"scan"}) == rows[0].model_dump()
    assert detail.scan.feed == report.feed


def test_a_tenant_sees_its_part(demo: Stores, many: Stores) -> None:
    """Its own jobs and findings, nothing of the feed; nothing at all of a scan that none of its jobs were in."""
    window = demo_analysis().report.window
    own = scan(demo, OWN, "health", window.start_ns, window.end_ns)
    assert own is not None
    assert own.scan.feed.records == 0
    assert own.scan.feed.exporters == ()
    assert scans(demo, OTHER) == []
    assert scan(demo, OTHER, "health", window.start_ns, window.end_ns) is None
    (row,) = scans(many, OTHER)
    assert (row.jobs, row.verdict, row.records) == (10, "healthy", 0)
    part = scan(many, OTHER, row.policy, row.window_start_ns, row.window_end_ns)
    assert part is not None
    assert {job.tenant for job in part.scan.jobs} == {"search"}


def test_asking_for_a_scan(own_demo: Stores) -> None:
    """A request waits; a tenant's is of its own jobs, whatever it names, and shown to nobody else's."""
    name = demo_analysis().report.jobs[0].id
    first = ask_scan(own_demo, ALL, NOW_NS, NewScanRequest("health"))
    assert (first.state, first.jobs, first.author) == ("waiting", (), "ann")
    second = ask_scan(own_demo, OWN, NOW_NS + 1, NewScanRequest("health"))
    assert second.jobs == (name,)
    assert ask_scan(own_demo, OWN, NOW_NS + 2, NewScanRequest("health", ("llama-demo",))).jobs == (name,)
    assert scan_requests(own_demo, ALL)[-1] == first
    assert scan_request(own_demo, OWN, second.id) == second
    assert scan_request(own_demo, OWN, first.id) is None
    assert scan_requests(own_demo, OTHER) == []
    with pytest.raises(PermissionDeniedError, match="no job of search to scan"):
        ask_scan(own_demo, OTHER, NOW_NS, NewScanRequest("health"))
    with pytest.raises(PermissionDeniedError, match="j1 is no job of research"):
        ask_scan(own_demo, OWN, NOW_NS, NewScanRequest("health", ("j1",)))
    with pytest.raises(PermissionDeniedError, match="takes the role operator"):
        ask_scan(own_demo, Viewer("bob", "viewer", None), NOW_NS, NewScanRequest("health"))
