"""What to do about a slow host: whether evicting it is worth it, when, with which standby, and the commands for it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datamodel.document import Document

EvictionTime = Literal["now", "next_checkpoint", "never"]
DowntimeSource = Literal["job", "cluster", "published"]
Orchestrator = Literal["slurm", "kubernetes", "volcano", "kueue"]


class EvictionPlan(Document):
    """Commands for one orchestrator; flowprism runs none of them."""

    orchestrator: Orchestrator
    apply: tuple[str, ...] = Field(description="one command each, in order")
    undo: tuple[str, ...] = Field(description="what takes them back, in order")


class EvictionAdvice(Document):
    """Advice on one incident."""

    host: str = Field(description="the slow one")
    when: EvictionTime
    cost_s: float = Field(description="downtime, and what is done again or what waiting for the checkpoint costs")
    down_s: float = Field(description="downtime that is expected")
    down_source: DowntimeSource = Field(
        description="past changes of the job, of other jobs, or published figures (arXiv:2412.12636)"
    )
    lost_s: float = Field(description="of it, least of lost progress and waiting for the next checkpoint")
    break_even_s: float = Field(description="worth it if the job, as slow as it is, runs for longer than this")
    ends_in_s: float | None = Field(
        default=None, description="time until the job's planned end, by the inventory; null where that is not known"
    )
    standby: str | None = Field(default=None, description="host that can take its place; null where none is known")
    plans: tuple[EvictionPlan, ...] = ()
