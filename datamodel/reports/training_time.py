"""Where a job's time went: `TrainingTime`, the account of a stretch of its life."""

from __future__ import annotations

from pydantic import Field

from datamodel.document import Document

# What time goes to, in the order in which it is shown; the fields of accounts are named after these, and they add up.
TIME_USES = ("productive", "slowed", "paused", "down", "unknown")


class TrainingTime(Document):
    """Every nanosecond from `start_ns` to `end_ns` is in exactly one of the first five."""

    start_ns: int
    end_ns: int
    productive_ns: int = Field(description="iterations at the pace that they should have")
    slowed_ns: int = Field(description="by which findings made iterations longer")
    paused_ns: int = Field(description="checkpoints, evaluations, loading, and other pauses between iterations")
    down_ns: int = Field(
        description="between the last complete iteration before a restart or change and the first after"
    )
    unknown_ns: int = Field(description="not seen: holes of the feed, and time in which no iteration is known")
    repeated_ns: tuple[int, int] = Field(
        default=(0, 0),
        description="least and most of the productive time that did again what a crash had lost: since the last "
        "checkpoint seen",
    )
    slowed_by_ns: dict[str, int] = Field(default={}, description="slowed time by kind of finding")
    paused_by_ns: dict[str, int] = Field(default={}, description="paused time by kind of event")
    down_by_ns: dict[str, int] = Field(default={}, description="down time by kind of change")
    effective_ratio: tuple[float, float] | None = Field(
        default=None,
        description="least and most of the effective-training-time ratio: productive and not repeated time by the "
        "length; the most counts unknown time as productive, the least as lost",
    )
    lost_gpu_hours: dict[str, float] | None = Field(
        default=None, description="by cause, repeated time at its most; null where the number of GPUs is not known"
    )


class TrainingDays(Document):
    """The accounts of a job's days, UTC, in order of time."""

    job: str
    items: tuple[TrainingTime, ...] = ()
