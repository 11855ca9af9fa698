"""`flowprism feeds`, as it is typed; what it does is in `flowprism.cli.surveying`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.options import SamplingRates


class SurveyFormat(StrEnum):
    """How the survey is written."""

    TEXT = "text"
    JSON = "json"


def feeds(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Captures of export datagrams, or their bare payloads.")
    ],
    sampling_rate: SamplingRates = None,
    survey_format: Annotated[
        SurveyFormat, typer.Option("--format", help="How the survey is written.")
    ] = SurveyFormat.TEXT,
) -> None:
    """Tell who exports what, at which rates, and what of it is missing or doubtful."""
    from flowprism.cli import surveying  # here, so that `--help` need not wait for the decoders

    surveying.run(paths, sampling_rate or (), as_json=survey_format is SurveyFormat.JSON)
