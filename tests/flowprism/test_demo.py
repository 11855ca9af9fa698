"""The bundled capture and `python -m flowprism.demo`, which `make run` runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from datamodel.report import Report
from flowprism import demo
from flowprism.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze

FOLDER = Path(demo.__file__).parent
LARGEST_BYTES = 4_000_000


@pytest.fixture(scope="module")
def report() -> Report:
    """The report of the bundled capture."""
    inventory = load_inventory(FOLDER / "inventory.yaml")
    return analyze([FOLDER / "mirror.pcap.gz"], inventory, AnalysisOptions()).report


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the demo as `make run` does."""
    command = [sys.executable, "-m", "flowprism.demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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


def test_without_an_inventory_it_is_still_one_job_and_one_link() -> None:
    """Rails that never meet on the fabric keep their beat together; what happens inside hosts stays open."""
    report = analyze([FOLDER / "mirror.pcap.gz"], None, AnalysisOptions()).report
    (job,), (finding,) = report.jobs, report.findings
    assert (len(job.endpoints), job.layout.pp, job.layout.tp, job.layout.dp) == (16, 2, None, None)
    assert (finding.kind, finding.subject.ids) == ("slow_link", ("10.2.3.2",))


def test_nothing_of_the_capture_is_lost(report: Report) -> None:
    """Every packet was read, and nothing about the feed is in doubt."""
    assert (report.feed.rejected, report.feed.warnings) == ({}, ())


def test_one_run_gives_text_and_page(tmp_path: Path) -> None:
    """The report stands on the screen, the page in the file, and the last line says where."""
    page = tmp_path / "report.html"
    shown = run(str(page))
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("1 critical finding in job ")
    assert shown.stdout.endswith(f"\nHTML report: {page}\n")
    assert page.read_text().startswith("<!doctype html>")


def test_unwritable_page_is_one_line(tmp_path: Path) -> None:
    """A page that cannot be written ends the run with one line and exit code 2."""
    shown = run(str(tmp_path))
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == f"flowprism: {tmp_path}: cannot be written: Is a directory\n"


def test_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    """`make run | head` ends without a word."""
    command = [sys.executable, "-m", "flowprism.demo", str(tmp_path / "report.html")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0
