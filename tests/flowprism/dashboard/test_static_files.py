from __future__ import annotations

from fastapi import FastAPI

from flowprism.dashboard import static_files
from tests.flowprism.service.api.client import Client


def _client() -> Client:
    app = FastAPI()
    app.include_router(static_files.router)
    return Client(app)


def test_a_file_under_the_stamp_is_kept_for_good() -> None:
    """Its address changes when any file does, so no browser need ask again."""
    answer = _client().get(static_files.address("app.css"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]


def test_a_file_without_the_stamp_is_asked_for_by_its_tag() -> None:
    """A browser that has it gets 304 and no bytes."""
    first = _client().get("/static/theme.js")
    assert first.headers["cache-control"] == "no-cache"
    again = _client().get("/static/theme.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_an_old_stamp_gives_todays_file_and_no_promise() -> None:
    """A page that was open over an update still finds its modules."""
    answer = _client().get("/static/0123456789ab/page.js")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"


def test_nothing_beside_the_folder_is_served() -> None:
    """No way leads out of it."""
    for path in ("/static/../pages.py", "/static/%2e%2e/pages.py", "/static/", "/static/app.css/x"):
        assert _client().get(path).status_code == 404, path
