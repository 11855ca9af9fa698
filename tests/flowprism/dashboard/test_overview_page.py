from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from datamodel.service.job_state import JobState
from flowprism.dashboard.overview_page import OverviewQuery, headline
from flowprism.service.queries.incidents.incident_queries import acknowledge, incidents
from flowprism.service.queries.jobs.job_counts import Census
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import ADMIN, client
from tests.flowprism.service.stored import MINUTE_NS, stored_demo, stored_many

SEARCHER = Viewer("sue", "viewer", "search")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A hundred and twenty jobs that were just scanned; the incident of every fourth."""
    end_ns = time.time_ns() // MINUTE_NS * MINUTE_NS
    stores = stored_many(tmp_path_factory.mktemp("many"), jobs=120, days=1, endpoints=8, end_ns=end_ns)
    yield stores
    stores.database.close()


def _page(stores: Stores, path: str, viewer: Viewer = ADMIN) -> str:
    answer = client(stores, viewer).get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def _jobs(page: str) -> list[str]:
    listed = page.partition('id="jobs"')[2]
    return re.findall(r'<a [^>]*href="/jobs/(j\d+)"', listed)


def test_the_worst_incident_is_the_headline(demo: Stores) -> None:
    """Sentence, job, place, certainty and what to do stand before everything else."""
    (row,) = incidents(demo, ADMIN, 2**62)
    top = unescape(_page(demo, "/").partition('id="counts"')[0])
    for words in (
        row.incident.summary,
        "llama-demo",
        "95\N{NO-BREAK SPACE}%",
        row.incident.action,
        f"/incidents/{row.incident.id}",
    ):
        assert words in top


def test_worst_jobs_come_first_and_pages_go_on(many: Stores) -> None:
    """Fifty rows a page; each goes on behind the one before, and no job stands twice."""
    first = _page(many, "/")
    assert _jobs(first)[0] == "j00008"  # critical
    seen, page = _jobs(first), first
    while following := re.findall(r'href="([^"]+)">Next page', page):
        page = _page(many, unescape(following[0]))
        seen += _jobs(page)
    assert len(_jobs(first)) == 50
    assert len(seen) == len(set(seen)) == 120


def test_tiles_show_all_jobs_on_one_page(many: Stores) -> None:
    """A wall screen's view."""
    assert len(_jobs(_page(many, "/?view=tiles"))) == 120


def test_the_search_stands_in_the_address_and_the_form(many: Stores) -> None:
    """What was asked is shown again, and narrows the list."""
    page = _page(many, "/?q=j00017&show=all")
    assert _jobs(page) == ["j00017"]
    assert 'value="j00017"' in page


def test_a_tenants_viewer_counts_and_sees_own_jobs_only(many: Stores) -> None:
    """Neither rows, nor figures, nor feeds of others."""
    page = _page(many, "/", SEARCHER)
    assert len(_jobs(page)) == 30
    assert re.search(r"Jobs</span><b>30</b>", page)
    assert "feed-health" not in page


def test_hostile_names_are_shown_and_not_run(tmp_path: Path) -> None:
    """A label, and a search, that carry markup stand on the page as text."""
    evil = '<script>alert("x")</script>'
    stores = stored_many(tmp_path, jobs=1, days=1, endpoints=2)
    page = _page(stores, "/?q=" + evil)
    assert evil not in page
    assert "&lt;script&gt;" in page
    stores.database.close()


def test_what_nobody_looks_after_comes_first(tmp_path: Path) -> None:
    """Two critical incidents: once the first is acknowledged, the other is the headline."""
    stores = stored_many(tmp_path, jobs=24, days=1, endpoints=2)
    before = re.findall(r'action="/incidents/(i\d+)/acknowledge"', _page(stores, "/"))
    assert acknowledge(stores, ADMIN, 2**60, before[0]) is not None
    after = re.findall(r'action="/incidents/(i\d+)/acknowledge"', _page(stores, "/"))
    assert after != before
    stores.database.close()


def test_an_empty_store_says_how_to_feed_it(tmp_path: Path) -> None:
    """Nothing is wrong with a service that has just begun."""
    stores = stored_demo(tmp_path)
    page = _page(stores, "/", Viewer("nobody", "viewer", "no such tenant"))
    assert "No training job detected" in page
    stores.database.close()


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({}, "No training job detected"),
        ({"healthy": 1}, "The job is healthy"),
        ({"healthy": 3}, "All 3 jobs are healthy"),
        ({"unknown": 2}, "All 2 jobs are unknown: this telemetry cannot show a slowdown"),
        ({"stale": 1}, "The job is stale: nothing recent is known"),
        ({"healthy": 3, "suspected": 1}, "1 job under suspicion, 3 healthy"),
    ],
)
def test_headline_states_what_is_known(states: dict[JobState, int], words: str) -> None:
    """It is healthy only where every job is."""
    assert headline(Census(states)) == words


def test_addresses_of_views_name_only_what_is_unusual() -> None:
    """Another filter begins at the first page."""
    wanted = OverviewQuery(q="a b", view="tiles", after="j1")
    assert wanted.but(view="rows") == "/?q=a+b"
    assert wanted.but(after="j2") == "/?q=a+b&view=tiles&after=j2"
    assert OverviewQuery().but() == "/"


def test_an_unknown_filter_is_told_on_a_page(demo: Stores) -> None:
    """A mistyped address gets a sentence, not a document for programs."""
    answer = client(demo).get("/?show=everything")
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/html")


def test_counts_of_the_database_are_those_of_the_rows(many: Stores) -> None:
    """Made-up jobs: a twelfth each is critical and warned of."""
    page = _page(many, "/")
    figures = dict(re.findall(r'class="name">([^<]+)</span><b>([^<]+)</b>', page))
    assert figures["With an incident"] == "30"
    assert figures["Healthy"] == "90"
    assert figures["Incidents open"] == "30"


def test_a_service_that_no_longer_scans_does_not_look_well(demo: Stores, tmp_path: Path) -> None:
    """The bundled capture is old, and the page says until when was looked; a fresh scan needs no such word."""
    page = _page(demo, "/")
    assert "Latest data is from" in page
    assert "running" not in page.partition('id="counts"')[2].partition("</div>")[0]
    assert '<span class="hidden">stale: </span>' in page
    fresh = stored_many(tmp_path, jobs=1, days=0, endpoints=2, end_ns=time.time_ns() // MINUTE_NS * MINUTE_NS)
    assert "Latest data is from" not in _page(fresh, "/")
    fresh.database.close()
