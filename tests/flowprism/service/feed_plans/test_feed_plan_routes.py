"""`/feeds/plan`: measured on request, then answered at once; exporter files as an archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowprism.service.feed_plans.feed_planner import FeedPlanner
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from tests.flowprism.feed_plan.sample import InstantPlanner, fabric, measured
from tests.flowprism.service.api.client import Client, client
from tests.flowprism.service.running import wait_for

PLAN = "/api/v1/feeds/plan"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """A store with an inventory and nothing else."""
    stores = Stores(Database(f"sqlite:///{tmp_path}/results.sqlite"))
    save_inventory(stores.database, fabric(2, 8), "tests", 1)
    yield stores
    stores.database.close()


def planning(stores: Stores, planner: FeedPlanner) -> Client:
    """An admin who asks an application with this planner."""
    asking = client(stores)
    asking.app.state.planner = planner
    return asking


def test_plan_is_measured_when_it_is_asked_for(stores: Stores) -> None:
    """GET starts nothing; after POST another goal of the same job is there too; what is unreachable is named."""
    asking = planning(stores, FeedPlanner(measured))
    assert asking.get(PLAN).json()["state"] == "not started"
    started = asking.post(f"{PLAN}?minutes=10")
    assert (started.status_code, started.json()["goal"]["members"]) == (202, 16)
    wait_for(lambda: asking.get(PLAN).json()["state"] == "ready")
    choice = asking.get(PLAN).json()["choice"]
    assert choice["plan"]["rates"] == {"400": 65_536, "800": 131_072}
    assert choice["denser"]["rates"]["400"] == 16_384
    assert choice["sparser"]["smallest_slowdown_ratio"] == 1.2
    (problem,) = asking.get(f"{PLAN}?slowdown_ratio=1.01").json()["choice"]["unreachable"]
    assert problem.startswith("a slowdown of 1.0%")


def test_files_are_an_archive_of_what_to_type(stores: Stores) -> None:
    """The leaves of the plan with its rates, the same bytes each time; a collector that is no address is refused."""
    asking = planning(stores, InstantPlanner())
    query = "collector=10.0.0.5&leaves=arista-eos"
    answer = asking.get(f"{PLAN}/files?{query}")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["leaf0.conf", "leaf1.conf", "flowprism.yaml"]
        assert "sflow sample 131072" in archive.read("leaf0.conf").decode()
    assert asking.get(f"{PLAN}/files?{query}").content == answer.content
    wrong = asking.get(f"{PLAN}/files?{query.replace('10.0.0.5', 'x%0Ano sflow run')}")
    assert (wrong.status_code, wrong.json()["detail"]) == (422, "query: the collector is no IP address")
    assert planning(stores, FeedPlanner(measured)).get(f"{PLAN}/files?{query}").status_code == 404


def test_without_inventory_no_plan_is_possible(tmp_path: Path) -> None:
    """It says why, and a POST starts nothing."""
    database = Database(f"sqlite:///{tmp_path}/none.sqlite")
    asking = planning(Stores(database), FeedPlanner(measured))
    assert asking.post(PLAN).json()["state"] == "impossible"
    assert asking.get(PLAN).json()["reason"] == "there is no inventory"
    database.close()


def test_viewers_may_look_and_not_measure(stores: Stores) -> None:
    """Measuring takes a core for minutes."""
    asking = client(stores, Viewer("vic", "viewer", None))
    assert (asking.get(PLAN).status_code, asking.post(PLAN).status_code) == (200, 403)
