"""Timelines, matrices, reports and traces through the real application."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from flowprism.service.queries.jobs import analyses
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.api.client import Client, client
from tests.flowprism.service.stored import demo_analysis

ARROW = "application/vnd.apache.arrow.stream"


def demo_path() -> str:
    """Where the bundled capture's job is."""
    return f"/api/v1/jobs/{demo_analysis().report.jobs[0].id}"


def whole() -> dict[str, int]:
    """The time that the capture spans, as parameters."""
    window = demo_analysis().report.window
    return {"start_ns": window.start_ns, "end_ns": window.end_ns + 1}


def table(answer: httpx.Response) -> pa.Table:
    """The table of an Arrow answer."""
    assert answer.headers["Content-Type"] == ARROW
    return pa.ipc.open_stream(answer.content).read_all()


def test_arrow_and_json_say_the_same(demo: Stores) -> None:
    """By `Accept` or by `format`; all spans of the analysis."""
    asking = client(demo)
    page = asking.get(f"{demo_path()}/timeline", params=whole()).json()
    arrow = table(asking.get(f"{demo_path()}/timeline", params=whole(), headers={"Accept": ARROW}))
    assert arrow.equals(table(asking.get(f"{demo_path()}/timeline", params={**whole(), "format": "arrow"})))
    assert arrow.drop_columns(["job"]).to_pydict() == {name: list(values) for name, values in page["spans"].items()}
    assert arrow.num_rows == len(demo_analysis().timelines.spans)
    assert (page["resolution_ns"], page["next"]) == (0, None)


def test_pages_of_endpoints(demo: Stores) -> None:
    """Following `next`, every endpoint comes once with all its spans; the Arrow stream's link leads the same way."""
    asking, rows, endpoints = client(demo), 0, []
    parameters = {**whole(), "limit": 5}
    while True:
        answer = asking.get(f"{demo_path()}/timeline", params={**parameters, "format": "arrow"})
        rows += table(answer).num_rows
        endpoints += sorted(set(table(answer)["endpoint"].to_pylist()))
        following = table(answer).schema.metadata[b"next"].decode()
        assert bool(following) == ("Link" in answer.headers)
        if not following:
            break
        assert following in answer.headers["Link"]
        parameters["cursor"] = following
    assert rows == len(demo_analysis().timelines.spans)
    assert endpoints == sorted(demo_analysis().report.jobs[0].endpoints)


def test_few_spans_of_many(demo: Stores) -> None:
    """With less room, short spans are put together and the longest is there as it was."""
    page = client(demo).get(f"{demo_path()}/timeline", params={**whole(), "most": 1000}).json()
    spans = demo_analysis().timelines.spans
    assert len(page["spans"]["span"]) <= 1000 < len(spans)
    assert sum(page["spans"]["merged"]) == len(spans)
    assert max(page["spans"]["longest_ns"]) == int((spans["end_ns"] - spans["start_ns"]).max())
    assert page["resolution_ns"] > 0


def test_by_iterations(demo: Stores) -> None:
    """One iteration, or the newest ones where nothing is asked for; an unknown one is 404."""
    asking = client(demo)
    third = asking.get(f"{demo_path()}/timeline", params={"first": 3}).json()
    iteration = demo_analysis().report.jobs[0].iterations[3]
    assert (third["start_ns"], third["end_ns"]) == (iteration.start_ns, iteration.end_ns)
    newest = asking.get(f"{demo_path()}/timeline").json()
    assert newest["end_ns"] == demo_analysis().report.jobs[0].iterations[-1].end_ns
    assert asking.get(f"{demo_path()}/timeline", params={"first": 10**6}).status_code == 404


@pytest.mark.parametrize("query", ["start_ns=1", "start_ns=2&end_ns=1", "start_ns=0&end_ns=3600000000001", "most=1"])
def test_what_cannot_be_told_is_refused(demo: Stores, query: str) -> None:
    """Half a stretch of time, one that ends before it begins, or one that is too long."""
    for name in ("timeline", "report", "trace"):
        assert client(demo).get(f"{demo_path()}/{name}?{query}").status_code == 422


def test_who_sends_how_much_to_whom(demo: Stores) -> None:
    """Pairs that move most first; what is not known is null; in few of them, the total is told."""
    asking = client(demo)
    told = asking.get(f"{demo_path()}/matrix").json()
    pairs = demo_analysis().pairs[demo_analysis().report.jobs[0].id]
    assert told["total"] == len(pairs)
    assert sum(told["pairs"]["bytes"]) == int(pairs["bytes"].sum())
    assert told["pairs"]["bytes"] == sorted(told["pairs"]["bytes"], reverse=True)
    few = asking.get(f"{demo_path()}/matrix", params={"most": 3}).json()
    assert (few["total"], few["pairs"]["src"]) == (told["total"], told["pairs"]["src"][:3])
    arrow = table(asking.get(f"{demo_path()}/matrix", headers={"Accept": ARROW}))
    assert arrow.to_pydict() == told["pairs"]
    none = asking.get(f"{demo_path()}/matrix", params={"at_ns": 1}).json()
    assert (none["total"], none["start_ns"]) == (0, None)


def test_report_and_trace(demo: Stores) -> None:
    """A page that may run nothing of ours, and a trace that Perfetto's own classes read."""
    asking = client(demo)
    report = asking.get(f"{demo_path()}/report", params=whole())
    assert report.headers["Content-Type"] == "text/html; charset=utf-8"
    assert report.headers["Content-Security-Policy"].startswith("sandbox")
    assert demo_analysis().report.findings[0].action in report.text.replace("&#39;", "'")
    trace = asking.get(f"{demo_path()}/trace", params=whole())
    assert trace.headers["Content-Disposition"].startswith("attachment")
    parsed = Trace()
    parsed.ParseFromString(trace.content)
    assert len(parsed.packet) > 100


def test_others_are_told_there_is_none(demo: Stores) -> None:
    """Of another tenant's job, as of one that does not exist."""
    stranger = client(demo, Viewer("eve", "operator", "search"))
    for name in ("timeline", "matrix", "report", "trace"):
        answers: list[httpx.Response] = [ask(stranger, name, job) for job in (demo_path(), "/api/v1/jobs/nonsense")]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].json() == answers[1].json()


def ask(asking: Client, name: str, job: str) -> httpx.Response:
    """What is told of a job."""
    return asking.get(f"{job}/{name}")


def test_what_does_not_fit_into_memory_is_refused(demo: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of too many iterations of too many endpoints says so, rather than taking the machine with it."""
    monkeypatch.setattr(analyses, "MOST_SPANS", 100)
    for name in ("report", "trace"):
        answer = client(demo).get(f"{demo_path()}/{name}", params=whole())
        assert answer.status_code == 422
        assert "iterations of 16 endpoints: ask for a shorter time" in answer.json()["detail"]


def test_a_lake_that_cannot_be_read_is_503(own_demo: Stores) -> None:
    """What the lake would tell is not known now; what the database tells is."""
    for segment in Path(str(own_demo.analyses)).glob("segments/**/*.parquet"):
        segment.write_bytes(b"gone")
    asking = client(own_demo)
    for name in ("timeline", "matrix", "iterations", "report", "trace"):
        answer = asking.get(f"{demo_path()}/{name}")
        assert (name, answer.status_code) == (name, 503)
        assert answer.headers["Retry-After"]
    assert asking.get(demo_path()).status_code == 200
