"""`flowprism profile read` over folders of recordings, good and bad."""

import gzip
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from datamodel.reports.findings import Finding, Subject
from datamodel.reports.report import FeedSummary, Provenance, Report, Window
from datamodel.telemetry.profiles import ProfileReport
from flowprism.cli import app
from flowprism.profiles.folder import read_profiles, read_recordings
from flowprism.profiles.reading import report_profiles
from flowprism.rendering.formats.timelines_file import write_timelines
from tests.diagnose.profiles.made_profiles import (
    MadeJob,
    address_of,
    case_of,
    clock_bases_ns,
    made_timelines,
    write_case,
    write_recordings,
)  # fmt: skip

GEMM, CLEAN_CASE, LOADER_CASE = 1, 120, 34


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and stdout, or the error."""
    result = CliRunner().invoke(app, ["profile", *arguments])
    return result.exit_code, result.stdout or str(result.exception)


def read(folder: Path) -> ProfileReport:
    """The folder's report, by way of JSON."""
    code, text = run("read", str(folder), "--format", "json")
    assert code == 0, text
    return ProfileReport.model_validate_json(text)


def test_text_names_rank_and_family(tmp_path: Path) -> None:
    """The first line is the verdict; the rank at fault stands next to its peers' median."""
    case = case_of(GEMM)
    write_case(case, tmp_path)
    code, text = run("read", str(tmp_path))
    assert code == 0
    assert text.splitlines()[0].startswith(f"rank {case.culprit}: gemm kernels take ")
    assert text.count("(") == len(["compute", "copies", "host", "idle", "wait", "transfer"]) + 1


def test_clean_job_shows_nothing(tmp_path: Path) -> None:
    """Noise, clocks that differ, and roles of their own are no finding."""
    write_case(case_of(CLEAN_CASE), tmp_path)
    assert read(tmp_path).summary == "profiles show nothing unlike peers"


def test_useless_files_are_one_line_each_and_lose_nothing(tmp_path: Path) -> None:
    """Truncated, empty, foreign and launchers' files are named; the verdict of the others stands."""
    case = case_of(GEMM)
    write_case(case, tmp_path)
    whole = read(tmp_path)
    some = next(path for path in sorted(tmp_path.iterdir()) if path.suffix == ".json")
    (tmp_path / "cut.json").write_bytes(some.read_bytes()[:400])
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(some.read_bytes())[:-2000])
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "other.json").write_text('{"nodes": []}')
    (tmp_path / "page.json").write_text("<html>")
    launcher = {"ph": "X", "cat": "cpu_op", "name": "aten::to", "ts": 1, "dur": 2, "pid": 1, "tid": 1}
    (tmp_path / "launcher.json").write_text(json.dumps({"traceEvents": [launcher | {"cat": "python_function"}]}))
    found = read(tmp_path)
    assert found.verdicts == whole.verdicts
    named = {line.partition(":")[0] for line in found.problems}
    assert named >= {"cut.json", "cut.json.gz", "empty.json", "other.json", "page.json", "launcher.json"}
    assert all("\n" not in line for line in found.problems)


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_that_no_file_can_hold_are_replaced(tmp_path: Path, form: str) -> None:
    """Halves of a character in kernels' and hosts' names, and file names that are no UTF-8."""
    case = case_of(GEMM)
    write_case(case, tmp_path)
    for number, file in enumerate(sorted(tmp_path.glob("*.json"))):
        text = (
            file.read_text().replace("aten::linear", r"aten::\ud800linear").replace("{", r'{"hostname": "s\udc00", ', 1)
        )
        file.unlink()
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff%d.json" % number)).write_text(text)
    code, text = run("read", str(tmp_path), "--format", form)
    assert code == 0, text
    assert f"rank {case.culprit}: gemm kernels take " in text
    assert "s?" in text


def test_report_and_inventory_give_place_and_agreement(tmp_path: Path) -> None:
    """The GPU of the host is named, and the network's finding at it agrees."""
    case = case_of(GEMM)
    write_case(case, tmp_path)
    host, gpu = f"node{case.culprit // 4}", case.culprit % 4
    nics = [{"address": f"10.0.{n}.{nic}", "gpu": nic} for n in range(4) for nic in range(4)]
    hosts = [{"name": f"node{n}", "endpoints": nics[4 * n : 4 * n + 4]} for n in range(4)]
    (tmp_path / "hosts.yaml").write_text(json.dumps({"schema": "flowprism.inventory/v1", "hosts": hosts}))
    blamed = Finding(
        id="f", job="j", kind="straggler", severity="warning", start_ns=1, end_ns=None, confidence=0.9,
        slowdown_ratio=1.2, subject=Subject(type="host", ids=(host,)), summary=f"{host} is late", action="",
    )  # fmt: skip
    window, feed = Window(start_ns=0, end_ns=9), FeedSummary(records=1, bytes=1)
    report = Report(provenance=Provenance(version="1"), window=window, feed=feed, findings=(blamed,))
    (tmp_path / "network.report").write_text(report.model_dump_json(by_alias=True))
    code, text = run(
        "read", str(tmp_path), "--report", f"{tmp_path}/network.report", "--inventory", f"{tmp_path}/hosts.yaml"
    )
    lines = text.splitlines()
    assert code == 0
    assert lines[0].startswith(f"rank {case.culprit} (GPU {gpu} of {host}): gemm kernels")
    assert lines[1] == f"the flows agree: {host} is late"


def test_timelines_say_whose_a_recording_is(tmp_path: Path) -> None:
    """No rank is given, and no inventory: the address is named all the same."""
    job = MadeJob(case_of(LOADER_CASE))
    job.run(7, 9)
    assert job.case.layout == (1, 8, 1)
    write_recordings(job, tmp_path, ranks=False)
    write_timelines(made_timelines(job, error_us=3.0), tmp_path / "spans.parquet")
    code, text = run("read", str(tmp_path), "--timelines", str(tmp_path / "spans.parquet"))
    assert code == 0
    culprit = job.case.culprit
    assert text.startswith(f"node{culprit // 4}_{4000 + culprit}.")
    assert f"({address_of(culprit)}): the GPU waits for the data loader" in text.splitlines()[0]
    code, text = run("read", str(tmp_path), "--timelines", str(tmp_path / "spans.parquet"), "--format", "json")
    ranks = ProfileReport.model_validate_json(text).ranks
    assert [one.endpoint for one in ranks] == [
        address_of(int(one.file.split("_")[1].split(".")[0]) - 4000) for one in ranks
    ]
    assert all((one.probability or 0.0) >= 0.999 and one.flows_ahead_ns is not None for one in ranks)


@pytest.mark.parametrize("number", [1, 3, 4])
def test_clocks_are_compared_by_the_ends_of_collectives(tmp_path: Path, number: int) -> None:
    """Each profile's offset from the first's is found within the microsecond that files round to."""
    case = case_of(number)
    write_case(case, tmp_path)
    offsets = {one.rank: one.clock_offset_ns for one in read(tmp_path).ranks}
    bases = clock_bases_ns(case)
    assert all(abs((offset or 0) - bases[rank or 0] + bases[0]) <= 2000 for rank, offset in offsets.items())


def test_same_files_same_bytes(tmp_path: Path) -> None:
    """Reading is deterministic."""
    write_case(case_of(GEMM), tmp_path)
    assert run("read", str(tmp_path)) == run("read", str(tmp_path))


@pytest.mark.parametrize("folder", ["missing", "."])
def test_folder_without_traces_is_an_error(tmp_path: Path, folder: str) -> None:
    """One line names the folder."""
    code, text = run("read", str(tmp_path / folder))
    assert code == 1
    assert str(tmp_path) in text


def test_report_without_activities_is_the_same(tmp_path: Path) -> None:
    """What each rank did is charged while its file is read, and its activities are forgotten."""
    write_case(case_of(0), tmp_path)
    recorded = read_recordings(tmp_path, with_activities=False)
    assert not any(len(profile.activities) for profile in recorded.profiles)
    whole = report_profiles(*read_profiles(tmp_path))
    assert report_profiles(recorded.profiles, recorded.problems, works=recorded.works) == whole
    assert whole.verdicts
