"""What host metrics say of an incident: the cause, the one GPU, and the series that show it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datamodel.document import Document

HostCauseKind = Literal["thermal", "power", "pcie", "gpu_error", "nic_errors"]
NOTHING_UNUSUAL = "hosts export nothing unusual"


class HostEvidence(Document):
    """One series that differs from its peers and from its own past."""

    series: str = Field(description="the metric's name")
    meaning: str = Field(description="what it measures, in words")
    device: str = Field(description="index of the GPU, or the NIC's name")
    value: float = Field(description="since its onset")
    peers: float = Field(description="median of the same metric on other hosts in that time")
    past: float = Field(description="of the same series before its onset")
    unit: str
    onset_ns: int = Field(description="the last sample before the change, UTC")


class HostCause(Document):
    """One cause on one host."""

    kind: HostCauseKind | None = Field(description="null: the clock is low, and no series says why")
    host: str
    gpu: int | None = Field(description="index on its host, where one alone differs")
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[HostEvidence, ...]


class HostAnswer(Document):
    """What hosts answered about one incident."""

    asked_ns: int
    peers: int = Field(default=0, description="hosts that the suspects were compared with")
    cause: HostCause | None = Field(default=None, description="the one whose onset fits best; null: none")
    others: tuple[HostCause, ...] = ()
    problem: str = Field(default="", description="why nothing can be said; empty: the hosts answered")
    failed: bool = Field(default=False, description="Prometheus did not answer; it is asked again")
    summary: str = Field(description="all of it in one line")
