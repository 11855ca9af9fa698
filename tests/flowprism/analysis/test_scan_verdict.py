"""Verdicts: what counts as healthy, as wrong, and as not to be told; and how a verdict is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from datamodel.reports.analysis import Analysis
from datamodel.reports.report import Detectability, Report
from datamodel.reports.scan import Scan
from flowprism import cli
from flowprism.analysis.scan_verdict import judge_report
from flowprism.cli import app
from flowprism.rendering.formats.scan_junit import render_junit
from flowprism.rendering.formats.scan_text import render_scan
from tests.flowprism import sample

BLIND = Detectability(
    timeline_error_ratio=None, smallest_slowdown_ratio=None, reasons=("fewer than six iterations: nothing to compare",)
)


@pytest.fixture(scope="module")
def report() -> Report:
    """Two jobs, the first with a slow link; nothing is said of the feed."""
    whole = sample.analysis(iterations=16).report
    return whole.model_copy(update={"findings": tuple(f for f in whole.findings if f.job is not None)})


def healthy(report: Report) -> Report:
    """The same jobs without findings."""
    return report.model_copy(update={"findings": ()})


def blind(report: Report, number: int) -> Report:
    """The same report, one of whose jobs cannot be judged."""
    jobs = [j.model_copy(update={"detectability": BLIND}) if n == number else j for n, j in enumerate(report.jobs)]
    return report.model_copy(update={"jobs": tuple(jobs)})


def test_a_finding_that_counts_outweighs_all(report: Report) -> None:
    """One job is slow, the other cannot be judged: the scan has findings, and says of each job what is so."""
    found = judge_report(blind(report, 1))
    assert found.verdict == "findings"
    assert [job.verdict for job in found.jobs] == ["findings", "unknown"]
    assert found.jobs[0].findings == tuple(f for f in report.findings if f.job == report.jobs[0].id)
    assert found.jobs[1].reasons == BLIND.reasons


def test_what_cannot_be_judged_is_not_healthy(report: Report) -> None:
    """Without findings: healthy where every job can be judged, unknown where one cannot, or where there is none."""
    assert judge_report(healthy(report)).verdict == "healthy"
    assert judge_report(blind(healthy(report), 0)).verdict == "unknown"
    nothing = healthy(report).model_copy(update={"jobs": (), "unassigned": ("4 endpoints: no periodic traffic",)})
    assert judge_report(nothing).verdict == "unknown"
    assert "4 endpoints: no periodic traffic" in judge_report(nothing).reasons


def test_jobs_are_judged_by_name(report: Report) -> None:
    """A job named by id is judged alone; one that is not seen is unknown, whatever the others are."""
    slow, sound = report.jobs
    assert judge_report(report, [sound.id]).verdict == "healthy"
    assert judge_report(report, [slow.id, slow.id]).verdict == "findings"
    missing = judge_report(report, [sound.id, "llama"])
    assert missing.verdict == "unknown"
    assert [(job.label, job.id) for job in missing.jobs] == [(sound.label, sound.id), ("llama", None)]


def test_lesser_findings_do_not_count(report: Report) -> None:
    """Findings below the wanted severity stay in the verdict's findings but do not change it."""
    lesser = tuple(f.model_copy(update={"severity": "info"}) for f in report.findings)
    quiet = report.model_copy(update={"findings": lesser})
    assert judge_report(quiet).verdict == "healthy"
    assert judge_report(quiet).jobs[0].findings
    assert judge_report(quiet, at_least="info").verdict == "findings"


def test_a_finding_about_the_feed_counts_for_the_whole(report: Report) -> None:
    """What is about no job stands beside the jobs and counts."""
    feed = report.findings[0].model_copy(update={"job": None, "kind": "feed"})
    found = judge_report(report.model_copy(update={"findings": (feed,)}))
    assert found.verdict == "findings"
    assert found.findings == (feed,)
    assert {job.verdict for job in found.jobs} == {"healthy"}


def test_text_says_the_worst_first(report: Report) -> None:
    """The verdict, then jobs with findings before unknown before healthy, each with its reasons."""
    text = render_scan(judge_report(blind(report, 1), ["nobody", report.jobs[1].id, report.jobs[0].id]))
    assert text.startswith("findings: 3 jobs, ")
    verdicts = [line.split()[0] for line in text.splitlines()[1:] if not line.startswith(" ")]
    assert verdicts == ["findings", "unknown", "unknown"]
    assert report.findings[0].summary in text
    assert "no traffic of this job was recognised" in text


def test_junit_counts_what_it_lists(report: Report) -> None:
    """A suite a job, a case a kind; failures and skips are counted as they stand, and hostile names stay text."""
    nasty = report.jobs[0].model_copy(update={"label": '<job> & "\x00\ud800'})
    found = judge_report(blind(report.model_copy(update={"jobs": (nasty, report.jobs[1])}), 1))
    root = ET.fromstring(render_junit(found))  # noqa: S314 - our own text
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        '<job> & "\ufffd\ufffd',
        report.jobs[1].label or report.jobs[1].id,
        "feed",
    ]
    for suite in suites:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("failures") == str(len(suite.findall("testcase[failure]")))
        assert suite.get("skipped") == str(len(suite.findall("testcase[skipped]")))
    assert suites[0].find("testcase[@name='slow_link']/failure") is not None
    assert len(suites[1].findall("testcase/skipped")) == 7


@pytest.mark.parametrize(
    ("arguments", "code"), [([], 1), (["--job", "nobody"], 2), (["--at-least", "critical", "--format", "json"], 0)]
)
def test_the_exit_code_says_the_verdict(
    arguments: list[str], code: int, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 healthy, 1 findings, 2 cannot tell; JSON is the document of its schema."""
    analysis = sample.analysis(iterations=16)
    warnings = tuple(f.model_copy(update={"severity": "warning"}) for f in report.findings)
    given = Analysis(report.model_copy(update={"findings": warnings}), analysis.timelines, analysis.pairs)
    monkeypatch.setattr("flowprism.pipeline.analyze", lambda *_: given)
    out = tmp_path / "verdict"
    monkeypatch.setattr(sys, "argv", ["flowprism", "scan", "flows.parquet", *arguments, "--out", str(out)])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    assert exited.value.code == code
    if "json" in arguments:
        assert Scan.model_validate(json.loads(out.read_text())).verdict == "healthy"


def test_what_cannot_be_read_cannot_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing input is one line on stderr and exit code 2."""
    monkeypatch.setattr(sys, "argv", ["flowprism", "scan", str(tmp_path / "none.pcap")])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    assert exited.value.code == 2
    assert capsys.readouterr().err == f"flowprism: {tmp_path / 'none.pcap'}: no such file\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--every", "10"], "--every: --results is missing: what was scanned must be known the next time"),
        (["--every", "10", "--results", "sqlite:///r"], "--every: expected one folder that `collect` writes"),
    ],
)
def test_repeating_needs_a_lake_and_a_memory(arguments: list[str], expected: str, tmp_path: Path) -> None:
    """What cannot be scanned again and again is refused at once."""
    (tmp_path / "x.pcap").write_bytes(b"")
    result = CliRunner().invoke(app, ["scan", str(tmp_path / "x.pcap"), *arguments])
    assert str(result.exception) == expected


def test_windows_must_not_leave_gaps(tmp_path: Path) -> None:
    """A window that is shorter than the time between two is refused."""
    result = CliRunner().invoke(
        app, ["scan", str(tmp_path), "--every", "60", "--last", "30s", "--results", "sqlite:///r"]
    )
    assert "window_s is shorter than every_s" in str(result.exception)
