"""What the GPU-hours of all jobs went to, through the real application, against hours counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from datamodel.errors import StorageError
from diagnose.training_time.fleet import lost
from flowprism.service.queries.jobs import fleet_time as module
from flowprism.service.queries.jobs.fleet_time import fleet_training_time, lost_since_midnight
from flowprism.service.queries.jobs.job_counts import census
from flowprism.service.queries.jobs.job_queries import job, jobs
from flowprism.service.stores import ResultCache, Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import client
from tests.flowprism.service.queries.jobs.stored_fleet import BEGIN_NS, DAY_NS, END_NS, stored_fleet

USES = ("productive", "slowed", "paused", "down", "unknown")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Three days."""
    found = stored_fleet(tmp_path_factory.mktemp("fleet"))
    yield found
    found.database.close()


def test_gpu_hours_are_those_counted_by_hand(stores: Stores) -> None:
    """Two jobs of 16 GPUs for 71 hours; a hole is unknown, and neither down nor lost."""
    found = client(stores).get("/api/v1/training-time?days=3").json()
    assert found["window"] == {"start_ns": BEGIN_NS, "end_ns": END_NS}
    assert (found["of"], found["without_size"]) == (3, 1)
    spent = found["spent"]
    hours = {"total": 142, "slowed": 6 * (1 - 1 / 1.25), "paused": 0.1, "down": 0.5, "unknown": 1, "repeated": 1.5}
    assert {name: spent[name] for name in hours} == pytest.approx({name: 16 * value for name, value in hours.items()})
    assert sum(spent[use] for use in USES) == pytest.approx(spent["total"])
    by_cause = {"straggler": 19.2, "restart": 8, "checkpoint": 1.6, "repeated": 24}
    assert spent["lost_by"] == pytest.approx(by_cause)
    assert list(spent["lost_by"]) == ["repeated", "straggler", "restart", "checkpoint"]
    assert spent["effective_ratio"] == pytest.approx([(142 - 2.8 - 1.5) / 142, (142 - 1.8) / 142], abs=1e-6)


def test_days_and_jobs_add_up_to_the_whole(stores: Stores) -> None:
    """A crash at half past midnight repeats what was done since the checkpoint of the day before, on its own day."""
    found = client(stores).get("/api/v1/training-time?days=3").json()
    for parts in (found["days"], [one for one in found["jobs"] if one["spent"] is not None], found["hosts"]):
        for use in ("total", *USES, "repeated"):
            assert sum(one["spent"][use] for one in parts) == pytest.approx(found["spent"][use])
    assert [(one["start_ns"] - BEGIN_NS) / DAY_NS for one in found["days"]] == [0, 1, 2]
    assert [one["spent"]["repeated"] for one in found["days"]] == pytest.approx([0, 24, 0])
    assert [(one["job"], one["spent"] is None) for one in found["jobs"]] == [
        ("crashing", False), ("steady", False), ("unsized", True),
    ]  # fmt: skip


@pytest.mark.parametrize("days", [1, 2, 3])
def test_each_job_is_as_by_itself(stores: Stores, days: int) -> None:
    """The sum of its own days, whatever the time that is asked for: what the first day lost is known on the second."""
    asking = client(stores)
    begin_ns = END_NS // DAY_NS * DAY_NS - (days - 1) * DAY_NS
    for one in asking.get(f"/api/v1/training-time?days={days}").json()["jobs"]:
        query = f"start_ns={begin_ns}&end_ns={END_NS}"
        own = asking.get(f"/api/v1/jobs/{one['job']}/training-time?{query}").json()["items"]
        assert len(own) == days
        if one["spent"] is None:
            continue
        for use in USES:
            assert one["spent"][use] == pytest.approx(16 * sum(day[f"{use}_ns"] for day in own) / 3.6e12, abs=1e-8)
        assert one["spent"]["repeated"] == pytest.approx(16 * sum(day["repeated_ns"][1] for day in own) / 3.6e12)


def test_hosts_count_while_they_are_members(stores: Stores) -> None:
    """s3 took the place of s2 at ten on the last day; s1 slowed both, and is named for what all 16 GPUs lost."""
    found = client(stores).get("/api/v1/training-time?days=3").json()
    hosts = {one["host"]: one for one in found["hosts"]}
    assert next(iter(hosts)) == "s1"
    assert {name: one["caused"] for name, one in hosts.items() if one["caused"]} == pytest.approx({"s1": 19.2})
    assert hosts["s2"]["spent"]["slowed"] == pytest.approx(9.6)
    total = {name: one["spent"]["total"] / 8 for name, one in hosts.items()}
    assert total == pytest.approx({"s1": 71, "s2": 58, "s3": 13, "s4": 71, "s5": 71})


def test_overview_and_jobs_say_what_the_account_of_today_says(stores: Stores) -> None:
    """Since midnight the slow host cost 6 hours of 16 GPUs a fifth; on the next day nothing is lost yet."""
    everything, now_ns = Viewer("ann", "admin", None), END_NS + 5 * 10**9
    today = fleet_training_time(stores, everything, now_ns, 1)
    rows = {row.id: row.gpu_hours_lost for row in jobs(stores, everything, now_ns)}
    assert rows == {"crashing": pytest.approx(19.2), "steady": 0, "unsized": None}
    assert rows == {one.job: None if one.spent is None else lost(one.spent) for one in today.jobs}
    assert census(stores, everything, now_ns).gpu_hours_lost == pytest.approx(lost(today.spent))
    detail = job(stores, everything, now_ns, "crashing")
    assert detail is not None
    assert detail.gpu_hours_lost == rows["crashing"]
    tomorrow = jobs(stores, everything, now_ns + DAY_NS)
    assert {row.id: row.gpu_hours_lost for row in tomorrow} == {"crashing": 0, "steady": 0, "unsized": None}
    assert census(stores, everything, now_ns + DAY_NS).gpu_hours_lost == 0


def test_accounts_of_today_are_made_once_for_all_tenants(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """They read the iterations of all jobs: pages of more tenants than are kept apart do not read them again."""
    fresh, now_ns = replace(stores, at_hand=ResultCache()), END_NS + 5 * 10**9
    assert lost_since_midnight(fresh, Viewer("ann", "admin", None), now_ns) == {
        "crashing": pytest.approx(19.2), "steady": 0, "unsized": None,
    }  # fmt: skip
    monkeypatch.setattr(module, "kept", _away)
    for n in range(8):
        assert lost_since_midnight(fresh, Viewer("eve", "viewer", f"t{n + 3}"), now_ns) == {}
    assert lost_since_midnight(fresh, Viewer("vera", "viewer", "t2"), now_ns) == {"steady": 0}


def test_jobs_are_shown_where_the_lake_is_away(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they lost is unknown then, not 0; all else is from the database."""
    monkeypatch.setattr(module, "kept", _away)
    fresh, everything = replace(stores, at_hand=ResultCache()), Viewer("ann", "admin", None)
    assert {row.gpu_hours_lost for row in jobs(fresh, everything, END_NS)} == {None}
    found = census(fresh, everything, END_NS)
    assert (found.jobs, found.gpu_hours_lost) == (3, None)
    assert "<b>unknown</b>" in client(fresh).get("/").text


def _away(*_: object) -> None:
    raise StorageError("the lake is away")


def test_tenant_sees_its_own_jobs_only(stores: Stores) -> None:
    """Neither jobs nor hosts nor hours of others."""
    own = client(stores, Viewer("vera", "viewer", "t2")).get("/api/v1/training-time?days=3").json()
    assert [one["job"] for one in own["jobs"]] == ["steady"]
    assert [one["host"] for one in own["hosts"]] == ["s4", "s5"]
    assert own["spent"]["total"] == pytest.approx(16 * 71)
    other = client(stores, Viewer("frida", "viewer", "foreign")).get("/api/v1/training-time").json()
    assert (other["of"], other["spent"]["total"], other["days"]) == (0, 0, [])


def test_page_shows_what_time_went_to(stores: Stores, tmp_path: Path) -> None:
    """By cause, job and host; without a job it says so."""
    page = client(stores).get("/training-time").text
    for words in ("repeated at most 24.0", "straggler 19.2", "restart 8", "s1", "in no sum", "97 – 99 %"):
        assert words in page
    assert client(stores).get("/training-time?last=2y").status_code == 400
    nothing = Stores(stored_fleet(tmp_path).database)
    foreign = client(nothing, Viewer("frida", "viewer", "foreign"))
    assert "No job seen" in foreign.get("/training-time").text
    nothing.database.close()
