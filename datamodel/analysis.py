"""All that one analysis hands to the screens: the report, and the tables too long to stand in it."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.frame import Frame
from datamodel.report import Report
from datamodel.timeline import Timelines


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report with its timelines and, by job id, its pair table (`datamodel.transfers.PAIRS`)."""

    report: Report
    timelines: Timelines
    pairs: dict[str, Frame]
