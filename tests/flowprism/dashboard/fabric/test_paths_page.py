"""The page of paths: jobs, uplinks, long connections and what became of a plan, as text and in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from datamodel.reports.path_plan import Port
from flowprism.dashboard.fabric.paths_page import doors
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.dashboard.browser import MOST_SHIFT, Theme, served_stores, visiting
from tests.flowprism.dashboard.fabric.stored_paths import PathScans, applied, case
from tests.flowprism.service.api.client import client


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PathScans]:
    """A plan that is applied but for five ports, and where two uplinks of each leaf were exchanged."""
    folder = tmp_path_factory.mktemp("paths")
    found = PathScans.begin(folder)
    plan = found.scan(case()).plan
    assert plan is not None
    found.scan(applied(folder, plan, left_out=5), {3: 4, 4: 3})
    yield found
    found.stores.database.close()


def text_of(page: str) -> str:
    """What a page says."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_page_shows_what_became_of_the_plan(scans: PathScans) -> None:
    """Jobs with the plan's state, uplinks now and planned, shared cables, connections that are not where planned."""
    page = text_of(client(scans.stores).get("/fabric/paths").text)
    state = client(scans.stores).get("/api/v1/paths").json()["items"][0]["state"]
    counts = state["outcome"]["applied"]
    assert f"{counts['kept']} kept, {counts['drifted']} drifted, 5 not applied" in page
    worst = max(state["balance"], key=lambda one: one["now"])
    assert f"{worst['switch']} {worst['now']:.2f} {worst['planned']:.2f}" in page
    cable = max(state["collisions"], key=lambda one: one["now_s"])["link"]
    assert f"{cable[0]['switch']}:{cable[0]['port']} → {cable[1]['switch']}" in page
    assert page.count(" drifted") >= counts["drifted"]


def test_ports_of_nics_have_no_number() -> None:
    """A NIC with two ports is a switch of its own, by its address."""
    assert doors((Port(switch="10.0.0.1", port=None), Port(switch="leaf1", port=3))) == "10.0.0.1, leaf1:3"
    assert doors(None) == "unknown"


def test_a_store_without_paths_says_what_it_takes(demo: Stores) -> None:
    """A mirror names no interfaces; who sees no job with paths is shown the same."""
    assert "No paths seen" in client(demo).get("/fabric/paths").text
    assert "No paths seen" in client(demo, Viewer("sue", "viewer", "search")).get("/fabric/paths").text


def test_an_unknown_job_is_named_as_such(scans: PathScans) -> None:
    """Whatever it is called."""
    page = client(scans.stores).get("/fabric/paths", params={"job": "<img src=x>"}).text
    assert "There is no job of this name" in page
    assert "<img" not in page


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), pytest.param("dark", 390, marks=pytest.mark.slow)])
def test_the_page_in_a_browser(chromium: Browser, scans: PathScans, theme: Theme, width: int) -> None:
    """From the fabric page to the plan's file: within the window, still, accessible, without complaint."""
    with served_stores(scans.stores) as address, visiting(chromium, address, width=width, theme=theme) as visit:
        visit.open("/fabric")
        visit.page.get_by_role("link", name="Which cables long connections take").click()
        visit.page.wait_for_url("**/fabric/paths")
        expect(visit.page.locator("#plan")).to_contain_text("drifted")
        assert visit.shifted() < MOST_SHIFT
        visit.in_sight()
        visit.accessible()
        with visit.page.expect_download() as given:
            visit.page.locator("#plan").get_by_role("link", name="csv").click()
        assert Path(given.value.path()).read_text().startswith("job,src_addr")
        visit.quiet()
