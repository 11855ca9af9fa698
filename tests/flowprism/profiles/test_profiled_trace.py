"""`flowprism profile read --perfetto`: the network's spans and the hosts' activities in one file, on one clock."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackDescriptor

from datamodel.frame import Frame, concat, empty
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reports.findings import Finding, Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, Iteration, JobReport, Provenance, Report, Window
from datamodel.telemetry.profiles import (
    ACTIVITY_KINDS,
    COMMUNICATION,
    PROFILE_ACTIVITIES,
    PROFILE_COLLECTIVES,
    PROFILE_STEPS,
    PYTHON,
    Profile,
)
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.recorded_fabric import NO_TIMELINES, recorded_fabric
from flowprism.rendering.formats.perfetto import write_trace
from flowprism.rendering.formats.perfetto_profiles import ProfileTracks
from flowprism.rendering.formats.timelines_file import write_timelines
from flowprism.rendering.names import names_of
from tests.diagnose.profiles.made_profiles import (
    MadeJob,
    address_of,
    case_of,
    clock_bases_ns,
    made_timelines,
    write_case,
    write_recordings,
)
from tests.flowprism.profiles.stored_profiles import SLOW_KERNELS, profile_read
from tests.flowprism.rendering.formats.decoded_trace import Decoded, DecodedSlice, decode

LOADER = 34
ERROR_US = 3.0
HOUR_NS = 3_600_000_000_000


class Written(NamedTuple):
    """A job whose recordings and timelines are in a folder, and the trace that was written of them."""

    folder: Path
    profiles: list[Profile]
    text: str
    trace: Decoded


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Eight ranks without numbers, by which their endpoints are found; an hour later the job still runs."""
    folder = tmp_path_factory.mktemp("profiled")
    (folder / "traces").mkdir()
    job = MadeJob(case_of(LOADER))
    job.run(7, 9)
    write_recordings(job, folder / "traces", ranks=False)
    made = made_timelines(job, ERROR_US)
    random = np.random.default_rng(1)
    hour_ns = HOUR_NS + random.integers(0, 5_000_000, len(made.spans))
    later = made.spans.replace(
        start_ns=made.spans["start_ns"] + hour_ns, end_ns=made.spans["end_ns"] + hour_ns,
        iteration=made.spans["iteration"] + 1000,
    )  # fmt: skip
    whole = Timelines(concat(SPANS, [made.spans, later]), made.addresses, made.jobs, made.groups)
    write_timelines(whole, folder / "spans.parquet")
    code, text = profile_read(
        folder / "traces", "--timelines", f"{folder}/spans.parquet", "--perfetto", f"{folder}/trace"
    )
    assert code == 0, text
    return Written(folder, read_profiles(folder / "traces")[0], text, decode(folder / "trace"))


def endpoint_track(trace: Decoded, address: str) -> TrackDescriptor:
    """The track of an endpoint."""
    (one,) = [track for track in trace.tracks.values() if track.name.partition(" ")[2] == address]
    return one


def host_slices(trace: Decoded, track: int) -> list[DecodedSlice]:
    """All slices of the tracks below a profile's."""
    return [one for below in trace.below(track) for one in trace.slices(below.uuid)]


def profile_track(trace: Decoded, rank: int) -> TrackDescriptor:
    """The track of a rank's profile, which is below that of its endpoint."""
    below = trace.below(endpoint_track(trace, address_of(rank)).uuid)
    (one,) = [track for track in below if track.name.startswith("node")]
    return one


def test_profiles_stand_below_their_endpoints(written: Written) -> None:
    """Each below its own; nothing stands for itself."""
    for rank in range(8):
        name = profile_track(written.trace, rank).name
        assert name.startswith(f"node{rank // 4}_{4000 + rank}.")
        assert name.endswith(address_of(rank))
    processes = [track for track in written.trace.tracks.values() if track.HasField("process")]
    assert [track.process.process_name.partition(" · ")[0] for track in processes] == ["job job"]


def test_collectives_end_when_the_networks_do(written: Written) -> None:
    """Hosts' clocks are a fifth of a second apart; in the trace the flows' error is left."""
    bases = clock_bases_ns(case_of(LOADER))
    assert np.ptp(bases) > 10**8
    for rank in range(8):
        endpoint = endpoint_track(written.trace, address_of(rank))
        (dp,) = [track for track in written.trace.below(endpoint.uuid) if track.name == "dp"]
        sent_ns = np.array([one.end_ns for one in written.trace.slices(dp.uuid)])
        own = host_slices(written.trace, profile_track(written.trace, rank).uuid)
        ended_ns = [one.end_ns for one in own if one.category == ACTIVITY_KINDS[COMMUNICATION]]
        apart_ns = [np.abs(sent_ns - end_ns).min() for end_ns in ended_ns]
        assert len(ended_ns) > 10
        assert np.median(apart_ns) < 5 * ERROR_US * 1e3


def test_every_activity_is_a_slice(written: Written) -> None:
    """Name, kind and length of each, as the file has them; iterations on the profile's own track."""
    for profile in written.profiles:
        (track,) = [one for one in written.trace.tracks.values() if one.name.startswith(profile.name)]
        own = profile.activities
        expected = Counter(
            (profile.names[name], ACTIVITY_KINDS[kind]) for name, kind in zip(own["name"], own["kind"], strict=True)
        )
        slices = host_slices(written.trace, track.uuid)
        assert Counter((one.name, one.category) for one in slices) == expected
        lasting_ns = sum(one.end_ns - one.start_ns for one in slices)
        assert lasting_ns == pytest.approx(int((own["end_ns"] - own["start_ns"]).sum()), abs=1000 * len(own))
        numbers = [f"iteration {number}" for number in profile.steps["number"].tolist()]
        assert [one.name for one in written.trace.slices(track.uuid)] == numbers


def test_functions_nest_on_the_thread_of_the_training_loop(written: Written) -> None:
    """The loader's function lies within the one that calls it, whatever the file rounds."""
    for rank in range(8):
        below = written.trace.below(profile_track(written.trace, rank).uuid)
        assert [track.name for track in below] == ["stream 13", "stream 7", "training loop, thread 1"]
        depth = {one.name: one.depth for one in written.trace.slices(below[2].uuid)}
        assert depth["corpus.py(31): __getitem__"] == depth["torch/utils/data/dataloader.py(701): __next__"] + 1


def test_only_the_time_of_the_recording_is_shown(written: Written) -> None:
    """What the network did an hour later is not."""
    times = [packet.timestamp for packets in written.trace.events.values() for packet in packets]
    assert max(times) < 10**9


def test_without_timelines_hosts_are_on_one_clock(tmp_path: Path) -> None:
    """Each collective of the job ends on all members within what files round."""
    case = case_of(LOADER)
    write_case(case, tmp_path)
    code, text = profile_read(tmp_path, "--perfetto", f"{tmp_path}/out")
    trace = decode(tmp_path / "out")
    assert code == 0, text
    assert "clock" not in text
    processes = [track for track in trace.tracks.values() if track.HasField("process")]
    assert [one.process.process_name.partition(" · ")[0] for one in processes] == [f"rank {n}" for n in range(8)]
    ends = [
        sorted(one.end_ns for one in host_slices(trace, process.uuid) if one.category == ACTIVITY_KINDS[COMMUNICATION])
        for process in processes
    ]
    assert np.ptp(np.array(ends), axis=0).max() < 5000


def test_report_gives_layout_iterations_and_findings_of_that_time(written: Written) -> None:
    """A finding that is on for days is as long as the recording."""
    start_ns = written.trace.realtime_at_zero_ns
    addresses = tuple(map(address_of, range(8)))
    finding = Finding(
        id="f", job="job", kind="straggler", severity="warning", start_ns=1, end_ns=None, confidence=0.9,
        slowdown_ratio=1.2, subject=Subject(type="endpoint", ids=addresses[1:2]), summary="it is late", action="",
    )  # fmt: skip
    times = [(start_ns - HOUR_NS, start_ns - HOUR_NS + 1), (start_ns, start_ns + 10**7)]
    job = JobReport(
        id="job", label="llama", endpoints=addresses, layout=Layout(tp=1, dp=8, pp=1), groups=Groups(dp=(addresses,)),
        iterations=tuple(Iteration(index=n, start_ns=a, end_ns=b) for n, (a, b) in enumerate(times)),
        detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )  # fmt: skip
    report = Report(
        provenance=Provenance(version="1"), window=Window(start_ns=0, end_ns=2**62), jobs=(job,), findings=(finding,),
        feed=FeedSummary(records=1, bytes=1),
    )  # fmt: skip
    (written.folder / "network.report").write_text(report.model_dump_json(by_alias=True))
    code, text = profile_read(
        written.folder / "traces", "--timelines", f"{written.folder}/spans.parquet", "--perfetto",
        f"{written.folder}/with-report", "--report", f"{written.folder}/network.report",
    )  # fmt: skip
    assert code == 0, text
    trace = decode(written.folder / "with-report")
    (process,) = [track for track in trace.tracks.values() if track.HasField("process")]
    assert process.process.process_name == "job llama (job) · tp 1 · pp 1 · dp 8"
    named = {
        track.name: trace.slices(track.uuid) for track in trace.below(process.uuid) if track.name != "iteration time"
    }
    assert [one.name for one in named["iterations"]] == ["iteration 1"]
    assert [one.name for one in named["findings"]] == ["warning: it is late"]
    assert named["findings"][0].end_ns - named["findings"][0].start_ns < 10**9


def test_clocks_that_nothing_compares_are_a_line(tmp_path: Path, written: Written) -> None:
    """Timelines of another job: both are shown by their own clocks."""
    (tmp_path / "traces").mkdir()
    write_case(case_of(SLOW_KERNELS), tmp_path / "traces")
    code, text = profile_read(
        tmp_path / "traces", "--timelines", f"{written.folder}/spans.parquet", "--perfetto", f"{tmp_path}/out"
    )
    assert code == 0
    assert "no collective compares the clocks of hosts and flows, the trace shows both by their own clocks" in text
    names = [track.process.process_name for track in decode(tmp_path / "out").tracks.values() if track.process.pid]
    assert names[0].startswith("job job")
    assert len(names) == 1 + case_of(SLOW_KERNELS).world


@pytest.mark.parametrize(("file", "line"), [("missing/out", "is not a directory"), (".", "is a directory")])
def test_what_cannot_be_written_is_an_error_before_reading(tmp_path: Path, file: str, line: str) -> None:
    """One line names it."""
    code, text = profile_read(tmp_path / "nothing", "--perfetto", f"{tmp_path}/{file}")
    assert (code, line in text) == (1, True)


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_written(tmp_path: Path) -> None:
    """A piece of the file at a time, and one thread's rows: 35 bytes an activity, where the file has 60."""
    count = 300_000
    frame = Frame(
        PROFILE_ACTIVITIES,
        {
            "kind": np.full(count, PYTHON), "name": np.arange(count) % 500, "thread": np.zeros(count),
            "start_ns": np.arange(count) * 1000, "end_ns": np.arange(count) * 1000 + 900,
        },
    )  # fmt: skip
    steps = Frame(PROFILE_STEPS, {"number": [1], "start_ns": [0], "end_ns": [1000 * count]})
    names = tuple(f"function {n}" for n in range(500))
    one = Profile("a", None, 0, None, 1, names, (), frame, empty(PROFILE_COLLECTIVES), steps, 0, utc=False)
    fabric = recorded_fabric(NO_TIMELINES, None, Window(start_ns=0, end_ns=1))
    tracemalloc.start()
    write_trace(fabric, names_of(None), tmp_path / "out", [ProfileTracks(one, "rank 0", "", None, 0)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    written_bytes = (tmp_path / "out").stat().st_size
    assert written_bytes > 50 * count
    assert most < 40 * count + 20_000_000
