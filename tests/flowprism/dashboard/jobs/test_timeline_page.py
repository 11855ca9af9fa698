"""The timeline page: which iterations, what of them in words, and the spans that the browser draws."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from flowprism.dashboard.timeline.timeline_query import Asked, choose, read
from flowprism.rendering.units import duration
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import ADMIN, client

LATER_NS = 2**61


@pytest.fixture(scope="module")
def job(demo: Stores) -> str:
    """The id of the bundled capture's job."""
    return jobs(demo, ADMIN, LATER_NS)[0].id


def _text(markup: str) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def _header(body: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(body[4 : 4 + int.from_bytes(body[:4], "little")])
    return found


def test_newest_iteration_is_shown_without_asking(demo: Stores, job: str) -> None:
    """Index, length and the 16 endpoints; the one under suspicion is marked in the table."""
    page = client(demo).get(f"/jobs/{job}/timeline").text
    assert "Iteration 11 took 1.55 s" in _text(page)
    assert "16 endpoints" in _text(page)
    (marked,) = re.findall(r'<tr class="hit">.*?</tr>', page, re.DOTALL)
    assert "10.2.3.2" in marked


def test_iterations_are_chosen_by_index_or_by_time(demo: Stores, job: str) -> None:
    """By `first` and `last`, or by a time inside; one that is not kept is said to be none."""
    choice = choose(demo, ADMIN, LATER_NS, job, Asked(first=3, last=5))
    assert choice is not None
    assert [p.first for p in choice.shown] == [3, 4, 5]
    middle = choice.shown[1]
    by_time = choose(demo, ADMIN, LATER_NS, job, Asked(at_ns=middle.start_ns + 1000))
    assert by_time is not None
    assert by_time.shown == (middle,)
    missing = client(demo).get(f"/jobs/{job}/timeline?first=999")
    assert missing.status_code == 200
    assert "This iteration is not stored" in _text(missing.text)


def test_median_and_neighbours_are_compared_with(demo: Stores, job: str) -> None:
    """Of twelve iterations, six of about 1 s and six of about 1.6 s, the median is one of the longest short ones."""
    choice = choose(demo, ADMIN, LATER_NS, job, Asked(first=8, against="median"))
    assert choice is not None
    assert choice.other is not None
    shorter = sum(p.mean_s < choice.other.mean_s for p in choice.points)
    assert shorter == (len(choice.points) - 1) // 2
    before = choice.beside(-1)
    assert before is not None
    assert before.first == 7
    page = _text(client(demo).get(f"/jobs/{job}/timeline?first=8&vs=2").text)
    assert "against iteration 2" in page
    assert "below each lane, faint: iteration 2" in page


def test_tables_tell_the_numbers_of_the_picture(demo: Stores, job: str) -> None:
    """What the canvas gets of each endpoint stands in its row of the table."""
    asked = client(demo)
    header = _header(asked.get(f"/jobs/{job}/timeline.spans?first=8&last=8").content)
    lanes = header["lanes"]
    assert isinstance(lanes, list)
    rows = dict(
        re.findall(
            r'<th scope="row">([^<]*?) ?(?:<span.*?)?</th>(.*?)</tr>',
            asked.get(f"/jobs/{job}/timeline?first=8").text,
            re.DOTALL,
        )
    )
    assert len(lanes) == 16
    for lane in lanes:
        told = _text(rows[lane["full"]])
        for number in ("compute_s", "network_s", "wait_s"):
            assert duration(lane[number]) in told


def test_critical_path_and_waits_are_told(demo: Stores, job: str) -> None:
    """The path's parts add up to the iteration; the slow link's endpoint is who carries its gradients."""
    choice = choose(demo, ADMIN, LATER_NS, job, Asked(first=8))
    assert choice is not None
    shown = read(demo, ADMIN, LATER_NS, choice)
    assert shown.part is not None
    whole = sum(step.seconds for step in shown.part.path)
    assert whole == pytest.approx(choice.shown[0].mean_s)
    gradients = {shown.part.timelines.addresses[s.endpoint] for s in shown.part.path if s.name == "dp_comm"}
    assert gradients == {"10.2.3.2"}
    page = _text(client(demo).get(f"/jobs/{job}/timeline?first=8").text)
    assert "gradient exchange 392 ms 24 %" in page
    assert "10.2.3.1 (s3 gpu 0) 10.4.7.1 (s7 gpu 0)" in page


def test_who_may_not_see_a_job_is_told_that_there_is_none(demo: Stores, job: str) -> None:
    """The same page and the same spans for another tenant's viewer, and for a job that nobody has."""
    stranger = client(demo, Viewer("sue", "admin", "search"))
    owner = client(demo, Viewer("rob", "viewer", "research"))
    for path in (f"/jobs/{job}/timeline", f"/jobs/{job}/timeline.spans"):
        assert stranger.get(path).status_code == 404
        assert owner.get(path).status_code == 200
        assert client(demo).get(path.replace(job, "nobody")).status_code == 404


@pytest.mark.parametrize("query", ["first=-1", "first=x", "last=1e9", "vs=" + "9" * 30, "at_ns=99999999999999999999"])
def test_nonsense_is_refused_on_a_page(demo: Stores, job: str, query: str) -> None:
    """400 with a sentence, never an error of ours."""
    answer = client(demo).get(f"/jobs/{job}/timeline?{query}")
    assert answer.status_code == 400
    assert "<h1>" in answer.text
