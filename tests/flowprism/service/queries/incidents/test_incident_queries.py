"""What is answered about incidents, and what people may say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.errors import PermissionDeniedError
from datamodel.service.filters import IncidentFilter
from datamodel.service.incidents import IncidentChange
from flowprism.service.queries.incidents.incident_queries import (
    acknowledge,
    after_incident,
    comment,
    incident,
    incidents,
    mute,
    unmute,
)
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.flowprism.service.stored import TENANT, demo_analysis, stored_many
from tests.storage.database import results

ALL = Viewer("ann", "admin", None)
OPERATOR = Viewer("oli", "operator", TENANT)
OWN = Viewer("bob", "viewer", TENANT)
OTHER = Viewer("eve", "admin", "search")
NOW_NS = 2_000_000_000 * 10**9


def test_findings_are_incidents(demo: Stores) -> None:
    """An incident says what its finding said, with the job's name and tenant beside it, and its history."""
    told = {finding.summary: finding for finding in demo_analysis().report.findings}
    rows = incidents(demo, OWN, NOW_NS)
    assert {row.incident.summary for row in rows} == set(told)
    assert {(row.label, row.tenant, row.muted, row.acknowledged_by) for row in rows} == {
        ("llama-demo", TENANT, False, None)
    }
    detail = incident(demo, OWN, NOW_NS, rows[0].incident.id)
    assert detail is not None
    assert detail.incident.evidence == told[detail.incident.summary].evidence
    assert [change.kind for change in detail.changes] == ["opened"]
    assert incident(demo, ALL, NOW_NS, "nonsense") is None


def test_a_tenant_sees_its_own_incidents(demo: Stores, many: Stores) -> None:
    """Those of others are as if there were none, to read and to write about."""
    name = incidents(demo, ALL, NOW_NS)[0].incident.id
    assert incidents(demo, OTHER, NOW_NS) == []
    assert incident(demo, OTHER, NOW_NS, name) is None
    assert comment(demo, OTHER, NOW_NS, name, "mine") is None
    assert incidents(demo, OTHER, NOW_NS, IncidentFilter(tenant=TENANT)) == []
    assert len(incidents(many, OWN, NOW_NS)) == 10
    assert incidents(many, OTHER, NOW_NS) == []


def test_people_act_on_incidents(own_demo: Stores) -> None:
    """Acknowledged, muted until a time, unmuted, commented: each is in the history with its author."""
    name = incidents(own_demo, ALL, NOW_NS)[0].incident.id
    done = acknowledge(own_demo, OPERATOR, NOW_NS, name, "looking")
    assert done is not None
    assert done.acknowledged_by == "oli"
    done = mute(own_demo, OPERATOR, NOW_NS + 1, name, "part ordered", NOW_NS + 100)
    assert done is not None
    assert (done.muted, done.muted_until_ns) == (True, NOW_NS + 100)
    later = incident(own_demo, ALL, NOW_NS + 100, name)
    assert later is not None
    assert not later.muted
    done = unmute(own_demo, ALL, NOW_NS + 2, name)
    assert done is not None
    assert not done.muted
    done = comment(own_demo, OPERATOR, NOW_NS + 3, name, "<b>done</b>")
    assert done is not None
    assert [(note.author, note.kind, note.text) for note in done.notes] == [
        ("oli", "acknowledged", "looking"),
        ("oli", "muted", "part ordered"),
        ("ann", "unmuted", ""),
        ("oli", "comment", "<b>done</b>"),
    ]


def test_a_viewer_only_looks(own_demo: Stores) -> None:
    """Whoever asks past the API is refused all the same."""
    name = incidents(own_demo, OWN, NOW_NS)[0].incident.id
    with pytest.raises(PermissionDeniedError, match="takes the role operator; bob is viewer"):
        acknowledge(own_demo, OWN, NOW_NS, name)
    assert acknowledge(own_demo, OPERATOR, NOW_NS, "nonsense") is None


def test_incidents_in_pages(many: Stores) -> None:
    """Pages give every incident once."""
    found, after = [], ""
    while page := incidents(many, ALL, NOW_NS, IncidentFilter(states=()), after, 3):
        found += page
        after = after_incident(page[-1])
    assert len({row.incident.id for row in found}) == len(found) == 10


def test_a_tenant_is_not_told_of_others_jobs(tmp_path: Path) -> None:
    """Contention names the jobs that came; to who sees one tenant only, they are other jobs."""
    stores = stored_many(tmp_path, jobs=4, days=1, endpoints=2)
    (before,) = incidents(stores, ALL, NOW_NS)
    named = f"shared with job 0123abcd and job 89abcdef by {before.incident.job}"
    change = IncidentChange(incident=before.incident.id, time_ns=5, kind="opened", detail=named)
    after = before.incident.model_copy(update={"kind": "contention", "summary": named, "seen_ns": 5})
    save_scan(stores.database, ScanResult(results.kept(5), incidents=[after], changes=[change]))
    other = f"shared with another job and another job by {before.incident.job}"
    assert incidents(stores, OWN, NOW_NS)[0].incident.summary == other
    detail = incident(stores, OWN, NOW_NS, before.incident.id)
    assert detail is not None
    assert detail.changes[0].detail == other
    assert incidents(stores, ALL, NOW_NS)[0].incident.summary == named
    stores.database.close()
