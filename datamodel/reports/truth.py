"""What was really so in a simulated or recorded case, `flowprism.truth/v1`: what scorers compare a report with."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from datamodel.document import Document


class AcceptedSubject(Document):
    """A subject that names a fault rightly: these ids, any ("*"), or with `within` any non-empty part of them."""

    type: str
    ids: tuple[str, ...] | Literal["*"]
    within: bool = False


class TrueChange(Document):
    """A change of a job's members, or of all of its connections, between two of its iterations."""

    kind: Literal["live_migration", "restart", "elastic"]
    leavers: tuple[str, ...] = ()
    joiners: tuple[str, ...] = ()
    replaces: dict[str, str] = Field(default={}, description="endpoint that joined -> the one that had its place")
    stages: dict[str, int] = Field(default={}, description="pipeline stage of all who left or joined")
    start_ns: int = Field(description="end of the last complete iteration before")
    end_ns: int = Field(description="start of the first complete iteration after")
    state_bytes: int = Field(default=0, description="sent over the fabric to all who joined")
    repeated: int = Field(default=0, description="iterations after it that were done before: since the last checkpoint")


class TrueJob(Document):
    """One job as it was run. `layout` and `groups` hold what is known of it and decided by its traffic.

    `not_asked` are sizes that the same traffic leaves open: no answer to them is wrong, but theirs must be among the
    alternatives. Further fields are kept and not read.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str
    endpoints: tuple[str, ...]
    layout: dict[str, int]
    not_asked: dict[str, int] = {}
    groups: dict[str, tuple[tuple[str, ...], ...]]
    iterations: tuple[tuple[int, int], ...] = ()
    changes: tuple[TrueChange, ...] = ()


class TrueFault(Document):
    """What was injected, and how it may be named. Further fields are kept and not read."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kinds: tuple[str, ...]
    accept: tuple[AcceptedSubject, ...]
    job: str
    start_ns: int | None = None
    iteration: int | None = None
    iteration_ns: int | None = None
    periods: int = 1
    what: str = ""
    optional: bool = False


class Truth(Document):
    """A case's truth. Further fields (author and method of the case) are kept and not read."""

    model_config = ConfigDict(extra="allow", frozen=True)

    schema_: Literal["flowprism.truth/v1"] = Field(default="flowprism.truth/v1", alias="schema")
    jobs: tuple[TrueJob, ...]
    faults: tuple[TrueFault, ...] = ()
