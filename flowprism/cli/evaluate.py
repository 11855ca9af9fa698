"""`flowprism evaluate`, as it is typed; what it does is in `flowprism.cli.marking`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class MarksFormat(StrEnum):
    """How the marks are written."""

    TEXT = "text"
    JSON = "json"


def evaluate(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report as JSON.")],
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="What was really so, as JSON.")],
    need: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Exit 1 where this mark is worse; may be repeated.")
    ] = None,
    marks_format: Annotated[
        MarksFormat, typer.Option("--format", help="How the marks are written.")
    ] = MarksFormat.TEXT,
) -> None:
    """Mark a report against the truth of its case."""
    from flowprism.cli import marking  # here, so that `--help` need not wait for the documents' schemas

    if not marking.run(report, truth, need or (), as_json=marks_format is MarksFormat.JSON):
        raise typer.Exit(1)
