"""The judged problems: what the audit finds, that the lines to type help, and that no mistake passes unseen."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from flowprism.exporter_config.findings import Severity
from flowprism.exporter_config.model import Vendor
from flowprism.exporter_config.output.audit_json import render_json
from flowprism.exporter_config.output.audit_junit import render_junit
from flowprism.exporter_config.output.audit_sarif import render_sarif
from flowprism.exporter_config.output.audit_text import render_text
from tests.configs.problem import Problem, problems, score
from tests.configs.references import mistakes_in_references

PROBLEMS = problems()
CANARY = "CANARY-7f3a"
# Languages in which lines typed after a configuration count instead of earlier ones, so that text can be appended.
APPENDED = (Vendor.ARISTA_EOS, Vendor.CISCO_NXOS, Vendor.NVIDIA_ONYX, Vendor.CUMULUS_NVUE, Vendor.JUNIPER_JUNOS)
every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)


@every_problem
def test_findings_are_the_labels(problem: Problem) -> None:
    """Findings and labels match one to one, in every field."""
    report = problem.audit(problem.folder / "configs")
    assert score(problem.labels, report.findings) == 1.0, render_text(report)


@every_problem
def test_reference_has_no_finding(problem: Problem) -> None:
    """The right configuration has neither error nor warning, and all of it is understood."""
    report = problem.audit(problem.folder / "reference")
    assert report.is_healthy, render_text(report)
    assert all(not device.config.around.unread for device in report.devices)


@every_problem
def test_password_is_in_no_output(problem: Problem) -> None:
    """What is no export setting appears in no output, in whatever form."""
    texts = "".join(file.read_text() for file in (problem.folder / "configs").iterdir())
    report = problem.audit(problem.folder / "configs")
    assert CANARY in texts or Vendor(problem.folder.parent.name) is Vendor.OPEN_VSWITCH
    assert not any(CANARY in render(report) for render in (render_text, render_json, render_sarif, render_junit))


@every_problem
def test_typed_lines_solve_the_problem(problem: Problem, tmp_path: Path) -> None:
    """Behind the configuration, the lines to type of a finding make that finding go away."""
    report = problem.audit(problem.folder / "configs")
    for number, found in enumerate(report.findings):
        takes_back = any(line.split()[0] in ("no", "delete", "default") or "unset" in line for line in found.fix)
        if not found.fix or takes_back or found.vendor not in APPENDED or _is_in_braces(found.file):
            continue
        folder = tmp_path / str(number)
        shutil.copytree(problem.folder / "configs", folder)
        file = folder / Path(found.file).name
        if found.rule == "other-collector":  # the old one stays beside the new one
            continue
        file.write_text(file.read_text() + "".join(f"{line}\n" for line in found.fix))
        left = {(f.rule, f.message) for f in problem.audit(folder).findings}
        assert (found.rule, found.message) not in left


def _is_in_braces(file: str) -> bool:
    """Junos with braces, and NVUE's YAML, to which a command cannot be appended."""
    return "{\n" in Path(file).read_text() or Path(file).read_text().startswith("- ")


def test_mistakes_in_references_are_found(tmp_path: Path) -> None:
    """Of all mistakes that can be made in the references, six or more in each, at least 98 % are found."""
    mistakes = list(mistakes_in_references(tmp_path))
    made = Counter(mistake.file for mistake in mistakes)
    assert len({file.parent for file in made}) == len(PROBLEMS) >= 120
    assert min(made.values()) >= 6
    unseen = [f"{mistake.file}: {mistake.name}" for mistake in mistakes if not mistake.is_found]
    assert len(unseen) <= 0.02 * len(mistakes), unseen


@every_problem
def test_unlike_configurations_score_less(problem: Problem) -> None:
    """The reference's findings do not pass for the problem's: a label that nothing matches costs its share."""
    report = problem.audit(problem.folder / "reference")
    assert score(problem.labels, report.findings) < 1.0


def test_severities_are_used() -> None:
    """Every problem is an error, a warning or, where nothing is lost, an info; each kind occurs."""
    kinds = {f.severity for problem in PROBLEMS for f in problem.audit(problem.folder / "configs").findings}
    assert kinds == set(Severity)
