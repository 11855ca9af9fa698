"""The matrix page: order, part and measure stand in the address, and what stands out is told in words."""

from __future__ import annotations

import re
from html import unescape

import pytest

from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import ADMIN, client


@pytest.fixture(scope="module")
def path(demo: Stores) -> str:
    """The bundled capture's matrix."""
    return f"/jobs/{jobs(demo, ADMIN, 2**61)[0].id}/matrix"


def _rows(page: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'class="tick end[^"]*">([^<]*)</text>', page)]


def test_cells_are_those_of_the_rings_and_chains(demo: Stores, path: str) -> None:
    """Sixteen endpoints in rings of four and chains of two: each sends to one of either, both ways along the chain."""
    page = client(demo).get(path).text
    assert page.count("data-cell=") == 32
    assert page.count('class="cell dp"') == 16 + 1  # one in the legend
    assert page.count('class="cell pp"') == 16 + 1


def test_order_and_part_are_chosen(demo: Stores, path: str) -> None:
    """By stage hosts' endpoints are neighbours; by group those of a ring are; a part shows its own."""
    asked = client(demo)
    assert _rows(asked.get(path).text)[:4] == ["s1/0", "s1/1", "s2/0", "s2/1"]
    assert _rows(asked.get(f"{path}?order=dp").text)[:4] == ["s1/0", "s2/0", "s3/0", "s4/0"]
    assert len(_rows(asked.get(f"{path}?only=stage 1").text)) == 8
    assert set(_rows(asked.get(f"{path}?only=suspects").text)) >= {"s3/1", "s2/1", "s4/1"}
    assert "None of these endpoints" in asked.get(f"{path}?only=dp 99").text


def test_slow_pairs_stand_out(demo: Stores, path: str) -> None:
    """The slow link's endpoint is named as receiver that stands out, its pair leads the table, its bar is marked."""
    page = unescape(client(demo).get(f"{path}?measure=delay").text)
    assert re.search(r"Receivers that stand out: <strong>10\.2\.3\.2 \(s3 gpu 1\)", page)
    first = re.search(r"<tbody>(.*?)</tr>", page, re.DOTALL)
    assert first is not None
    assert "10.2.3.2" in first.group(1)
    assert 'class="margin hit"' in page


def test_measures_agree_with_the_api(demo: Stores, path: str) -> None:
    """The table has the bytes of the pairs that the API tells."""
    told = client(demo).get(f"/api/v1{path}").json()["pairs"]
    page = client(demo).get(path).text
    rows = re.findall(r"<tr><td>([^ ]+) \(.*?</td><td>([^ ]+) \(.*?</td><td>(\w+)</td>", page)
    assert sorted(rows) == sorted(zip(told["src"], told["dst"], told["role"], strict=True))


def test_strangers_and_nonsense(demo: Stores, path: str) -> None:
    """Another tenant's viewer finds nothing; what is no measure or order is refused."""
    assert client(demo, Viewer("sue", "viewer", "search")).get(path).status_code == 404
    for query in ("measure=beauty", "order=name", "at_ns=-5", "only=" + "x" * 99):
        assert client(demo).get(f"{path}?{query}").status_code == 400
    assert "No volumes of this job are stored" in client(demo).get(f"{path}?at_ns=5").text
