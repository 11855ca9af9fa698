"""What is compiled beforehand is what is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.profiles import trace_scan
from diagnose.profiles import intervals
from flowprism import precompile
from flowprism.precompile import analyse_samples, fill_outage, read_profile
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from tests.diagnose.profiles.made_profiles import case_of, write_case


def test_samples_that_are_analysed_go_all_the_way() -> None:
    """From datagrams to a job, its layout and a finding: no stage is left to be compiled at the first window."""
    report = analyse_samples()
    (job,) = report.jobs
    assert (job.layout.dp, len(job.iterations)) == (8, 20)
    assert [finding.kind for finding in report.findings] == ["straggler"]


def test_an_outage_that_is_filled_goes_all_the_way() -> None:
    """What was missed is found and put back."""
    assert len(fill_outage().outages_ns) == 1


def compiled_profile_kernels() -> dict[str, object]:
    """What each kernel that reads and compares profiles has been compiled for in this process."""
    kernels = {**vars(trace_scan), **vars(intervals)}
    return {name: list(signatures) for name, one in kernels.items() if (signatures := getattr(one, "signatures", None))}


def test_profile_that_is_read_leaves_nothing_to_compile(tmp_path: Path) -> None:
    """Recordings of a job need no kernel, and none for other types, than the trace that is read beforehand."""
    (rank,) = read_profile().ranks
    assert {time.what: time.seconds for time in rank.times}["compute"] == 2e-6
    before = compiled_profile_kernels()
    write_case(case_of(5), tmp_path)
    report_profiles(*read_profiles(tmp_path))
    assert compiled_profile_kernels() == before


@pytest.mark.parametrize(("code", "result"), [("pass", 0), ("raise SystemExit(3)", 1), ("import os; os.abort()", 1)])
def test_a_process_that_is_killed_is_a_failure(monkeypatch: pytest.MonkeyPatch, code: str, result: int) -> None:
    """As one that fails is, whatever becomes of the others."""
    for name in ("_DECODERS", "_ANALYSIS", "_SAMPLES"):
        monkeypatch.setattr(precompile, name, code if name == "_ANALYSIS" else "pass")
    assert precompile.main() == result
