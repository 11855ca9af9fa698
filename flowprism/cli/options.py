"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

SamplingRates = Annotated[
    list[str] | None,
    typer.Option(metavar="[EXPORTER=]N", help="Exporters sample 1 in N, whatever they say; may be repeated."),
]
