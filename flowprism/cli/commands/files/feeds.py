"""`flowprism feeds`, as it is typed; what it does is in `flowprism.cli.actions.files.feeds`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import SamplingRates


class SurveyFormat(StrEnum):
    """Format of the survey."""

    TEXT = "text"
    JSON = "json"


def feeds(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Captures of export datagrams, or their bare payloads.")
    ],
    sampling_rate: SamplingRates = None,
    survey_format: Annotated[SurveyFormat, typer.Option("--format", help="Format of the survey.")] = SurveyFormat.TEXT,
) -> None:
    """List the exporters with their sampling rates, losses and mismatches."""
    from flowprism.cli.actions.files.feeds import survey_feeds  # here, so that `--help` need not wait for the decoders

    survey_feeds(paths, sampling_rate or (), as_json=survey_format is SurveyFormat.JSON)
