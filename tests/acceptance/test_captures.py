"""Real traffic with known truth, from packets to marks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.evaluation.scores import compute_scores, misses_requirement
from flowprism.rendering.formats.report_json import render_json
from tests.acceptance.cases import CASES, PRODUCTION, Analysed, case, needs


def shortfalls(report: Report, truth: Path, wanted: dict[str, float]) -> dict[str, float]:
    """Marks of a report that do not reach what is wanted."""
    found = compute_scores(report, Truth.model_validate_json(truth.read_bytes()))
    return {name: found[name] for name, need in wanted.items() if misses_requirement(found, name, need)}


@pytest.mark.parametrize("name", CASES)
def test_with_the_inventory_everything_is_named(name: str, analysed: Analysed, shared: Path) -> None:
    """Jobs, sizes, groups, stage order, every iteration and the fault are right, and nothing healthy is blamed."""
    report = analysed(name, True).report
    assert shortfalls(report, case(shared, name).truth, needs(name, inventory=True)) == {}


@pytest.mark.parametrize("name", CASES)
def test_without_the_inventory_nothing_is_wrong(name: str, analysed: Analysed, shared: Path) -> None:
    """Jobs and iterations need none; sizes that traffic does not show are null, and nothing healthy is blamed."""
    report = analysed(name, False).report
    assert shortfalls(report, case(shared, name).truth, needs(name, inventory=False)) == {}


@pytest.mark.parametrize("name", CASES)
def test_the_public_scorer_is_content(name: str, analysed: Analysed, shared: Path, tmp_path: Path) -> None:
    """The scorer beside the captures, which shares no code with ours, lets the report pass."""
    written = tmp_path / "r.json"
    written.write_text(render_json(analysed(name, True).report))
    command = [sys.executable, str(shared / "score" / "score.py"), str(written), str(case(shared, name).truth)]
    for mark, need in needs(name, inventory=True).items():
        command += ["--need", f"{mark}={need}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unreachable_need_is_a_shortfall(analysed: Analysed, shared: Path) -> None:
    """Held against another job's truth, the same report falls short: the marks above can fail."""
    report = analysed("s1-healthy", True).report
    wrong = shortfalls(report, case(shared, "s7-fsdp").truth, needs("s7-fsdp", inventory=True))
    assert {"groups", "wrong_sizes", "iterations"} & set(wrong)


@pytest.mark.parametrize("inventory", [True, False])
def test_the_production_job_has_a_heavy_last_stage(inventory: bool, analysed: Analysed) -> None:
    """It is an imbalance of work between stages: no endpoint, host, link or switch is blamed, not even in passing."""
    report = analysed(PRODUCTION, inventory).report
    (job,) = report.jobs
    (finding,) = [f for f in report.findings if f.severity != "info"]
    assert (finding.kind, finding.cause, finding.subject.group) == ("imbalance", "stage", "stage")
    assert sorted(finding.subject.ids) == sorted(chain[-1] for chain in job.groups.pp)
    assert all(f.kind in {"imbalance", "regression"} for f in report.findings)


@pytest.mark.parametrize("name", ["s1-healthy", "s7-fsdp", "s10-jitter"])
def test_a_healthy_job_has_no_finding_at_all(name: str, analysed: Analysed) -> None:
    """Not even one of severity info, with or without the inventory, however noisy its compute."""
    assert analysed(name, True).report.findings == ()
    assert analysed(name, False).report.findings == ()


@pytest.mark.parametrize("name", CASES)
def test_every_finding_can_be_traced(name: str, analysed: Analysed) -> None:
    """Evidence was measured inside the window and inside the finding, and suspects' probabilities add up to one."""
    report = analysed(name, True).report
    jobs = {job.id: set(job.endpoints) for job in report.jobs}
    for finding in report.findings:
        assert finding.evidence, finding.summary
        for evidence in finding.evidence:
            begin, end = evidence.window_ns
            assert report.window.start_ns <= begin < end <= report.window.end_ns
            assert begin >= finding.start_ns
        assert finding.job in jobs
        if finding.suspects:
            assert sum(s.probability for s in finding.suspects) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_a_document_of_its_schema(name: str, analysed: Analysed) -> None:
    """What is written is read back as it was, and holds no number that JSON lacks."""
    report = analysed(name, True).report
    text = render_json(report)
    json.loads(text, parse_constant=pytest.fail)
    assert Report.model_validate_json(text) == report
