"""`/api/v1/incidents` through the real application."""

from __future__ import annotations

import time

import pytest

from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.scans.baselines import newest_baselines
from tests.flowprism.service.api.client import client


def test_people_act_on_incidents(own_demo: Stores) -> None:
    """Each action gives the incident as it is afterwards."""
    asking = client(own_demo)
    (row, *_) = asking.get("/api/v1/incidents").json()["items"]
    path = f"/api/v1/incidents/{row['incident']['id']}"
    assert asking.post(f"{path}/acknowledge").json()["acknowledged_by"] == "ann"
    until_ns = time.time_ns() + 10**12
    muted = asking.post(f"{path}/mute", json={"reason": "part ordered", "until_ns": until_ns}).json()
    assert (muted["muted"], muted["muted_until_ns"]) == (True, until_ns)
    assert [one["incident"]["id"] for one in asking.get("/api/v1/incidents?muted=true").json()["items"]] == [
        row["incident"]["id"]
    ]
    assert not asking.post(f"{path}/unmute", json={}).json()["muted"]
    assert asking.post(f"{path}/accept", json={"text": "larger batches"}).status_code == 200
    job = row["incident"]["job"]
    (baseline,) = newest_baselines(own_demo.database, [job], time.time_ns()).values()
    assert (baseline.since_ns, baseline.origin, baseline.author) == (row["incident"]["start_ns"], "accepted", "ann")
    noted = asking.post(f"{path}/comment", json={"text": "cable swapped"}).json()
    assert [(note["kind"], note["author"]) for note in noted["notes"]] == [
        (kind, "ann") for kind in ("acknowledged", "muted", "unmuted", "accepted", "comment")
    ]
    assert asking.get(path).json() == noted


@pytest.mark.parametrize(
    ("action", "body", "where"),
    [
        ("mute", {"reason": "x", "until_ns": 1}, "body until_ns"),
        ("mute", {}, "body reason"),
        ("comment", {"text": ""}, "body text"),
        ("comment", {"text": "x", "more": 1}, "body more"),
        ("acknowledge", {"text": "\0"}, "body text"),
    ],
)
def test_wrong_actions_change_nothing(demo: Stores, action: str, body: dict[str, object], where: str) -> None:
    """422 names what is wrong."""
    asking = client(demo)
    (row, *_) = asking.get("/api/v1/incidents").json()["items"]
    path = f"/api/v1/incidents/{row['incident']['id']}"
    answer = asking.post(f"{path}/{action}", json=body)
    assert answer.status_code == 422
    assert [error["where"] for error in answer.json()["errors"]] == [where]
    assert asking.get(path).json()["notes"] == []


def test_a_viewer_may_not_act(demo: Stores) -> None:
    """403 as a problem; of another tenant's incident, 404 whatever one may."""
    (row, *_) = client(demo).get("/api/v1/incidents").json()["items"]
    path = f"/api/v1/incidents/{row['incident']['id']}/acknowledge"
    refused = client(demo, Viewer("bob", "viewer", None)).post(path)
    assert (refused.status_code, refused.headers["Content-Type"]) == (403, "application/problem+json")
    assert client(demo, Viewer("eve", "operator", "search")).post(path).status_code == 404


def test_pages_give_every_incident_once(many: Stores) -> None:
    """Following `next` until it is null; a cursor of another list is refused."""
    asking, found = client(many), []
    cursor: str | None = ""
    while cursor is not None:
        page = asking.get("/api/v1/incidents", params={"limit": 3, "cursor": cursor}).json()
        found += [row["incident"]["id"] for row in page["items"]]
        cursor = page["next"]
    assert len(set(found)) == len(found) == 10
    wrong = asking.get("/api/v1/jobs", params={"limit": 1}).json()["next"]
    assert asking.get("/api/v1/incidents", params={"cursor": wrong}).status_code == 422
