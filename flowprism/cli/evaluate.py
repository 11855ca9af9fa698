"""`flowprism evaluate`, as it is typed; what it does is in `flowprism.cli.marking` and `flowprism.cli.scoring`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class MarksFormat(StrEnum):
    """How the marks are written."""

    TEXT = "text"
    JSON = "json"


class SuiteSize(StrEnum):
    """How much of the suite is run."""

    FULL = "full"
    MEDIUM = "medium"
    SMALL = "small"


def evaluate(
    report: Annotated[Path | None, typer.Argument(metavar="REPORT", help="A report as JSON.")] = None,
    truth: Annotated[Path | None, typer.Argument(metavar="TRUTH", help="What was really so, as JSON.")] = None,
    need: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Exit 1 where this mark or figure is worse; may be repeated."),
    ] = None,
    marks_format: Annotated[
        MarksFormat, typer.Option("--format", help="How the marks or the scoreboard are written.")
    ] = MarksFormat.TEXT,
    suite: Annotated[SuiteSize, typer.Option(help="How much of the suite is run.")] = SuiteSize.FULL,
    family: Annotated[list[str] | None, typer.Option(help="Only these families; may be repeated.")] = None,
    case: Annotated[
        list[str] | None, typer.Option(metavar="FAMILY-N", help="Only these cases; may be repeated.")
    ] = None,
    captures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also the recorded cases below this folder.")
    ] = None,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Leave cases and reports here.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the scoreboard as JSON.")] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with a scoreboard kept earlier.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a processor where left out.")] = None,
) -> None:
    """Mark a report against the truth of its case; without one, run the suite and print its scoreboard."""
    as_json = marks_format is MarksFormat.JSON
    if report is not None:
        from flowprism.cli import marking  # here, so that `--help` need not wait for the documents' schemas

        if truth is None:
            raise typer.BadParameter("give the TRUTH of the report's case too")
        met = marking.run(report, truth, need or (), as_json=as_json)
    else:
        from flowprism.cli import scoring  # here, so that `--help` need not wait for the compiler

        wish = scoring.Wish(suite.value, tuple(family or ()), tuple(case or ()), captures, keep, workers)
        met = scoring.run(wish, need or (), out, against, as_json=as_json)
    if not met:
        raise typer.Exit(1)
