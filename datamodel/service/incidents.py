"""Incidents: findings kept, deduplicated, updated and resolved over scans; and what happened to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.reports.findings import Evidence, Finding, FindingKind, Severity, Subject, Suspect

IncidentState = Literal["suspected", "open", "resolved"]
ChangeKind = Literal["suspected", "opened", "escalated", "eased", "relocated", "resolved", "reopened", "dismissed"]


class Incident(Document):
    """One thing that is wrong, for as long as it is.

    `suspected` until enough scans have seen it, `open` until enough scans that could have seen it have not. One that
    comes back soon is the same incident again: a flapping link is one.
    """

    id: str
    job: str | None
    kind: FindingKind
    cause: str | None = None
    state: IncidentState
    severity: Severity = Field(description="of the last finding")
    worst_severity: Severity
    subject: Subject
    suspects: tuple[Suspect, ...] = ()
    start_ns: int = Field(description="since when it is so, by its first finding")
    end_ns: int | None = Field(default=None, description="until when, by its last finding; null: still on then")
    opened_ns: int | None = Field(default=None, description="the scan that confirmed it; null while suspected")
    seen_ns: int = Field(description="the last scan that saw it")
    resolved_ns: int | None = None
    scans_seen: int = Field(default=1, description="since it was suspected or reopened")
    scans_quiet: int = Field(default=0, description="in a row that could have seen it and did not")
    times_reopened: int = 0
    since_ns: int | None = Field(default=None, description="since when it is so again, where it came back; else null")
    earlier_ns: tuple[tuple[int, int], ...] = Field(
        default=(),
        description="from when to when it was so before it came back, the oldest first; very old ones as one",
    )
    slowdown_ratio: float
    worst_slowdown_ratio: float
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[Evidence, ...] = ()
    summary: str
    action: str

    @property
    def over_ns(self) -> int | None:
        """When it was over, UTC: as its last finding says, else when it was last seen; None while it is still on."""
        if self.end_ns is not None:
            return self.end_ns
        return self.seen_ns if self.scans_quiet or self.state == "resolved" else None

    @property
    def measured_ns(self) -> tuple[int, int]:
        """The time that its numbers are of, UTC: of its evidence, else from its start to when it was last seen."""
        if self.evidence:
            return min(e.window_ns[0] for e in self.evidence), max(e.window_ns[1] for e in self.evidence)
        return self.start_ns, max(self.end_ns if self.end_ns is not None else self.seen_ns, self.start_ns)

    def recent_ns(self, most_ns: int) -> tuple[int, int]:
        """The last `most_ns` of the time in which it was so, UTC, and all that its numbers are of.

        As windows move on past a fault, its numbers are of ever less of it: of its last few iterations in the end.
        """
        start_ns, end_ns = self.measured_ns
        return min(start_ns, max(self.since_ns or self.start_ns, end_ns - most_ns)), end_ns

    def stretches(self, until_ns: int) -> tuple[Finding, ...]:
        """The findings of each time in which it was so before `until_ns`, UTC; in between all was well."""
        newest = self.as_finding(until_ns)
        earlier = [newest.model_copy(update={"start_ns": a, "end_ns": b}) for a, b in self.earlier_ns if a < until_ns]
        return (*earlier, newest.model_copy(update={"start_ns": self.since_ns or self.start_ns}))

    def as_finding(self, until_ns: int) -> Finding:
        """The finding of a stretch of time that ends at `until_ns`, UTC."""
        over_ns = self.over_ns
        return Finding(
            id=self.id,
            job=self.job,
            kind=self.kind,
            cause=self.cause,
            severity=self.severity,
            start_ns=self.start_ns,
            end_ns=over_ns if over_ns is not None and over_ns < until_ns else None,
            confidence=self.confidence,
            slowdown_ratio=self.slowdown_ratio,
            subject=self.subject,
            suspects=self.suspects,
            evidence=self.evidence,
            summary=self.summary,
            action=self.action,
        )


class IncidentChange(Document):
    """One entry of an incident's history."""

    incident: str
    time_ns: int
    kind: ChangeKind
    detail: str


@dataclass(frozen=True, slots=True)
class IncidentUpdate:
    """Incidents after a scan, by id, and what changed, by incident."""

    incidents: tuple[Incident, ...]
    changes: tuple[IncidentChange, ...]
