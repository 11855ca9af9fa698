"""The fabric page: load and suspicion of cables, ways of a pair, hosts and rails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from datamodel.cluster.inventory import Inventory
from flowprism.service.config.settings import ScanSettings, Settings
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from tests.flowprism.service.api.client import client

HOSTILE = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Stores]:
    """A store without an inventory."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    yield Stores(database)
    database.close()


def _cables(page: str) -> list[str]:
    table = page.partition('id="links"')[2]
    return [
        " ".join(unescape(re.sub(r"<[^>]+>", " ", row)).split())
        for row in re.findall(r"<tr>(<td>.*?)</tr>", table, re.DOTALL)
    ]


def test_the_suspect_cable_comes_first(demo: Stores) -> None:
    """With its ends, its load, how much it is suspected, and the way to the incident."""
    page = client(demo).get("/fabric").text
    first = _cables(page)[0]
    assert first.startswith("leaf2 10.2.3.2 (s3 gpu 1) 8 400 Mbit/s 8.2 % 95 % incident")
    assert 'href="/incidents/' in page
    assert re.search(r'<rect[^>]*class="port suspect', page)
    assert "4 leaves, 2 spines, 16 endpoints on 8 hosts" in page


def test_ways_of_a_pair(demo: Stores) -> None:
    """Between leaves over either spine, called by address or by host and GPU; cables and drawing are marked."""
    page = client(demo).get("/fabric", params={"src": "10.1.1.1", "dst": "s7/1"}).text
    assert "2 ways from 10.1.1.1 (s1 gpu 0) to 10.4.7.2 (s7 gpu 1)" in page
    assert len(re.findall(r"<line[^>]*on-path", page)) == 4 + 1  # one in the legend
    lost = unescape(client(demo).get("/fabric", params={"src": "10.1.1.1", "dst": HOSTILE}).text)
    assert f"No endpoint is called “{HOSTILE}”" in lost
    assert "<img" not in client(demo).get("/fabric", params={"src": HOSTILE, "dst": HOSTILE, "host": HOSTILE}).text


def test_hosts_are_found_by_name_job_address_and_switch(demo: Stores) -> None:
    """Two rails across; the suspect's host first; a search by any of its names."""
    page = client(demo).get("/fabric").text
    rows = re.findall(r'<tr><th scope="row">(s\d)</th>', page)
    assert rows == ["s3", "s1", "s2", "s4", "s5", "s6", "s7", "s8"]
    assert "rail 0" in page
    assert "rail 1" in page
    for text in ("s5", "10.3.5.2"):
        found = client(demo).get("/fabric", params={"host": text}).text
        assert re.findall(r'<tr><th scope="row">(s\d)</th>', found) == ["s5"]
    found = client(demo).get("/fabric", params={"host": "Leaf2"}).text
    assert re.findall(r'<tr><th scope="row">(s\d)</th><td><a href="/jobs/\w+">(llama-demo)</a>', found) == [
        ("s3", "llama-demo"),
        ("s4", "llama-demo"),
    ]
    assert "No host" in client(demo).get("/fabric", params={"host": "zzz"}).text


def test_a_tenant_sees_what_its_jobs_touch(demo: Stores) -> None:
    """Of the demo's tenant all of it, of another nothing."""
    assert "16 endpoints" in client(demo, Viewer("rob", "viewer", "research")).get("/fabric").text
    assert "16 endpoints" not in client(demo, Viewer("sue", "viewer", "search")).get("/fabric").text


def test_without_an_inventory_it_says_what_is_missing(empty: Stores) -> None:
    """And where to give one."""
    page = client(empty).get("/fabric").text
    assert "No inventory" in page
    assert 'href="/settings#inventory"' in page


def test_hostile_names_are_text(empty: Stores) -> None:
    """Names of hosts and switches come from elsewhere: they are shown, not meant."""
    host = {"name": HOSTILE, "endpoints": [{"address": "10.0.0.1", "switch": HOSTILE}]}
    inventory = Inventory.model_validate({"hosts": [host], "switches": [{"name": HOSTILE, "role": "leaf"}]})
    save_inventory(empty.database, inventory, "tests", 1)
    page = client(empty).get("/fabric", params={"src": "10.0.0.1", "dst": "10.0.0.1"}).text
    assert "<img" not in page
    assert unescape(page).count(HOSTILE) >= 3


def test_inventory_file_of_the_settings_draws_the_fabric(empty: Stores) -> None:
    """What scans use is what the page shows, and nothing can be uploaded beside it."""
    with as_file(files("flowprism.demo") / "inventory.yaml") as path:
        asked = client(empty, settings=Settings(scans=ScanSettings(inventory=path)))
        page = asked.get("/fabric").text
        refused = asked.request("PUT", "/api/v1/inventory", json=Inventory().model_dump(mode="json", by_alias=True))
    assert "No inventory" not in page
    assert "leaf2" in page
    assert refused.status_code == 403
    assert "scans.inventory" in refused.text
