"""What is few and must be related: the rows of the results database that are no documents of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from datamodel.reports.findings import Severity
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.scan import Scan

NoteKind = Literal["acknowledged", "accepted", "muted", "unmuted", "comment"]
BaselineOrigin = Literal["measured", "accepted", "layout"]
Role = Literal["viewer", "operator", "admin"]
REQUESTED = "request "  # begins what a scan on demand is kept under; no policy's name has a space
WATCH = "hang watch"  # what scans of silent jobs are kept under


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """One scan of one window.

    Attributes:
        policy: which health-check policy asked for it; with the window, what makes it this scan and no other.
        started_ns, finished_ns: when it was made, UTC.
        version: of flowprism.
        scan: the verdict; its window is the scan's.
    """

    policy: str
    started_ns: int
    finished_ns: int
    version: str
    scan: Scan


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as the newest scan saw it.

    Attributes:
        id: stable over scans.
        label, tenant: from the inventory.
        first_seen_ns, last_seen_ns: ends of windows, UTC.
        world_size: GPUs; None where it is not known.
        period_s: of an iteration; None where there is none.
        endpoints, hosts: addresses and names.
        smallest_slowdown_ratio: what the feed would show; None where it can show nothing.
        reasons: for that.
    """

    id: str
    label: str | None
    tenant: str | None
    first_seen_ns: int
    last_seen_ns: int
    world_size: int | None
    period_s: float | None
    endpoints: tuple[str, ...]
    hosts: tuple[str, ...]
    smallest_slowdown_ratio: float | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayoutRecord:
    """A job's layout and process groups, and since when they are so, UTC."""

    job: str
    since_ns: int
    layout: Layout
    groups: Groups


@dataclass(frozen=True, slots=True)
class Baseline:
    """What an iteration of a job takes when nothing slows it down: what later windows are compared with.

    Attributes:
        job: its id.
        since_ns: slowdowns that began from then to `made_ns` are part of it, UTC.
        made_ns: when it was begun, UTC.
        origin: `measured` where the job was first seen; `accepted` by an operator; `layout` where that changed.
        author: who accepted it; "" for none.
        iteration_ns: duration of an iteration; None where no scan has measured it yet.
        iterations: by how many it was measured.
        iteration_bytes: what the job moves in one; 0 where that is not known.
        sizes: of the layout, as `datamodel.reports.layout.Sizes` names them; None for one that is not known.
    """

    job: str
    since_ns: int
    made_ns: int
    origin: BaselineOrigin = "measured"
    author: str = ""
    iteration_ns: float | None = None
    iterations: int = 0
    iteration_bytes: float = 0.0
    sizes: tuple[int | None, ...] = ()

    @property
    def measured_from_ns(self) -> int:
        """Since when iterations are of this baseline: a window that shows a new layout may show the old one as well."""
        return self.made_ns if self.origin == "layout" else self.since_ns


@dataclass(frozen=True, slots=True)
class Rollup:
    """One job in one stretch of time, of a size that does not depend on the job.

    Attributes:
        job: its id.
        start_ns: begin of the stretch, UTC; a multiple of `length_ns`.
        length_ns: how long the stretch is.
        iterations: that ended in it.
        iteration_ns: sum of their lengths; shortest and longest of them, 0 where there is none.
        shortest_ns, longest_ns: see `iteration_ns`.
        bytes: that the job moved.
        worst_slowdown_ratio: of findings that were on; 1 where there was none.
        worst_severity: of those findings.
    """

    job: str
    start_ns: int
    length_ns: int
    iterations: int
    iteration_ns: int
    shortest_ns: int
    longest_ns: int
    bytes: int
    worst_slowdown_ratio: float = 1.0
    worst_severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class FeedStatistics:
    """What one exporter sent in one stretch of time, and what of it was lost.

    Attributes:
        exporter: agent address and observation domain, as messages name it.
        start_ns, length_ns: the stretch, UTC.
        datagrams, records, late, duplicates: counted as in `datamodel.telemetry.exporter_stats`.
        lost: datagrams; where an exporter numbers its records, as many as would have held them.
        rejected: what was left out, by reason.
    """

    exporter: str
    start_ns: int
    length_ns: int
    datagrams: int = 0
    records: int = 0
    lost: int = 0
    late: int = 0
    duplicates: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IncidentNote:
    """What a person did about an incident.

    Attributes:
        incident: its id.
        time_ns: when, UTC.
        author: name of the user.
        kind: what.
        text: reason or comment.
        until_ns: until when it is muted; None for ever, and for what is no mute.
    """

    incident: str
    time_ns: int
    author: str
    kind: NoteKind
    text: str = ""
    until_ns: int | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A user who may log in.

    Attributes:
        name: unique.
        role: what they may do.
        tenant: whose jobs they see; None for all.
        password_hash: of whatever scheme the service uses; "" where there is no password.
        created_ns: UTC.
        disabled: whether they may not any longer.
    """

    name: str
    role: Role
    tenant: str | None
    password_hash: str = field(repr=False)
    created_ns: int
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """What a program shows instead of a password; only its hash is kept.

    Attributes:
        id: public, by which it is found and named.
        user: on whose behalf.
        hash: of the secret part.
        scopes: what it may be used for.
        created_ns, expires_ns: UTC; None for ever.
        revoked_ns: since when it is void; None while it is not.
    """

    id: str
    user: str
    hash: str = field(repr=False)
    scopes: tuple[str, ...]
    created_ns: int
    expires_ns: int | None
    revoked_ns: int | None = None


@dataclass(frozen=True, slots=True)
class LoginSession:
    """One log-in of a user by password; only the hash of what the browser shows is kept.

    Attributes:
        hash: by which it is found.
        user: name of the user.
        created_ns, expires_ns: UTC.
    """

    hash: str = field(repr=False)
    user: str
    created_ns: int
    expires_ns: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An audit entry.

    Attributes:
        request: unique; the same request stored twice is one entry.
        time_ns: when, UTC.
        actor: a user's name, or what acted by itself.
        action, subject: what was done, and to what.
        detail: more, by name.
    """

    request: str
    time_ns: int
    actor: str
    action: str
    subject: str
    detail: Mapping[str, str] = field(default_factory=dict)
