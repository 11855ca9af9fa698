"""`flowprism profile read` over folders of recordings, good and bad."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from datamodel.profiles import ProfileReport
from flowprism.cli import app
from tests.diagnose.profiles.made_profiles import case_of, write_case

GEMM, CLEAN_CASE = 1, 120


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
