"""Where the time of all GPUs went: sums of the jobs' accounts by day, job and host."""

from __future__ import annotations

from pydantic import Field

from datamodel.document import Document
from datamodel.reports.report import Window


class GpuHours(Document):
    """GPU-hours by what they went to; the five add up to `total`. See `TrainingTime` for what each means."""

    total: float = 0.0
    productive: float = 0.0
    slowed: float = 0.0
    paused: float = 0.0
    down: float = 0.0
    unknown: float = Field(default=0.0, description="not seen; neither productive nor lost")
    repeated: float = Field(default=0.0, description="most of the productive ones that did again what a crash had lost")
    lost_by: dict[str, float] = Field(
        default={}, description="slowed, paused, down and repeated by cause, repeated at its most"
    )
    effective_ratio: tuple[float, float] | None = Field(
        default=None,
        description="least and most of the effective-training-time ratio; the most counts unknown time as productive",
    )


class FleetDay(Document):
    """All jobs on one day, UTC."""

    start_ns: int
    spent: GpuHours


class FleetJob(Document):
    """One job over the whole time."""

    job: str
    label: str | None
    tenant: str | None
    world_size: int | None
    spent: GpuHours | None = Field(description="null where the number of GPUs is not known")


class FleetHost(Document):
    """One host in all jobs that it was in."""

    host: str
    jobs: int = Field(description="that it was in")
    spent: GpuHours = Field(description="of its GPUs while they were in these jobs")
    caused: float = Field(description="GPU-hours that jobs lost to slowdowns with this host at fault")


class FleetTime(Document):
    """What the GPU-hours of all jobs that a user sees went to."""

    window: Window
    of: int = Field(default=0, description="jobs that were seen in this time")
    without_size: int = Field(
        default=0, description="of these, how many are in no sum: their number of GPUs is not known"
    )
    spent: GpuHours = GpuHours()
    days: tuple[FleetDay, ...] = Field(default=(), description="in order of time; days without a job are left out")
    jobs: tuple[FleetJob, ...] = Field(default=(), description="those that lost most first")
    hosts: tuple[FleetHost, ...] = Field(
        default=(), description="those that caused most first, then those that lost most"
    )
