"""What a running service kept, as data frames."""

from __future__ import annotations

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import flowprism
from datamodel.errors import InputError, LimitExceededError, StorageError
from flowprism.notebook import service_source
from flowprism.notebook.analysis import AnalysisFrames
from tests.flowprism.service.stored import demo_analysis

JOB = demo_analysis().report.jobs[0].id


@pytest.mark.parametrize("name", ["jobs", "iterations"])
def test_frames_agree_with_an_analysis_of_the_same_records(
    local: AnalysisFrames, remote: AnalysisFrames, name: str
) -> None:
    """To the last value."""
    assert_frame_equal(getattr(remote, name), getattr(local, name))


@pytest.mark.parametrize("name", ["timeline", "pairs"])
def test_frames_of_a_job_agree(local: AnalysisFrames, remote: AnalysisFrames, name: str) -> None:
    """To the last value."""
    assert_frame_equal(getattr(remote, name)(JOB), getattr(local, name)(JOB))


def test_findings_agree_but_for_their_ids(local: AnalysisFrames, remote: AnalysisFrames) -> None:
    """A service follows findings over scans as incidents, which have ids of their own."""
    assert_frame_equal(remote.findings.drop(columns="finding"), local.findings.drop(columns="finding"))
    assert_frame_equal(remote.evidence.drop(columns="finding"), local.evidence.drop(columns="finding"))
    assert_frame_equal(remote.suspects.drop(columns="finding"), local.suspects.drop(columns="finding"))


def test_one_iteration_and_its_waits_agree(local: AnalysisFrames, remote: AnalysisFrames) -> None:
    """Spans of one iteration only."""
    assert_frame_equal(remote.timeline(JOB, 5), local.timeline(JOB, 5))
    assert dict(remote.waits(JOB, 5).adjacency()) == dict(local.waits(JOB, 5).adjacency())


def test_fabrics_have_the_same_cables(local: AnalysisFrames, remote: AnalysisFrames) -> None:
    """With the same ports; the load is that of live jobs, and this one has ended."""
    ports = [{(a, b, port) for a, b, port in one.fabric().edges.data("a_port")} for one in (local, remote)]
    assert ports[0] == ports[1] != set()


def test_feeds_are_the_exporters_of_the_service(remote: AnalysisFrames) -> None:
    """With what of it is lost."""
    feeds = remote.feeds.set_index("exporter")
    assert feeds.loc["192.168.250.12:0", ["lost", "records"]].tolist() == [3, 800]


def test_feeds_are_those_of_the_window(served: tuple[str, str]) -> None:
    """Minutes that touch it count, and exporters that sent nothing in it are not listed."""
    begin = pd.Timestamp(demo_analysis().report.window.start_ns, tz="UTC")
    minute = begin.floor("min")
    for start, end, records in (
        (begin, begin + pd.Timedelta("1s"), [900, 800]),
        (minute - pd.Timedelta("1h"), minute, []),
        (minute + pd.Timedelta("1min"), minute + pd.Timedelta("2min"), []),
    ):
        assert flowprism.open(*served, start=start, end=end).feeds["records"].tolist() == records


def test_traffic_by_endpoint_is_of_an_analysis(local: AnalysisFrames, remote: AnalysisFrames) -> None:
    """Its sums are those of the report; a service keeps no more than these, and says so."""
    sent = local.traffic.groupby("traffic_class", observed=True)["sent_bytes"].sum()
    assert local.report is not None
    assert {name: size for name, size in sent.items() if size} == local.report.feed.traffic_classes
    assert set(local.to_arrow()) - set(remote.to_arrow()) == {"traffic", "serving"}
    with pytest.raises(InputError, match="sums of each class"):
        _ = remote.traffic


def test_more_spans_than_a_page_holds_come_whole(
    local: AnalysisFrames, served: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endpoints are asked for in smaller pages, so that no spans are put together."""
    monkeypatch.setattr(service_source, "_MOST_SPANS", 1000)
    assert_frame_equal(flowprism.open(*served).timeline(JOB), local.timeline(JOB))


def test_hours_are_joined_without_doubles(
    local: AnalysisFrames, served: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A span that touches two pieces of time comes once."""
    monkeypatch.setattr(service_source, "HOUR_NS", 3_000_000_000)
    window = demo_analysis().report.window
    start, end = (pd.Timestamp(at_ns, tz="UTC") for at_ns in (window.start_ns, window.end_ns))
    assert_frame_equal(flowprism.open(*served, start=start, end=end).timeline(JOB), local.timeline(JOB))


def test_a_time_of_ones_own(local: AnalysisFrames, served: tuple[str, str]) -> None:
    """Iterations that ended in it; a time without a zone is UTC."""
    end = local.iterations["end"][6]
    found = flowprism.open(*served, start=local.iterations["start"][0].isoformat(), end=str(end.tz_localize(None)))
    assert_frame_equal(found.iterations, local.iterations[:6])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ftp://127.0.0.1",), "not the address of a service"),
        (("http://127.0.0.1:8080", None, None, "yesterday evening"), "not a time"),
        (("http://127.0.0.1:8080", None, "2026-01-02", "2026-01-01"), "the end is not behind the start"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_error(arguments: tuple[str | None, ...], message: str) -> None:
    """Before anything is sent."""
    with pytest.raises(InputError, match=message):
        flowprism.open(*arguments)  # type: ignore[arg-type]


def test_a_service_that_is_away_or_refuses_is_named(served: tuple[str, str]) -> None:
    """The request and the cause."""
    with pytest.raises(StorageError, match=r"http://127\.0\.0\.1:9/api/v1/scans\?limit=1: .*refused"):
        flowprism.open("http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"/nowhere/api/v1/scans.*404"):
        flowprism.open(f"{served[0]}/nowhere", served[1])
    with pytest.raises(InputError, match="401 Unauthorized"):
        flowprism.open(served[0], "fp_unknown_secret")
    with pytest.raises(LimitExceededError, match="422 Unprocessable"):
        flowprism.open(*served, start="1970-01-01", end="2261-01-01").iterations  # noqa: B018 - asks the service


def test_times_are_utc(remote: AnalysisFrames) -> None:
    """Whatever this machine's zone is."""
    assert remote.iterations["end"].dtype == pd.DatetimeTZDtype("ns", "UTC")
