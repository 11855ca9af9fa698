"""Listings sent to the API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from tests.flowprism.inventory_import import listings
from tests.flowprism.service.api.client import client

BROKEN = {"jobs": [{"job_id": 1, "job_state": 2}]}
PATH = "/api/v1/inventory/import"


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    """Of a service that knows nothing yet."""
    return Stores(Database(f"sqlite:///{tmp_path}/results.sqlite"))


def test_listings_are_merged(stores: Stores) -> None:
    """NetBox's first, then Slurm's jobs on its hosts; what was left out is told."""
    asker = client(stores)
    fabric = asker.post(PATH, json=listings.netbox()).json()
    assert (fabric["changed"], fabric["hosts"], fabric["endpoints"], fabric["switches"]) == (True, 2, 3, 2)
    jobs = asker.post(PATH, content=listings.SLURM_TEXT, headers={"content-type": "text/plain"}).json()
    assert (jobs["changed"], jobs["hosts"], jobs["jobs"]) == (True, 2, 1)
    assert jobs["left_out"] == {"Slurm jobs that do not run": 1}
    again = asker.post(PATH, content=listings.SLURM_TEXT, headers={"content-type": "text/plain"}).json()
    assert not again["changed"]
    assert asker.get("/api/v1/inventory").json()["jobs"][0]["hosts"] == ["gpu01.dc1.example", "gpu02.dc1.example"]


def test_as_csv_and_yaml(stores: Stores) -> None:
    """Inventories as files are, by their media type."""
    asker = client(stores)
    table = asker.post(PATH, content="host,address\ns1,10.0.0.1\n", headers={"content-type": "text/csv; charset=utf-8"})
    text = asker.post(PATH, content="hosts: [{name: s2}]\n", headers={"content-type": "application/yaml"})
    assert (table.json()["hosts"], text.json()["hosts"]) == (1, 2)


@pytest.mark.parametrize(
    "body", ["{", '{"a": 1}', "\x00", "host,address\n", json.dumps({"jobs": [{"job_id": 1, "job_state": 2}]})]
)
def test_what_is_no_listing(stores: Stores, body: str) -> None:
    """Is said to be none, without a path of ours, and changes nothing."""
    asker = client(stores)
    answer = asker.post(PATH, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert "/tmp" not in answer.text  # noqa: S108 - where bodies lie for a moment
    assert asker.get("/api/v1/inventory").status_code == 404


def test_admins_only(stores: Stores) -> None:
    """Nobody else says what the fabric is."""
    assert client(stores, Viewer("oli", "operator", None)).post(PATH, json=listings.netbox()).status_code == 403
