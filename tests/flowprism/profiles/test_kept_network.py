"""`flowprism profile read --lake`: profiles are placed, compared and drawn by what the service stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import Timelines
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Finding, Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, Iteration, JobReport, Provenance, Report, Window
from flowprism.profiles import kept_network
from flowprism.profiles.folder import read_profiles
from flowprism.service.queries.jobs import analyses
from flowprism.service.stores import Stores
from storage.database.incidents.incident_profiles import incident_profiles
from tests.diagnose.profiles.made_profiles import MadeJob, address_of, case_of, made_timelines, write_recordings
from tests.flowprism.profiles.stored_profiles import only_incident, profile_read
from tests.flowprism.rendering.formats.decoded_trace import decode
from tests.flowprism.service.stored import stored_demo

LOADER = 34
HOUR_NS = 3_600_000_000_000


def analysis(timelines: Timelines) -> Analysis:
    """What a scan concluded of the job: a straggler."""
    spans, addresses = timelines.spans, timelines.addresses
    steps = [
        Iteration(index=n, start_ns=int(own["start_ns"].min()), end_ns=int(own["end_ns"].max()))
        for n in np.unique(spans["iteration"]).tolist()
        for own in [spans.take(spans["iteration"] == n)]
    ]
    culprit = address_of(case_of(LOADER).culprit)
    finding = Finding(
        id="f", job="job", kind="straggler", severity="warning", start_ns=steps[0].start_ns, end_ns=None,
        confidence=0.9, slowdown_ratio=1.2, subject=Subject(type="endpoint", ids=(culprit,)), action="look at it",
        summary=f"{culprit} starts late",
    )  # fmt: skip
    job = JobReport(
        id="job", endpoints=addresses, layout=Layout(tp=1, dp=8, pp=1), groups=Groups(dp=(addresses,)),
        iterations=tuple(steps), detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )  # fmt: skip
    report = Report(
        provenance=Provenance(version="1"), feed=FeedSummary(records=1, bytes=1), jobs=(job,), findings=(finding,),
        window=Window(start_ns=steps[0].start_ns, end_ns=steps[-1].end_ns + 1),
    )  # fmt: skip
    return Analysis(report, timelines, {})


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """A service that scanned the job while its ranks were recorded, without their numbers, into a folder."""
    job = MadeJob(case_of(LOADER))
    job.run(7, 9)
    (tmp_path / "traces").mkdir()
    write_recordings(job, tmp_path / "traces", ranks=False)
    made = stored_demo(tmp_path, analysis=analysis(made_timelines(job, 3.0)))
    yield made
    made.database.close()


def read(stores: Stores, folder: Path, *more: str) -> tuple[int, str]:
    """Read for the incident with the service's own stores."""
    name = only_incident(stores)
    given = ("--incident", name, "--results", stores.database.name, "--lake", str(stores.analyses))
    return profile_read(folder / "traces", *given, *more)


def moved(steps: Frame, by_ns: int) -> Frame:
    """The same at another time."""
    return steps.replace(start_ns=steps["start_ns"] + by_ns, end_ns=steps["end_ns"] + by_ns)


def test_places_and_trace_come_from_the_services_stores(stores: Stores, tmp_path: Path) -> None:
    """The slow rank is known by its endpoint, as the incident is; the trace has layout, iterations and finding."""
    code, text = read(stores, tmp_path, "--perfetto", f"{tmp_path}/out")
    culprit = address_of(case_of(LOADER).culprit)
    assert code == 0, text
    assert f"({culprit}): the GPU waits for the data loader" in text.splitlines()[0]
    assert text.splitlines()[1] == f"the flows agree: {culprit} starts late"
    stored = incident_profiles(stores.database, [only_incident(stores)])[only_incident(stores)].report
    assert [one.endpoint for one in stored.ranks] == [address_of(rank) for rank in range(8)]
    assert stored.problems == ()
    trace = decode(tmp_path / "out")
    (process,) = [track for track in trace.tracks.values() if track.HasField("process")]
    assert process.process.process_name == "job job · tp 1 · pp 1 · dp 8"
    names = {track.name: track.uuid for track in trace.below(process.uuid)}
    assert "iterations" in names
    assert [one.name for one in trace.slices(names["findings"])] == [f"warning: {culprit} starts late"]


def test_what_the_lake_lacks_is_a_line(stores: Stores, tmp_path: Path) -> None:
    """The verdict stands without places."""
    stored = Stores(stores.database, None, str(tmp_path / "nothing"))
    code, text = read(stored, tmp_path)
    assert code == 0
    assert "the GPU waits for the data loader" in text.splitlines()[0]
    assert "lake: holds no spans of job job within 30 s of the recording" in text


def test_too_many_spans_are_a_line(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded."""
    monkeypatch.setattr(analyses, "MOST_SPANS", 10)
    code, text = read(stores, tmp_path)
    assert code == 0
    assert "lake: the time of the recording has more spans than fit into memory; give --timelines" in text


def test_recordings_of_another_day_find_no_spans(stores: Stores, tmp_path: Path) -> None:
    """Only what was kept around the recording is read; clocks that count from a host's start say no time."""
    profiles, _ = read_profiles(tmp_path / "traces")
    later = [replace(one, steps=moved(one.steps, HOUR_NS)) for one in profiles]
    assert kept_network.kept_network(stores, "job", profiles)[0] is not None
    assert kept_network.kept_network(stores, "job", later)[0] is None
    found, line = kept_network.kept_network(stores, "job", [replace(one, utc=False) for one in profiles])
    assert (found, "so their time is not known" in line) == (None, True)


def test_a_lake_needs_an_incident(tmp_path: Path) -> None:
    """One line says so."""
    code, text = profile_read(tmp_path, "--lake", str(tmp_path))
    assert (code, text) == (1, "--lake requires --incident ID: whose spans are read")


def test_spans_come_from_one_place(tmp_path: Path) -> None:
    """A lake next to a file of spans is refused, as only one of them would be read."""
    given = ("--incident", "1", "--results", "sqlite://", "--lake", str(tmp_path), "--timelines", str(tmp_path / "t"))
    code, text = profile_read(tmp_path, *given)
    assert (code, text) == (1, "--lake and --timelines both name spans: give one of them")
