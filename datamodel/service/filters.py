"""What is wanted of many: filters of jobs, incidents, events and scans. An empty filter lets all through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamodel.reports.findings import EventKind, FindingKind, Severity
from datamodel.reports.scan import Verdict
from datamodel.service.incidents import IncidentState
from datamodel.service.job_state import JobState

JobOrder = Literal["id", "worst"]


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs, and in which order.

    Attributes:
        text: part of the id, label, tenant, a host's name or an address; upper or lower case is the same.
        tenant: their tenant; "" for those without one; None for all.
        states: that they are in now; empty for all.
        order: by id, or by severity and number of open incidents and then by id.
    """

    text: str = ""
    tenant: str | None = None
    states: tuple[JobState, ...] = ()
    order: JobOrder = "id"


@dataclass(frozen=True, slots=True)
class IncidentFilter:
    """Which incidents; those seen last come first.

    Attributes:
        states: suspected, open, resolved; empty for all.
        job, tenant: of one job, of one tenant's jobs; None for all.
        kinds, severities: empty for all.
        text: part of the summary or of an id in the subject; upper or lower case is the same.
        muted, acknowledged: whether it is so; None for both.
        since_ns: only those that a scan saw at this time or later.
        until_ns: only those that began before this time; None for all.
    """

    states: tuple[IncidentState, ...] = ("open",)
    job: str | None = None
    tenant: str | None = None
    kinds: tuple[FindingKind, ...] = ()
    severities: tuple[Severity, ...] = ()
    text: str = ""
    muted: bool | None = None
    acknowledged: bool | None = None
    since_ns: int = 0
    until_ns: int | None = None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events; the newest come first. Those that begin in [start_ns, end_ns), of some kinds, of one job."""

    job: str | None = None
    kinds: tuple[EventKind, ...] = ()
    start_ns: int = 0
    end_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ScanFilter:
    """Which scans; the newest come first. Those of one policy, of some verdicts."""

    policy: str | None = None
    verdicts: tuple[Verdict, ...] = ()
