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


class Fault(Document):
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
    faults: tuple[Fault, ...] = ()
