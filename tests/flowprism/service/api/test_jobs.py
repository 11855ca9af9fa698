"""`/api/v1/jobs` through the real application."""

from __future__ import annotations

import pytest

from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import client
from tests.flowprism.service.stored import demo_analysis


def test_pages_give_every_job_once(many: Stores) -> None:
    """Following `next` until it is null."""
    asking, found = client(many), []
    cursor: str | None = None
    while True:
        page = asking.get(
            "/api/v1/jobs", params={"limit": 7, "order": "worst", **({"cursor": cursor} if cursor else {})}
        )
        assert page.status_code == 200
        found += [row["id"] for row in page.json()["items"]]
        cursor = page.json()["next"]
        if cursor is None:
            break
    assert sorted(found) == [f"j{number:05}" for number in range(40)]


def test_one_job(demo: Stores) -> None:
    """With its layouts, iterations and pace under it; of a name that is none, 404."""
    (told,) = demo_analysis().report.jobs
    asking = client(demo)
    detail = asking.get(f"/api/v1/jobs/{told.id}").json()
    assert detail["addresses"] == list(told.endpoints)
    assert asking.get(f"/api/v1/jobs/{told.id}/layouts").json()["items"] == detail["layouts"]
    span = {"start_ns": 0, "end_ns": 4 * 10**18}
    series = asking.get(f"/api/v1/jobs/{told.id}/iterations", params=span).json()
    assert series["iterations"] == len(series["points"]) == len(told.iterations)
    trend = asking.get(
        f"/api/v1/jobs/{told.id}/trend",
        params={"start_ns": told.iterations[0].start_ns, "end_ns": told.iterations[-1].end_ns},
    )
    assert any(trend.json()["mean_s"])
    (day,) = asking.get(f"/api/v1/jobs/{told.id}/training-time").json()["items"]
    kinds = ("productive", "slowed", "paused", "down", "unknown")
    assert sum(day[f"{kind}_ns"] for kind in kinds) == day["end_ns"] - day["start_ns"]
    assert day["start_ns"] == told.iterations[0].start_ns
    assert day["slowed_by_ns"]["slow_link"] > 0
    for path in ("", "/layouts", "/iterations", "/trend", "/training-time"):
        missing = asking.get(f"/api/v1/jobs/nonsense{path}")
        assert missing.status_code == 404
        assert missing.headers["Content-Type"] == "application/problem+json"
        assert missing.json()["detail"] == "there is no job of this id"


def test_what_is_known_is_not_sent_again(demo: Stores) -> None:
    """With the entity tag of the answer before, 304; when it has changed, the new one."""
    asking = client(demo)
    first = asking.get("/api/v1/jobs")
    tag = first.headers["ETag"]
    again = asking.get("/api/v1/jobs", headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert asking.get("/api/v1/jobs", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("limit=0", "query limit"),
        ("limit=501", "query limit"),
        ("cursor=%21", "query cursor"),
        ("cursor=AAAA", "query cursor"),
        ("state=ill", "query state 0"),
        ("nonsense=1", "query nonsense"),
        ("text=%00", "query text"),
    ],
)
def test_wrong_parameters_are_named(demo: Stores, query: str, where: str) -> None:
    """422 with the part that is wrong, and without what was sent."""
    answer = client(demo).get(f"/api/v1/jobs?{query}")
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert [error["where"] for error in answer.json()["errors"]] == [where]


def test_a_tenant_is_told_of_its_own(demo: Stores) -> None:
    """Of another one's job, 404 as for one that does not exist."""
    name = demo_analysis().report.jobs[0].id
    stranger = client(demo, Viewer("eve", "operator", "search"))
    assert stranger.get("/api/v1/jobs").json() == {"items": [], "next": None}
    assert stranger.get(f"/api/v1/jobs/{name}").json() == stranger.get("/api/v1/jobs/nonsense").json()
