"""Marking a report from the command line: read both documents, print the marks, hold them against needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.cli.arguments.score_requirements import parse_requirement
from flowprism.evaluation.scores import LOWER_IS_BETTER, MEANINGS, compute_scores, misses_requirement
from flowprism.inputs.document_file import read_document


def score_report(report: Path, truth: Path, needs: Sequence[str], *, as_json: bool) -> bool:
    """Print the marks of `report` to stdout, and to stderr which needs are not met; whether all are.

    Raises:
        InputError: a file is not the document it should be, or a need is not NAME=VALUE of a known mark.
    """
    wanted = [parse_requirement(text, MEANINGS, "mark") for text in needs]
    found = compute_scores(read_document(report, Report, "report"), read_document(truth, Truth, "truth"))
    typer.echo(json.dumps(found) if as_json else "\n".join(f"{name:<12}{value:.4g}" for name, value in found.items()))
    short = [(name, value) for name, value in wanted if misses_requirement(found, name, value)]
    for name, value in short:
        sign = "<=" if name in LOWER_IS_BETTER else ">="
        typer.echo(f"falls short: {name} is {found[name]:.4g}, needed {sign} {value:g}", err=True)
    return not short
