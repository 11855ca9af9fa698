"""The week's repeat offenders, as a document."""

from __future__ import annotations

from pydantic import Field

from datamodel.document import Document
from datamodel.reports.report import Window
from datamodel.service.api_models import RepeatOffender


class WeeklyReport(Document):
    """Hosts that are late in job after job at the end of a week, and what is different from the week before."""

    week: Window
    of: int = Field(default=0, description="hosts that were compared, over 30 days")
    offenders: tuple[RepeatOffender, ...] = Field(default=(), description="late beyond chance, over 30 days")
    new: tuple[str, ...] = Field(default=(), description="hosts of them that were none a week before")
    gone: tuple[str, ...] = Field(default=(), description="hosts that were some a week before, and are none now")
    suspicious: tuple[RepeatOffender, ...] = Field(
        default=(), description="the ten that come first and are late by more than 1 %: unusual, not proven"
    )
