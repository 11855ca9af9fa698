"""Recordings of a profiler: what one rank's GPU and host did, and what the comparison of ranks concludes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.frame import Column, Frame, Schema

# What an activity is. The first three run on a GPU, or on the host where the job uses no GPU.
ACTIVITY_KINDS = ("compute", "copy", "communication", "operator", "python", "annotation", "runtime")
COMPUTE, COPY, COMMUNICATION, OPERATOR, PYTHON, ANNOTATION, RUNTIME = range(len(ACTIVITY_KINDS))

PROFILE_ACTIVITIES = Schema(
    "profile_activities",
    (
        Column("kind", "i1", "code", "what, an index into ACTIVITY_KINDS"),
        Column("name", "i4", "code", "index into the profile's names"),
        Column("thread", "i4", "code", "thread of the host, or stream of the GPU: index into the profile's names"),
        Column("start_ns", "i8", "ns", "begin, on the recording host's clock"),
        Column("end_ns", "i8", "ns", "end, on the same clock"),
    ),
)
PROFILE_COLLECTIVES = Schema(
    "profile_collectives",
    (
        Column("group", "i4", "code", "index into the profile's groups"),
        Column("operation", "i4", "code", "index into the profile's names"),
        Column("start_ns", "i8", "ns", "begin, on the recording host's clock"),
        Column("end_ns", "i8", "ns", "end, on the same clock"),
        Column("elements", "i8", "", "sent or received, the more of both; 0 unknown", False, 0),
    ),
)
PROFILE_STEPS = Schema(
    "profile_steps",
    (
        Column("number", "i8", "", "of the iteration, as the job counts"),
        Column("start_ns", "i8", "ns", "begin, on the recording host's clock"),
        Column("end_ns", "i8", "ns", "end, on the same clock"),
    ),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """What one rank did.

    Attributes:
        name: of the file.
        host: that recorded it, as far as the file says.
        rank: in the job, as the file says or its groups have in common; None unknown.
        gpu: as its process counts those that it sees; None: it used none.
        world_size: ranks of the job; None unknown.
        names: of activities, operations and threads.
        groups: the ranks of each process group, or its name where the file does not list them.
        activities: in order of their begin.
        collectives: in order of their begin.
        steps: iterations that were recorded as a whole.
        main_thread: the thread of the host that runs the training loop; -1 unknown.
        utc: whether its times count from 1970.
    """

    name: str
    host: str | None
    rank: int | None
    gpu: int | None
    world_size: int | None
    names: tuple[str, ...]
    groups: tuple[tuple[int, ...] | str, ...]
    activities: Frame
    collectives: Frame
    steps: Frame
    main_thread: int
    utc: bool


ProfileCause = Literal["clocks", "kernels", "compute", "copies", "loader", "python", "host", "network", "mixed"]


class ProfileTime(Document):
    """Median time of an iteration that is charged to one class."""

    what: str = Field(description="compute, copy, transfer, wait, host or idle")
    part: str = Field(description="kernel family, direction of copies or function; empty: all of it")
    seconds: float
    peers_seconds: float | None = Field(description="median of the ranks of the same role; null: there are too few")


class ProfiledRank(Document):
    """One profile, and where an iteration's time went."""

    file: str
    rank: int | None
    host: str | None
    endpoint: str | None = Field(
        default=None,
        description="by host and GPU of the inventory, or by when collectives of the timelines begin and end",
    )
    probability: float | None = Field(
        default=None, description="of the endpoint, by its collectives; null: they do not say it"
    )
    fitting: tuple[str, ...] = Field(
        default=(),
        description="where none is certain, endpoints that its collectives fit, likeliest first; four at most",
    )
    gpu: int | None = Field(default=None, description="index on its host, where the inventory has it")
    clock_offset_ns: int | None = Field(
        default=None, description="by which its clock is ahead of the first profile's; null: no group links them"
    )
    flows_ahead_ns: int | None = Field(
        default=None, description="by which the flows' clock is ahead of its clock; null: its collectives do not say it"
    )
    iterations: int
    iteration_s: float
    peers: int = Field(description="profiles of the same role that it is compared with")
    times: tuple[ProfileTime, ...]


class ProfileVerdict(Document):
    """What one rank, or one group's network, takes longer with than its peers."""

    cause: ProfileCause
    what: str = Field(description="kernel family, direction of copies, or function; empty where the cause says all")
    ranks: tuple[int | str, ...] = Field(description="the rank at fault, or the members of the slow group")
    factor: float | None = Field(description="its time for this / its peers'; null: they take none")
    excess_s: float = Field(description="by which an iteration's own time is longer than its peers'")
    share: float = Field(description="of the excess that the cause explains, 0 to 1")
    summary: str
    agreement: str = Field(default="", description="whether the report's findings say the same; empty: there is none")


class ProfileReport(Document):
    """What a folder of profiles shows."""

    ranks: tuple[ProfiledRank, ...]
    verdicts: tuple[ProfileVerdict, ...]
    problems: tuple[str, ...] = Field(description="files that could not be read or compared, one line each")
    summary: str


class IncidentProfiles(Document):
    """What profiles show of an incident, and when they were read."""

    read_ns: int
    report: ProfileReport

    @property
    def answer(self) -> ProfileAnswer:
        """The same in short."""
        report = self.report
        return ProfileAnswer(
            read_ns=self.read_ns, compared=len(report.ranks), verdicts=report.verdicts, summary=report.summary
        )


class ProfileAnswer(Document):
    """What profiles show of an incident, in short."""

    read_ns: int
    compared: int = Field(description="number of profiles")
    verdicts: tuple[ProfileVerdict, ...]
    summary: str
