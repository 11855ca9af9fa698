"""Options that several commands have, and the choices that options offer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

SamplingRates = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[EXPORTER=]N", help="Override the sampling rate, 1 in N, of all exporters or one; repeatable."
    ),
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


class LeastSeverity(StrEnum):
    """The least severity of a finding that counts."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class ComponentName(StrEnum):
    """A component of the service."""

    COLLECTOR = "collector"
    COMPACTOR = "compactor"
    SCANNER = "scanner"
    ALERTER = "alerter"
    API = "api"


class PlanFormat(StrEnum):
    """How a plan of paths is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    HCCL = "hccl"
    HCCN = "hccn"
