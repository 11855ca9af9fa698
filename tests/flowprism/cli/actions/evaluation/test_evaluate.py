"""`flowprism evaluate` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from datamodel.errors import InputError
from datamodel.reports.truth import Truth
from flowprism.cli import app
from flowprism.evaluation.scores import MEANINGS, compute_scores
from flowprism.rendering.formats.report_json import render_json
from tests.flowprism import sample
from tests.flowprism.evaluation.test_scores import truth_of


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A report without its finding, and the truth that holds it."""
    folder = tmp_path_factory.mktemp("marks")
    report = sample.analysis(iterations=16).report
    (folder / "report.json").write_text(render_json(report.model_copy(update={"findings": ()})))
    (folder / "truth.json").write_text(truth_of(report).model_dump_json(by_alias=True))
    return folder / "report.json", folder / "truth.json"


def evaluate(*arguments: str | Path) -> Result:
    """The command's result; exceptions are kept in it."""
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


def test_every_mark_is_printed(files: tuple[Path, Path]) -> None:
    """One line a mark as text, one object as JSON, the same numbers."""
    report = sample.analysis(iterations=16).report.model_copy(update={"findings": ()})
    found = compute_scores(report, Truth.model_validate_json(files[1].read_bytes()))
    lines = evaluate(*files).stdout.splitlines()
    assert [line.split() for line in lines] == [[name, f"{found[name]:.4g}"] for name in MEANINGS]
    assert json.loads(evaluate(*files, "--format", "json").stdout) == found


def test_needs_decide_the_exit_code(files: tuple[Path, Path]) -> None:
    """All met is 0; a miss is 1 and is named, with which way it should have been."""
    assert evaluate(*files, "--need", "jobs=1", "--need", "false=0").exit_code == 0
    missed = evaluate(*files, "--need", "jobs=1", "--need", "faults=1", "--need", "timeline=-1")
    assert missed.exit_code == 1
    assert missed.stderr.splitlines() == [
        "falls short: faults is 0, needed >= 1",
        "falls short: timeline is 0, needed <= -1",
    ]


@pytest.mark.parametrize(
    ("need", "cause"),
    [("accuracy=1", "--need accuracy=1: unknown mark; known: jobs, "), ("jobs", "--need jobs: expected NAME=VALUE")],
)
def test_a_need_that_means_nothing_is_refused(files: tuple[Path, Path], need: str, cause: str) -> None:
    """Rather than always met."""
    error = evaluate(*files, "--need", need).exception
    assert isinstance(error, InputError)
    assert str(error).startswith(cause)


def test_what_is_no_report_is_named(files: tuple[Path, Path], tmp_path: Path) -> None:
    """A missing file, a file that is no JSON, the truth given for the report."""
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    for path, cause in (
        (tmp_path / "none.json", "No such file or directory"),
        (broken, "no report: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (files[1], "no report: schema: Input should be 'flowprism.report/v1'"),
    ):
        error = evaluate(path, files[1]).exception
        assert isinstance(error, InputError)
        assert str(error) == f"{path}: {cause}"
