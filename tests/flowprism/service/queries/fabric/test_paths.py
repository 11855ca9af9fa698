"""Paths of jobs over scans, through the real application: what a plan became, its files, and who sees it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datamodel.reports.path_plan import PathPlan
from flowprism.service.viewer import Viewer
from tests.flowprism.dashboard.fabric.stored_paths import TENANT, PathScans, applied, case
from tests.flowprism.service.api.client import Client, client


@pytest.fixture
def scans(tmp_path: Path) -> Iterator[PathScans]:
    """A job whose connections collide, scanned once."""
    found = PathScans.begin(tmp_path)
    found.scan(case())
    yield found
    found.stores.database.close()


def state_of(asking: Client) -> dict[str, Any]:
    """Of the one job."""
    (row,) = asking.get("/api/v1/paths").json()["items"]
    found: dict[str, Any] = row["state"]
    return found


def plan_of(asking: Client) -> PathPlan:
    """The plan in force, as its JSON file is read again."""
    (row,) = asking.get("/api/v1/paths").json()["items"]
    return PathPlan.model_validate_json(asking.get(f"/api/v1/jobs/{row['job']}/paths/plan").content)


def test_a_plan_is_not_applied_and_then_kept(scans: PathScans, tmp_path: Path) -> None:
    """The file that the API gives is what the job then runs with; the next scan sees every connection where planned."""
    asking = client(scans.stores)
    before, plan = state_of(asking), plan_of(asking)
    moved = sum(one.action == "set" for one in plan.connections)
    assert before["outcome"] == {
        "made_ns": plan.window.end_ns,
        "state": "not applied",
        "applied": {"kept": 0, "drifted": 0, "not applied": moved, "not seen": 0},
    }
    scans.scan(case())
    assert state_of(asking)["outcome"] == before["outcome"]
    scans.scan(applied(tmp_path, plan))
    after = state_of(asking)
    assert after["outcome"] == {
        "made_ns": plan.window.end_ns,
        "state": "kept",
        "applied": {"kept": moved, "drifted": 0, "not applied": 0, "not seen": 0},
    }
    assert after["since_ns"] == after["seen_ns"] != before["since_ns"]
    assert after["collisions"] == []
    assert {one["now"] for one in after["balance"]} == {1.0}


def test_connections_by_another_door_have_drifted_and_old_ports_are_not_applied(
    scans: PathScans, tmp_path: Path
) -> None:
    """Two uplinks of each leaf are exchanged and five ports are not set: both are named, worst first."""
    asking = client(scans.stores)
    plan = plan_of(asking)
    scans.scan(applied(tmp_path, plan, left_out=5), {3: 4, 4: 3})
    (row,) = asking.get("/api/v1/paths").json()["items"]
    detail = asking.get(f"/api/v1/jobs/{row['job']}/paths").json()
    assert detail["of"] == len(plan.connections)
    assert row["state"]["outcome"]["state"] == "drifted"
    assert row["state"]["outcome"]["applied"]["not applied"] == 5
    drifted = [one for one in detail["connections"] if one["became"] == "drifted"]
    assert drifted == detail["connections"][: len(drifted)]
    assert {one["now"][0]["port"] for one in drifted} == {3, 4}
    assert all(one["now"] != one["planned"] for one in drifted)


def test_the_files_of_a_plan_are_those_of_the_command(scans: PathScans) -> None:
    """CSV and HCCL name each connection; hccn_tool has one port for a pair: pairs of two queue pairs are counted."""
    asking, plan = client(scans.stores), plan_of(client(scans.stores))
    (row,) = asking.get("/api/v1/paths").json()["items"]
    path = f"/api/v1/jobs/{row['job']}/paths/plan"
    answer = asking.get(path, params={"format": "csv"})
    assert answer.headers["Content-Disposition"] == f'attachment; filename="paths-{row["job"]}.csv"'
    assert len(list(csv.DictReader(io.StringIO(answer.text)))) == len(plan.connections)
    assert len(asking.get(path, params={"format": "hccl"}).text.splitlines()) == 32
    assert asking.get(path, params={"format": "hccn"}).text == "# 32 pairs of addresses are left out\n"
    assert asking.get(path, params={"format": "exe"}).status_code == 422


def test_only_the_jobs_tenant_sees_its_paths(scans: PathScans) -> None:
    """Another one's user sees none; its own sees no note, which may name what is others'."""
    own, other = (client(scans.stores, Viewer("sue", "viewer", name)) for name in (TENANT, "search"))
    (row,) = own.get("/api/v1/paths").json()["items"]
    assert row["state"]["notes"] == []
    assert other.get("/api/v1/paths").json()["items"] == []
    for path in (f"/api/v1/jobs/{row['job']}/paths", f"/api/v1/jobs/{row['job']}/paths/plan"):
        assert own.get(path).status_code == 200
        assert other.get(path).status_code == 404
        assert client(scans.stores).get(path.replace(row["job"], "none")).status_code == 404
