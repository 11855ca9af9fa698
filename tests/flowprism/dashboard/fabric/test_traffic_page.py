"""The page of traffic over time, through the real application."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest

from flowprism.rendering.figures.rates_over_time import draw_rates_over_time, rate_rows
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import client
from tests.flowprism.service.queries.fabric.stored_traffic import with_traffic
from tests.flowprism.service.stored import demo_analysis, stored_demo

PAGE = "/fabric/traffic"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """The bundled capture with counters of leaf2."""
    folder = tmp_path_factory.mktemp("traffic")
    found = with_traffic(stored_demo(folder), folder / "flows")
    yield found
    found.database.close()


def shown(stores: Stores, query: str) -> dict[str, tuple[bool, str]]:
    """Whether each plot has a figure, and its text, by title."""
    text = client(stores).get(f"{PAGE}{query}").text
    found = {}
    for section in re.findall(r'<section class="card" aria-labelledby="plot-.*?</section>', text, re.DOTALL):
        (title,) = re.findall(r"<h2[^>]*>([^<]*) <", section)
        found[title] = ("figure wide" in section, unescape(re.sub(r"<[^>]+>", " ", section)))
    return found


def test_a_link_is_drawn_from_its_counters(stores: Stores) -> None:
    """Every plot, in the unit of what it shows, with the same in a table."""
    plots = shown(stores, "?link=leaf2/8&last=15m")
    assert [has for has, _ in plots.values()] == [True] * 4
    assert "8.00 Gbit/s" in plots["Throughput of ports"][1]
    assert "2.00 /s" in plots["PFC pause frames"][1]
    assert "10 %" in plots["Packets with a congestion mark (ECN)"][1]


def test_an_empty_place_says_what_would_fill_it(demo: Stores) -> None:
    """Without counters a job has its own throughput; of everything else the page says which feed brings it."""
    plots = shown(demo, "")
    assert plots["Throughput of the job"][0]
    assert "sFlow with counter polling" in plots["PFC pause frames"][1]
    assert "mirrors carry marks" in plots["Packets with a congestion mark (ECN)"][1]
    assert [has for has, _ in plots.values()].count(True) == 1


def test_the_time_stands_in_the_address_and_goes_along(stores: Stores) -> None:
    """From a job's page to its traffic, to another subject, and back; nothing else is lost on the way."""
    (job,) = demo_analysis().report.jobs
    time = "from=2026-07-01T00%3A00%3A00Z&to=2026-07-01T01%3A00%3A00Z"
    asked = client(stores)
    there = asked.get(f"/jobs/{job.id}?{time}").text
    (link,) = re.findall(r'href="([^"]+)">Traffic<', there)
    assert parse_qs(urlparse(unescape(link)).query) == parse_qs(f"{time}&job={job.id}")
    page = unescape(asked.get(unescape(link)).text)
    assert f'href="/jobs/{job.id}?{time}"' in page
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)">', page)
    assert set(hidden) == {(name, values[0]) for name, values in parse_qs(time).items()}
    moved = re.findall(r'href="(\?(?:last|from)[^"]+)"', page)
    assert len(moved) == 10
    assert all(parse_qs(one[1:])["job"] == [job.id] for one in moved)


def test_what_is_not_there_is_a_page(stores: Stores) -> None:
    """A link, a job or a time that is none; and what belongs to other tenants."""
    (job,) = demo_analysis().report.jobs
    for query, status in (
        ("?link=leaf2/x", 404), ("?link=nowhere/8", 404), ("?job=nonsense", 404), ("?from=yesterday", 400),
        ("?nothing=1", 400),
    ):  # fmt: skip
        answer = client(stores).get(f"{PAGE}{query}")
        assert (answer.status_code, "<h1" in answer.text) == (status, True), query
    foreign = client(stores, Viewer("vera", "viewer", "search"))
    assert foreign.get(f"{PAGE}?job={job.id}").status_code == 404
    assert foreign.get(f"{PAGE}?exporter=192.168.250.12").status_code == 403
    assert "No job yet" in foreign.get(PAGE).text


def test_too_many_records_are_a_sentence(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do."""
    monkeypatch.setattr("flowprism.service.queries.fabric.traffic_over_time.MOST_ROWS", 10)
    assert "ask for a shorter one" in client(stores).get(f"{PAGE}?exporter=192.168.250.12").text


def test_too_many_flow_records_leave_out_marks_alone(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters are few however much is sent: their figures stay."""
    monkeypatch.setattr("flowprism.service.queries.fabric.traffic_over_time.MOST_ROWS", 1000)
    page = client(stores).get(f"{PAGE}?exporter=192.168.250.12").text
    assert "6,000 records of the kind flows" in page
    assert "Throughput of ports: in at most" in page


def test_unknown_steps_are_gaps() -> None:
    """Two stretches with a hole are two paths; the table says that the hole is unknown."""
    values = np.array([1.0, 2.0, np.nan, np.nan, 3.0])
    drawn = draw_rates_over_time("Rates", {"in": values}, 0, 10**9, str)
    assert drawn.count('class="line strong"') == 2
    assert "in at most 3.0" in drawn
    assert rate_rows({"in": values}, 0, 10**9, most=3) == [(0, [1.5]), (2 * 10**9, [None]), (4 * 10**9, [3.0])]


def test_a_lake_of_nothing_is_no_error(demo: Stores, tmp_path: Path) -> None:
    """Where collectors have written nothing yet."""
    bare = Stores(demo.database, str(tmp_path), demo.analyses)
    assert client(bare).get(PAGE).status_code == 200
