"""The plan of paths, `flowprism.path-plan/v1`: loads of cables now and as planned, and what each connection does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.reports.findings import Finding
from datamodel.reports.report import Window

# `keep` the port; `set` a port that is predicted to lead over the planned cables; `try` ports, as no hash is known;
# `none`: no port leads there.
Action = Literal["keep", "set", "try", "none"]
Applied = Literal["kept", "drifted", "not applied", "not seen"]
# Of a plan as a whole: what is worst of its connections; `nothing to move` where it asks for nothing.
PlanState = Literal["kept", "drifted", "not applied", "not seen", "nothing to move"]


class Port(Document):
    """An interface by which packets leave a switch."""

    switch: str
    port: int | None

    def __str__(self) -> str:
        """As switch:interface; ports of NICs have no number."""
        return self.switch if self.port is None else f"{self.switch}:{self.port}"


class PlannedConnection(Document):
    """One connection that is long enough to be worth a place of its own."""

    job: str
    src_addr: str
    dst_addr: str
    src_port: int
    queue_pairs: int = Field(description="receiving queue pairs seen with these addresses and ports; 0 unknown")
    dst_qp: int | None
    bytes: int = Field(description="payload of an iteration")
    now: tuple[Port, ...] | None = Field(description="doors that it leaves switches by; null unknown")
    planned: tuple[Port, ...]
    action: Action
    new_src_port: int | None = None
    try_src_ports: tuple[int, ...] = ()

    @property
    def ends(self) -> tuple[str, str, int]:
        """Source, destination and source port, by which a window's connections are known."""
        return self.src_addr, self.dst_addr, self.src_port


class PhaseLoad(Document):
    """One phase of an iteration: a job's cables are busy this long, the slowest of them."""

    begin_ratio: float = Field(description="where it begins, as a share of the iteration")
    end_ratio: float
    now_s: float
    planned_s: float


class JobPaths(Document):
    """What a job's long connections do to one another."""

    job: str
    connections: int = Field(description="that cross switches")
    elephants: int
    known_ratio: float = Field(description="share of the bytes across switches whose path is known")
    phases: tuple[PhaseLoad, ...]
    gain_ratio: float = Field(description="share of the iteration time that the plan saves at most")
    queue_pairs: int | None = Field(
        description="of each connection, with which chance comes within 5 % of the plan; null: more than 128"
    )


class Collision(Document):
    """A cable that several long connections share although the plan spreads them."""

    job: str
    link: tuple[Port, Port] = Field(description="the ends that its packets leave and enter by")
    begin_ratio: float
    end_ratio: float
    now_s: float
    best_s: float
    elephants: tuple[str, ...] = Field(description="connections, as source:port > destination")
    others: int = Field(default=0, description="long ones of other jobs, where those are not named")


class UplinkBalance(Document):
    """Bytes of one job over the cables by which they leave one switch: the most of a cable over the mean."""

    job: str
    switch: str
    now: float
    planned: float


class CountedCable(Document):
    """What an interface counted of a cable between two readings, and what records show of the same time."""

    link: tuple[Port, Port] = Field(description="the ends that its packets leave and enter by")
    counted_bytes: int = Field(description="Ethernet bytes")
    least_bytes: int = Field(description="payload of connections that are known to pass")
    most_bytes: int = Field(description="the same with connections that may pass")
    agrees: bool = Field(description="within what headers, clocks and sampling explain")


class LearntHash(Document):
    """The hash of some switches, as far as sightings show it."""

    switches: tuple[str, ...]
    fields: tuple[str, ...]
    checked: int = Field(description="sightings set aside that it predicted")
    right: int


class PathPlan(Document):
    """Collisions of long connections, and the placement that removes them. Nothing is applied."""

    schema_: Literal["flowprism.path-plan/v1"] = Field(default="flowprism.path-plan/v1", alias="schema")
    window: Window
    notes: tuple[str, ...] = Field(default=(), description="what is not known, and what no plan can be made from")
    jobs: tuple[JobPaths, ...] = ()
    collisions: tuple[Collision, ...] = ()
    balance: tuple[UplinkBalance, ...] = ()
    hashes: tuple[LearntHash, ...] = ()
    left_out: tuple[tuple[Port, Port], ...] = Field(default=(), description="links with a slow_uplink finding")
    unknown_hashes: tuple[str, ...] = Field(default=(), description="switches that choose by a hash that is not known")
    counted: tuple[CountedCable, ...] = Field(default=(), description="cables whose interfaces' counters were read")
    connections: tuple[PlannedConnection, ...] = ()
    findings: tuple[Finding, ...] = ()
    applied: dict[Applied, int] = Field(default={}, description="connections of an earlier plan by what became of them")


class PlanOutcome(Document):
    """What became of a plan."""

    made_ns: int = Field(description="end of the window that it was made from, UTC")
    state: PlanState
    applied: dict[Applied, int] = Field(description="connections that it moves, by what became of them")


class JobPathsState(Document):
    """A job's paths as scans keep them, without the connections."""

    outcome: PlanOutcome = Field(description="of the plan in force, by the newest scan")
    since_ns: int = Field(description="end of the first window that showed this state, UTC")
    seen_ns: int = Field(description="end of the newest window, UTC")
    before: PlanOutcome | None = Field(description="what the plan before came to; null: there was none")
    paths: JobPaths | None = Field(description="null where nothing can be planned; `notes` say why")
    balance: tuple[UplinkBalance, ...] = ()
    collisions: tuple[Collision, ...] = ()
    unknown_hashes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowedPlan:
    """A job's plan in force and its newest one, with what became of the former.

    Attributes:
        state: without the connections.
        plan: in force; of this job alone, as is `newest`.
        newest: of the newest window.
    """

    state: JobPathsState
    plan: PathPlan
    newest: PathPlan
