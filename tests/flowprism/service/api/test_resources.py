"""Events, scans, feeds, parts, the fabric and the inventory through the real application."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datamodel.service.api_models import ComponentStatus
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.components import save_component
from tests.flowprism.service.api.client import client
from tests.flowprism.service.stored import TENANT, demo_analysis, demo_inventory, stored_many

TENANT_OPERATOR = Viewer("oli", "operator", TENANT)


def test_events_in_pages(demo: Stores) -> None:
    """Following `next` gives each event once."""
    asking, found = client(demo), []
    cursor: str | None = ""
    while cursor is not None:
        page = asking.get("/api/v1/events", params={"limit": 1, "cursor": cursor}).json()
        found += page["items"]
        cursor = page["next"]
    assert found == asking.get("/api/v1/events").json()["items"]
    assert asking.get("/api/v1/events", params={"kind": "restart"}).json()["items"] == []


def test_scans_and_one_of_them(demo: Stores) -> None:
    """A row leads to its document."""
    asking = client(demo)
    (row, _) = asking.get("/api/v1/scans").json()["items"]
    path = f"/api/v1/scans/{row['policy']}/{row['window_start_ns']}/{row['window_end_ns']}"
    detail = asking.get(path).json()
    assert {name: detail[name] for name in row} == row
    assert detail["scan"]["schema"] == "flowprism.scan/v1"
    assert asking.get("/api/v1/scans/none/1/2").status_code == 404
    assert asking.get("/api/v1/scans", params={"policy": "nightly"}).json()["items"][0]["policy"] == "nightly"


def test_asking_for_a_scan(own_demo: Stores) -> None:
    """201 with where to look; a policy that is not known, or half a window, is refused."""
    asking = client(own_demo)
    made = asking.post("/api/v1/scan-requests", json={})
    assert (made.status_code, made.json()["policy"], made.json()["state"]) == (201, "default", "waiting")
    assert asking.get(made.headers["Location"]).json() == made.json()
    assert asking.get("/api/v1/scan-requests").json()["items"] == [made.json()]
    wrong = ({"policy": "x"}, {"window_start_ns": 1}, {"window_start_ns": 2, "window_end_ns": 1}, {"jobs": 1})
    for body in wrong:
        assert asking.post("/api/v1/scan-requests", json=body).status_code == 422
    assert client(own_demo, Viewer("bob", "viewer", None)).post("/api/v1/scan-requests", json={}).status_code == 403
    own = client(own_demo, TENANT_OPERATOR)
    assert own.post("/api/v1/scan-requests", json={"jobs": ["j1"]}).status_code == 403
    assert own.post("/api/v1/scan-requests", json={}).json()["jobs"] == [demo_analysis().report.jobs[0].id]


def test_feeds_and_components_are_for_who_sees_all(own_demo: Stores) -> None:
    """They are everybody's; who sees one tenant is refused."""
    save_component(
        own_demo.database,
        ComponentStatus(name="scanner a", kind="scanner", started_ns=1, seen_ns=2, figures={"x": 1.0}),
    )
    asking = client(own_demo)
    assert len(asking.get("/api/v1/feeds").json()["items"]) == 2
    assert asking.get("/api/v1/feeds", params={"end_ns": 1}).json()["items"] == []
    assert asking.get("/api/v1/feeds", params={"start_ns": 2, "end_ns": 1}).status_code == 422
    assert asking.get("/api/v1/components").json()["items"][0]["figures"] == {"x": 1.0}
    assert [
        client(own_demo, TENANT_OPERATOR).get(f"/api/v1/{name}").status_code for name in ("feeds", "components")
    ] == [
        403,
        403,
    ]


def test_the_inventory_is_taken_as_yaml(own_demo: Stores) -> None:
    """As its files are written, with the line of what is wrong; comments and anchors do no harm."""
    asking, headers = client(own_demo), {"Content-Type": "application/yaml"}
    text = (
        "schema: flowprism.inventory/v1  # one host\n"
        "hosts:\n- name: s1\n  endpoints: [{address: 10.1.1.1, gpu: 0, switch: leaf1, port: 3}]\n"
        "switches: [{name: leaf1, role: leaf}]\n"
    )
    put = asking.request("PUT", "/api/v1/inventory", content=text, headers=headers)
    assert put.json() == {"changed": True, "hosts": 1, "endpoints": 1, "switches": 1}
    assert asking.get("/api/v1/inventory").json()["hosts"][0]["name"] == "s1"
    for wrong, said in ((text.replace("gpu: 0", "gpux: 0"), "line 4"), ("hosts: [", "line 2"), ("\xff", "expected")):
        answer = asking.request("PUT", "/api/v1/inventory", content=wrong, headers=headers)
        assert answer.status_code == 422
        assert said in answer.json()["detail"]


def test_the_inventory_is_replaced(own_demo: Stores) -> None:
    """What was put is what is in force; one that contradicts itself changes nothing, and says why."""
    asking = client(own_demo)
    document = asking.get("/api/v1/inventory").json()
    assert document == json.loads(demo_inventory().model_dump_json(by_alias=True))
    document["hosts"] = document["hosts"][:2]
    document["jobs"] = []
    put = asking.request("PUT", "/api/v1/inventory", json=document)
    assert put.json() == {"changed": True, "hosts": 2, "endpoints": 4, "switches": len(document["switches"])}
    assert not asking.request("PUT", "/api/v1/inventory", json=document).json()["changed"]
    assert asking.get("/api/v1/inventory").json() == document
    document["hosts"].append(document["hosts"][0])
    wrong = asking.request("PUT", "/api/v1/inventory", json=document)
    assert wrong.status_code == 422
    assert "10.1.1.1 is a duplicate" in wrong.json()["detail"]
    assert client(own_demo, TENANT_OPERATOR).get("/api/v1/inventory").status_code == 403
    assert (
        client(own_demo, Viewer("oli", "operator", None)).request("PUT", "/api/v1/inventory", json={}).status_code
        == 403
    )


def test_the_fabric(demo: Stores) -> None:
    """As the inventory draws it."""
    view = client(demo).get("/api/v1/fabric").json()
    assert len(view["links"]) == 16 + len(demo_inventory().links)


@pytest.mark.parametrize("path", ["/api/v1/nonsense", "/api/v1/jobs/a/b/c"])
def test_no_such_route(demo: Stores, path: str) -> None:
    """404 as a problem; a method that a route has not, 405."""
    answer = client(demo).get(path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
    assert client(demo).request("DELETE", "/api/v1/jobs").status_code == 405


def test_without_the_database_it_is_503(tmp_path: Path) -> None:
    """Not 500: the same may be asked again, and when is told."""
    stores = stored_many(tmp_path, jobs=1, days=1, endpoints=2)
    asking = client(stores)
    assert asking.get("/api/v1/jobs").status_code == 200
    stores.database.close()
    (tmp_path / "results.sqlite").rename(tmp_path / "away")
    (tmp_path / "results.sqlite").mkdir()
    answer = asking.get("/api/v1/jobs")
    assert answer.status_code == 503
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert int(answer.headers["Retry-After"]) > 0
