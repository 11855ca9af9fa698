"""Pages of documents, and what is sent to the API."""

from __future__ import annotations

from pydantic import Field

from datamodel.document import Document
from datamodel.reports.findings import Event
from datamodel.service.api_models import ComponentStatus, FeedRow, IncidentRow, JobRow, ScanRequest, ScanRow
from flowprism.service.http.query_parameters import LongText, SentTime, Text

_NEXT = Field(default=None, description="the cursor of the next page; null on the last one")


class JobPage(Document):
    """Some of the jobs."""

    items: tuple[JobRow, ...]
    next: str | None = _NEXT


class IncidentPage(Document):
    """Some of the incidents."""

    items: tuple[IncidentRow, ...]
    next: str | None = _NEXT


class EventPage(Document):
    """Some of the events."""

    items: tuple[Event, ...]
    next: str | None = _NEXT


class ScanPage(Document):
    """Some of the scans."""

    items: tuple[ScanRow, ...]
    next: str | None = _NEXT


class FeedList(Document):
    """All exporters."""

    items: tuple[FeedRow, ...]


class ComponentList(Document):
    """All components of the service."""

    items: tuple[ComponentStatus, ...]


class RequestList(Document):
    """Scans that were asked for."""

    items: tuple[ScanRequest, ...]


class Said(Document):
    """What a person adds to an action."""

    text: LongText = Field(default="", description="why, for others to read", examples=["looking at it"])


class Comment(Document):
    """A comment."""

    text: LongText = Field(min_length=1, examples=["cable swapped"])


class Mute(Document):
    """A mute: why, and until when."""

    reason: LongText = Field(min_length=1, examples=["part ordered"])
    until_ns: SentTime | None = Field(default=None, description="ns UTC; null for ever")


class Ask(Document):
    """A scan that is asked for; without a window, of the newest records."""

    policy: Text = Field(default="", description="whose jobs and window; empty: the first policy's")
    jobs: tuple[Text, ...] = Field(default=(), max_length=1000, description="ids or labels; empty: the policy's")
    window_start_ns: SentTime | None = None
    window_end_ns: SentTime | None = None
