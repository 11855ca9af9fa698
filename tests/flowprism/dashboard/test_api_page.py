"""`/docs` and `/openapi.json`."""

from __future__ import annotations

from flowprism.service.stores import Stores
from tests.flowprism.service.api.client import client


def test_the_api_is_found_where_people_look(demo: Stores) -> None:
    """Every route of the description is on the page, and the usual address leads to the description."""
    asking = client(demo)
    moved = asking.get("/openapi.json")
    assert moved.status_code == 307
    said = asking.get(moved.headers["location"]).json()
    page = asking.get("/docs").text
    assert said["paths"]
    assert [path for path in said["paths"] if f"<code>{path}</code>" not in page] == []
