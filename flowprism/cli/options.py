"""Options that several commands have, and the choices that options offer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

SamplingRates = Annotated[
    list[str] | None,
    typer.Option(metavar="[EXPORTER=]N", help="Exporters sample 1 in N, whatever they say; may be repeated."),
]


class ReportFormat(StrEnum):
    """How the report is written."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class ScanFormat(StrEnum):
    """How the verdict is written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


class Least(StrEnum):
    """The least severity of a finding that counts."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class PartName(StrEnum):
    """A part of the service."""

    COLLECTOR = "collector"
    KEEPER = "keeper"
    SCANNER = "scanner"
    ALERTER = "alerter"
    API = "api"
