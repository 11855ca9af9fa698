from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import ADMIN, client
from tests.flowprism.service.stored import demo_analysis, stored_many

LATER_NS = 2**61


@pytest.fixture(scope="module")
def place(demo: Stores) -> str:
    """Where the bundled capture's job is."""
    return f"/jobs/{jobs(demo, ADMIN, LATER_NS)[0].id}"


def _page(stores: Stores, path: str) -> str:
    answer = client(stores).get(path)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


def test_every_iteration_is_a_dot_and_a_row(demo: Stores, place: str) -> None:
    """Those inside the incident are marked in both."""
    page = _page(demo, place)
    report = demo_analysis().report
    steps = report.jobs[0].iterations
    start_ns = report.findings[0].start_ns
    slow = sum((one.start_ns + one.end_ns) // 2 > start_ns for one in steps)
    assert len(re.findall(r'class="dot(?: hit)?"', page)) == len(steps)
    assert (
        len(re.findall(r'class="dot hit"', page)) == slow == len(re.findall(r"<td>yes</td></tr>", page)) - _marked(page)
    )


def _marked(page: str) -> int:
    """Rows of the layout's table that are under suspicion."""
    return len(re.findall(r"<td>yes</td></tr>", page.partition('id="layout-heading"')[2]))


def test_the_layout_names_stages_and_frames_the_suspect(demo: Stores, place: str) -> None:
    """Two stages of four replicas with two members each; one endpoint is suspected."""
    grid = _page(demo, place).partition('id="layout-heading"')[2].partition('id="groups-heading"')[0]
    cells = re.findall(r'class="place-cell (?:h\d|unknown)"><title>', grid)
    assert len(cells) == 16
    framed = re.findall(r'class="place-cell suspect-mark"><title>([^:]+):', grid)
    assert framed == ["10.2.3.2 (s3 gpu 1)"]


@pytest.mark.parametrize("by", ["late", "compute", "network", "wait", "delivery", "sent", "none"])
def test_what_colours_the_layout_is_chosen(demo: Stores, place: str, by: str) -> None:
    """Every measure has its figure; suspicion alone needs no span."""
    page = _page(demo, f"{place}?by={by}")
    assert f'<option value="{by}" selected>' in page
    assert ('class="place-cell unknown"' in page) == (by == "none")


def test_the_suspect_of_a_slow_link_stands_out_where_nobody_chooses(demo: Stores, place: str) -> None:
    """Its pairs take twice as long as their peers to deliver; everybody else's are as usual."""
    grid = _page(demo, place).partition('id="layout-heading"')[2].partition("</figure>")[0]
    assert '<option value="delivery" selected>' in grid
    assert "Longer than their peers:" in grid
    (worst,) = re.findall(r'class="place-cell h4"><title>([^<]+)<', grid)
    assert re.fullmatch(r"10\.2\.3\.2 \(s3 gpu 1\): 2\.\d+ times as long as its peers.*", worst)
    first = grid.partition("<tbody>")[2].partition("</tr>")[0]
    assert "10.2.3.2 (s3 gpu 1)" in first
    assert "<td>yes</td>" in first


def test_a_shorter_time_shows_its_iterations_only(demo: Stores, place: str) -> None:
    """From and to stand in the address; the figure begins where it says."""
    steps = demo_analysis().report.jobs[0].iterations
    page = _page(demo, f"{place}?from=2026-11-20T15:20:55Z&to=2026-11-20T15:21:00Z")
    begin, end = 1795188055 * 10**9, 1795188060 * 10**9
    inside = [one for one in steps if begin <= one.end_ns <= end]
    assert len(re.findall(r'class="dot(?: hit)?"', page)) == len(inside) > 0


@pytest.mark.parametrize("query", ["from=yesterday", "from=2026-01-02&to=2026-01-01", "last=9h", "to=99999-01-01"])
def test_a_time_that_is_none_is_told_on_a_page(demo: Stores, place: str, query: str) -> None:
    """With status 400, and what is wrong."""
    answer = client(demo).get(f"{place}?{query}")
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")


def test_a_job_of_others_is_not_there(demo: Stores, place: str) -> None:
    """As if it did not exist."""
    answer = client(demo, Viewer("sue", "viewer", "search")).get(place)
    assert answer.status_code == 404
    assert "llama-demo" not in answer.text


def test_days_are_drawn_from_means_where_there_is_no_iteration(tmp_path: Path) -> None:
    """A day by the minute, with hits where a finding was on; a week by the hour."""
    stores = stored_many(tmp_path, jobs=1, days=2, endpoints=16)
    for last, hits, rows in (("24h", 60, 120), ("7d", 0, 47)):
        figure = _page(stores, f"/jobs/j00000?last={last}").partition('id="pace"')[2].partition("</figure>")[0]
        assert 'class="line strong"' in figure
        assert figure.count('class="dot hit"') == hits
        assert rows <= figure.count("<tr>") <= rows + 2
    stores.database.close()


def test_a_job_of_very_many_endpoints_has_a_page_of_bounded_size(tmp_path: Path) -> None:
    """Twenty thousand endpoints share some thousands of cells."""
    stores = stored_many(tmp_path, jobs=1, days=1, endpoints=20_000)
    answer = client(stores).get("/jobs/j00000")
    assert answer.status_code == 200
    assert len(answer.content) < 1_500_000
    assert "up to" in answer.text
    stores.database.close()
