"""Findings: what one scan concluded is wrong; events: what happened and is no fault."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datamodel.cluster.inventory import StageRole
from datamodel.document import Document
from datamodel.reports.layout import Groups

FindingKind = Literal["straggler", "slow_link", "slow_uplink", "hang", "imbalance", "regression", "contention", "feed"]
Severity = Literal["info", "warning", "critical"]
EventKind = Literal["start", "end", "restart", "checkpoint", "evaluation", "membership_change", "pause", "new_baseline"]
ChangeKind = Literal["live_migration", "restart", "elastic"]
SubjectType = Literal["endpoint", "host", "link", "switch", "group", "job"]


class Subject(Document):
    """What a finding is about. A link's ids are [a, b] as in the inventory, an endpoint's own [switch, address]."""

    type: SubjectType
    ids: tuple[str, ...]
    a_port: int | None = None
    b_port: int | None = None
    group: str | None = Field(default=None, description="dp, pp ...: the kind of group, where type is group")

    @property
    def identity(self) -> tuple[str, ...]:
        """Names that it shares with no other: parallel links between two switches differ in their ports only."""
        ports = (self.a_port, self.b_port)
        return self.ids if ports == (None, None) else (*self.ids, *("" if n is None else str(n) for n in ports))

    @property
    def ends(self) -> frozenset[tuple[str, int | None]]:
        """Each thing that it names, with the link's port there where that is known; whichever end stands first."""
        ports = (self.a_port, self.b_port) if self.type == "link" else (None,) * len(self.ids)
        return frozenset(zip(self.ids, ports, strict=True))


class Suspect(Document):
    """One of several that the evidence leaves."""

    type: SubjectType
    ids: tuple[str, ...]
    probability: float = Field(ge=0, le=1)


class Evidence(Document):
    """One measured number against its baseline."""

    metric: str
    value: float
    baseline: float
    unit: str
    where: str = Field(description="which endpoints, pairs or links were measured")
    window_ns: tuple[int, int]


class Finding(Document):
    """What is wrong, where, since when, how sure, and what it costs."""

    id: str
    job: str | None
    kind: FindingKind
    cause: str | None = None
    severity: Severity
    start_ns: int
    end_ns: int | None = Field(description="null: still on at the end of the window")
    confidence: float = Field(ge=0, le=1)
    slowdown_ratio: float = Field(description="iteration time now / what it would be without the cause")
    subject: Subject
    suspects: tuple[Suspect, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    summary: str
    action: str


class Place(Document):
    """An endpoint's place in the grid; what the traffic does not show is null."""

    endpoint: str
    replaces: str | None = Field(default=None, description="of one that joined: the endpoint that had its place")
    dp: int | None = Field(default=None, description="its index in its dp group")
    pp: int | None = Field(default=None, description="its pipeline stage")
    tp: int | None = Field(default=None, description="its index in its tp group")
    role: StageRole | None = Field(default=None, description="of its stage")


class Membership(Document):
    """A change of a job's members, or of all of its connections. Times that the window does not show are null."""

    kind: ChangeKind | None = Field(description="null where it happened between two windows")
    leavers: tuple[Place, ...] = ()
    joiners: tuple[Place, ...] = ()
    iteration: int | None = Field(default=None, description="index of the first complete iteration after it")
    down_ns: int | None = Field(
        default=None, description="from the last complete iteration before to the first after, less one iteration"
    )
    warm_up_ns: int | None = Field(
        default=None, description="by which iterations took longer until three in a row were within 5 % of the baseline"
    )
    baseline_ns: int | None = Field(default=None, description="iteration time that these are measured against")
    state_bytes: int = Field(default=0, description="sent once, during it, to endpoints of the job")
    groups: Groups = Field(
        default=Groups(), description="process groups that someone left or joined, as they are after"
    )


class Event(Document):
    """Something that happened to a job and is no fault."""

    job: str
    kind: EventKind
    start_ns: int
    end_ns: int | None
    detail: str
    change: Membership | None = Field(default=None, description="of a restart or a membership change, in fields")
