"""The bundled capture and `python -m flowprism.demo`, which `make run` runs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from capture.export_decoder import ExportDecoder
from capture.reader import read_flows
from datamodel.reports.report import Report
from datamodel.telemetry.flows import ADDRESS_COLUMNS, IngestNotes
from datamodel.telemetry.ingest_result import IngestResult
from flowprism import demo
from flowprism.demo.__main__ import main
from flowprism.demo.demo_feed import build_datagrams, export_flows, load_bundled
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze, analyze_reading
from flowprism.rendering.formats.text import print_report
from flowprism.rendering.names import names_of
from tests.house.checkout import ROOT

FOLDER = Path(demo.__file__).parent
LARGEST_BYTES = 4_000_000


@pytest.fixture(scope="module")
def report() -> Report:
    """The report of the bundled capture."""
    inventory = load_inventory(FOLDER / "inventory.yaml")
    return analyze([FOLDER / "mirror.pcap.gz"], inventory, AnalysisOptions()).report


def test_bundled_capture_is_small() -> None:
    """A clone stays light: the bundled capture takes at most 4 MB."""
    assert (FOLDER / "mirror.pcap.gz").stat().st_size <= LARGEST_BYTES


def test_job_and_layout_are_recognised(report: Report) -> None:
    """The capture shows one job of 16 GPUs with tp 2, pp 2, dp 4 and twelve whole iterations."""
    (job,) = report.jobs
    layout = job.layout
    assert (layout.tp, layout.cp, layout.ep, layout.dp, layout.pp) == (2, 1, 1, 4, 2)
    assert (job.world_size, len(job.iterations)) == (16, 12)


def test_slow_link_is_named(report: Report) -> None:
    """The one finding is the link of 10.2.3.2, critical, from the seventh iteration on."""
    (finding,) = report.findings
    iterations = report.jobs[0].iterations
    assert (finding.kind, finding.severity, finding.end_ns) == ("slow_link", "critical", None)
    assert finding.subject.ids == ("leaf2", "10.2.3.2")
    assert finding.start_ns == iterations[5].end_ns


def test_the_readme_shows_the_beginning_of_the_report(report: Report) -> None:
    """Each line of its example is printed, in this order."""
    shown = StringIO()
    names = names_of(load_inventory(FOLDER / "inventory.yaml"))
    print_report(report, names, Console(file=shown, width=80, highlight=False))
    example = (ROOT / "README.md").read_text().partition("```\n1 critical")[2].partition("```")[0]
    lines = f"1 critical{example}".splitlines()
    assert len(lines) == 7
    assert [line for line in map(str.rstrip, shown.getvalue().splitlines()) if line in lines][:7] == lines


def test_without_an_inventory_it_is_still_one_job_and_one_link() -> None:
    """Rails that never meet on the fabric keep their beat together, and begin in step as tensor ranks do."""
    report = analyze([FOLDER / "mirror.pcap.gz"], None, AnalysisOptions()).report
    (job,), (finding,) = report.jobs, report.findings
    assert (len(job.endpoints), job.layout.pp, job.layout.tp, job.layout.dp) == (16, 2, 2, 4)
    assert (finding.kind, finding.subject.ids) == ("slow_link", ("10.2.3.2",))


def test_bundled_records_are_those_of_the_capture() -> None:
    """Whoever changes how a mirror becomes records makes them again, see the README there."""
    inventory = load_inventory(FOLDER / "inventory.yaml")
    decoded = read_flows(FOLDER / "mirror.pcap.gz").flows
    expected = export_flows(decoded.frame, decoded.addresses, inventory)
    kept = load_bundled(inventory)
    for name, values in expected.rows.columns().items():
        if name not in ADDRESS_COLUMNS:
            np.testing.assert_array_equal(kept.rows[name], values, name)
    for end in ("src_addr", "dst_addr"):
        np.testing.assert_array_equal(kept.addresses[kept.rows[end]], expected.addresses[expected.rows[end]], end)


def test_nothing_of_the_capture_is_lost(report: Report) -> None:
    """Every packet was read, and nothing about the feed is in doubt."""
    assert (report.feed.rejected, report.feed.warnings) == ({}, ())


def test_feed_says_what_the_mirror_says(report: Report) -> None:
    """Played as IPFIX and decoded, it shows the same job, iterations to a millisecond, and the same finding."""
    decoder, begin_ns = ExportDecoder(), report.window.start_ns
    numbers = Counter[int]()
    decoder.feed(build_datagrams(load_bundled(load_inventory(FOLDER / "inventory.yaml")), begin_ns, numbers))
    flows = decoder.take().canonical_flows()
    assert sum(numbers.values()) == len(flows)
    reading = IngestResult(flows, IngestNotes({}, ()), len(flows), int(flows.frame["bytes"].sum()), ())
    told = analyze_reading(reading, (), load_inventory(FOLDER / "inventory.yaml"), AnalysisOptions()).report
    (job,), (finding,) = told.jobs, told.findings
    of_feed, of_mirror = (
        one.layout.model_copy(update={"confidence": 0.0, "alternatives": ()}) for one in (job, report.jobs[0])
    )
    assert (job.id, of_feed) == (report.jobs[0].id, of_mirror)
    ends = [(one.end_ns, other.end_ns) for one, other in zip(job.iterations, report.jobs[0].iterations, strict=True)]
    assert max(abs(one - other) for one, other in ends) < 1_000_000
    assert (finding.kind, finding.severity, finding.subject) == (
        "slow_link",
        "critical",
        report.findings[0].subject,
    )


def test_numbers_count_on() -> None:
    """The second time the same bursts pass, each leaf's sequence numbers follow its first ones: nothing looks lost."""
    decoder, numbers = ExportDecoder(), Counter[int]()
    bursts = load_bundled(load_inventory(FOLDER / "inventory.yaml"))
    for turn in range(2):
        decoder.feed(build_datagrams(bursts, (1 + 20 * turn) * 10**9, numbers))
    assert {one.domain for one in decoder.exporters()} == {1, 2, 3, 4}
    assert sum(one.lost + one.late + one.duplicates + one.restarts for one in decoder.exporters()) == 0


def test_port_that_is_taken_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dashboard's port being taken ends the run at once; the line names port and setting, nothing stays behind."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setenv("FLOWPRISM_API__PORT", str(port))
        assert main([str(tmp_path)]) == 2
    assert capsys.readouterr() == (
        "",
        f"flowprism: 127.0.0.1:{port}: cannot listen: Address already in use (settings api.host and api.port)\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends the run with one line and exit code 2."""
    (tmp_path / "out").write_text("a file")
    assert main([str(tmp_path / "out")]) == 2
    assert capsys.readouterr() == ("", f"flowprism: {tmp_path}/out: cannot be written: File exists\n")


@pytest.mark.slow
@pytest.mark.parametrize("uncompiled", ["0", "1"])
def test_from_the_command_to_an_open_incident(tmp_path: Path, uncompiled: str) -> None:
    """In less than two minutes, by UDP, and told; the dashboard answers, Ctrl-C ends it, and nothing stays behind."""
    began_s = time.monotonic()
    command = [sys.executable, "-m", "flowprism.demo", str(tmp_path)]
    environment = {**os.environ, "FLOWPRISM_API__PORT": "0", "NUMBA_DISABLE_JIT": uncompiled}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        address = next(line for line in demo.stdout if line.startswith("API")).split()[3]
        told = next(line for line in demo.stdout if ": opened, " in line)
        after_s = time.monotonic() - began_s
        incident = demo.stdout.readline().strip().removeprefix(f"{address}/incidents/")
        with urllib.request.urlopen(f"{address}/api/v1/incidents/{incident}") as answer:  # noqa: S310
            found = json.load(answer)["incident"]
        with urllib.request.urlopen(address) as page:  # noqa: S310 - our own
            assert page.status == 200
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0
    assert "The link of 10.2.3.2 (s3) to leaf2 is slow" in told
    assert (found["kind"], found["severity"], found["state"]) == ("slow_link", "critical", "open")
    assert found["subject"]["ids"] == ["leaf2", "10.2.3.2"]
    assert after_s < 120
    assert list(tmp_path.iterdir()) == []
