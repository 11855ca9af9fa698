from __future__ import annotations

import pytest

from flowprism.service.stores import Stores
from tests.flowprism.service.api.client import client

_BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nowhere", "/job/x", "/fabric/x/y", "/logout"])
def test_a_browser_is_told_on_a_page_that_there_is_nothing(demo: Stores, path: str) -> None:
    """An address of no page, or of none to be looked at: the words, the way on, and the status all the same."""
    answer = client(demo).get(path, headers={"Accept": _BROWSER})
    assert answer.status_code == (405 if path == "/logout" else 404)
    assert answer.headers["content-type"].startswith("text/html")
    assert f"No page can be looked at under {path}" in answer.text
    assert 'href="/">Overview</a>' in answer.text


@pytest.mark.parametrize(("path", "accept"), [("/nowhere", "*/*"), ("/api/v1/nowhere", _BROWSER)])
def test_programs_and_their_addresses_are_told_as_problems(demo: Stores, path: str, accept: str) -> None:
    """Whoever asks the API, and whoever is no browser, gets `application/problem+json`."""
    answer = client(demo).get(path, headers={"Accept": accept})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
