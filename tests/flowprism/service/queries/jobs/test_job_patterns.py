"""Patterns of a scanned job by the API: the slow GPU first, and only to who sees the job."""

from __future__ import annotations

from pathlib import Path

from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import client
from tests.flowprism.service.queries.fabric.test_repeat_offenders import scanned


def test_the_slow_host_is_least_like_its_peers(tmp_path: Path) -> None:
    """3 % longer: too little for a finding. The host before it in the rings looks as late, and no other does."""
    stores, analysis, slow = scanned(tmp_path)
    (job,) = analysis.report.jobs
    found = client(stores).get(f"/api/v1/jobs/{job.id}/patterns?limit=1000").json()
    compute = [one for one in found["items"] if one["function"] == "backward"]
    hosts = client(stores).get("/api/v1/inventory").json()["hosts"]
    (own,) = ([nic["address"] for nic in host["endpoints"]] for host in hosts if host["name"] == slow)
    far = {one["endpoint"] for one in compute if one["distance"] > 1}
    assert far >= set(own)
    assert len(far) == 2 * len(own)
    assert found["of"] == len(found["items"]) > len(job.endpoints)
    assert found["end_ns"] == analysis.report.window.end_ns
    assert max(one["critical_share"] for one in compute) > 0
    few = client(stores).get(f"/api/v1/jobs/{job.id}/patterns?limit=2").json()
    assert (few["of"], few["items"]) == (found["of"], found["items"][:2])


def test_patterns_are_of_jobs_that_are_seen(demo: Stores) -> None:
    """A job of another tenant is none; one without patterns has none."""
    job = client(demo).get("/api/v1/jobs").json()["items"][0]["id"]
    assert client(demo).get(f"/api/v1/jobs/{job}/patterns").json() == {"end_ns": None, "of": 0, "items": []}
    foreign = client(demo, Viewer("frida", "viewer", "foreign"))
    assert foreign.get(f"/api/v1/jobs/{job}/patterns").status_code == 404
