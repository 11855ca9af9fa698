"""`flowprism evaluate`, as it is typed; what it does is in `flowprism.cli.actions.evaluation`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class MarksFormat(StrEnum):
    """Format of the scores."""

    TEXT = "text"
    JSON = "json"


class SuiteSize(StrEnum):
    """Size of the suite."""

    FULL = "full"
    MEDIUM = "medium"
    SMALL = "small"


def evaluate(
    report: Annotated[Path | None, typer.Argument(metavar="REPORT", help="A report as JSON.")] = None,
    truth: Annotated[Path | None, typer.Argument(metavar="TRUTH", help="Ground truth, as JSON.")] = None,
    need: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Exit 1 if this score or metric is worse; repeatable."),
    ] = None,
    marks_format: Annotated[
        MarksFormat, typer.Option("--format", help="Format of the scores or the scoreboard.")
    ] = MarksFormat.TEXT,
    suite: Annotated[SuiteSize, typer.Option(help="Size of the suite.")] = SuiteSize.FULL,
    family: Annotated[list[str] | None, typer.Option(help="Only this family; repeatable.")] = None,
    case: Annotated[list[str] | None, typer.Option(metavar="FAMILY-N", help="Only this case; repeatable.")] = None,
    captures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also the recorded cases below this folder.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder in which cases and reports are kept.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the scoreboard as JSON.")] = None,
    against: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare with an earlier scoreboard.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes; default: one per CPU.")] = None,
) -> None:
    """Score a report against the truth of its case; without a report, run the suite and print its scoreboard."""
    as_json = marks_format is MarksFormat.JSON
    if report is not None:
        # Here, so that `--help` need not wait for the documents' schemas.
        from flowprism.cli.actions.evaluation.evaluate_report import score_report

        if truth is None:
            raise typer.BadParameter("give the TRUTH of the report's case too")
        met = score_report(report, truth, need or (), as_json=as_json)
    else:
        from flowprism.cli.actions.evaluation.evaluate_apart import family_apart, score_apart

        # Here, so that `--help` need not wait for the compiler.
        from flowprism.cli.actions.evaluation.evaluate_suite import SuiteArguments, score_suite

        apart = family_apart(family or (), case or ())
        if apart is not None:
            if not score_apart(apart, suite.value, case or (), need or (), out, as_json=as_json):
                raise typer.Exit(1)
            return

        arguments = SuiteArguments(suite.value, tuple(family or ()), tuple(case or ()), captures, keep, workers)
        met = score_suite(arguments, need or (), out, against, as_json=as_json)
    if not met:
        raise typer.Exit(1)
