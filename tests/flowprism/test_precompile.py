"""What is compiled beforehand is what is used."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from capture.goflow2 import flow_message, message_scanner, protobuf
from capture.profiles import trace_scan
from diagnose.profiles import intervals
from flowprism import precompile
from flowprism.precompile import analyse_samples, decode_messages, fill_outage, read_profile
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from tests.capture.goflow2.flow_messages import message, prefixed
from tests.capture.goflow2.test_dump_reader import dump
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


def compiled_kernels(*modules: ModuleType) -> dict[str, object]:
    """What each kernel that these modules use has been compiled for in this process."""
    kernels = {name: one for module in modules for name, one in vars(module).items()}
    return {name: list(signatures) for name, one in kernels.items() if (signatures := getattr(one, "signatures", None))}


def test_profile_that_is_read_leaves_nothing_to_compile(tmp_path: Path) -> None:
    """Recordings of a job need no kernel, and none for other types, than the trace that is read beforehand."""
    (rank,) = read_profile().ranks
    assert {time.what: time.seconds for time in rank.times}["compute"] == 2e-6
    before = compiled_kernels(trace_scan, intervals)
    write_case(case_of(5), tmp_path)
    report_profiles(*read_profiles(tmp_path))
    assert compiled_kernels(trace_scan, intervals) == before


def test_flow_messages_that_are_decoded_leave_nothing_to_compile() -> None:
    """A dump of GoFlow2 needs no kernel, and none for other types, than the message that is decoded beforehand."""
    modules = (message_scanner, flow_message, protobuf)
    flows = decode_messages()
    assert (flows.addresses, flows.frame["bytes"].tolist()) == (("10.0.0.1", "10.0.0.2"), [1000] * 3)
    before = compiled_kernels(*modules)
    assert len(dump(prefixed(message()), prefixed(message(bytes=7)))[0]) == 2
    assert compiled_kernels(*modules) == before


@pytest.mark.parametrize(("code", "result"), [("pass", 0), ("raise SystemExit(3)", 1), ("import os; os.abort()", 1)])
def test_a_process_that_is_killed_is_a_failure(monkeypatch: pytest.MonkeyPatch, code: str, result: int) -> None:
    """As one that fails is, whatever becomes of the others."""
    for name in ("_DECODERS", "_ANALYSIS", "_SAMPLES"):
        monkeypatch.setattr(precompile, name, code if name == "_ANALYSIS" else "pass")
    assert precompile.main() == result
