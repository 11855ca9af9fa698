"""How many jobs are in which state, what is open, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from datamodel.service.filters import JobFilter
from datamodel.service.job_state import JobState
from flowprism.service.queries.jobs.fleet_time import lost_since_midnight
from flowprism.service.queries.jobs.job_states import job_states, situation
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.jobs.job_counts import open_incidents


@dataclass(frozen=True, slots=True)
class Census:
    """All jobs that have not ended.

    Attributes:
        states: how many are in each state; a state that none is in is left out.
        gpus: of them together, as far as known.
        critical: of those that are slow or hang, how many have a critical incident.
        incidents: open now, those of ended jobs and of no job included.
        gpu_hours_lost: since midnight UTC; None where the lake cannot be read.
        stale_since_ns: end of what is known of any job, UTC, where that is too old to say anything of now; else None.
    """

    states: Mapping[JobState, int] = field(default_factory=dict)
    gpus: int = 0
    critical: int = 0
    incidents: int = 0
    gpu_hours_lost: float | None = 0.0
    stale_since_ns: int | None = None

    @property
    def jobs(self) -> int:
        """How many there are."""
        return sum(self.states.values())

    def of(self, *states: JobState) -> int:
        """How many are in any of these states."""
        return sum(self.states.get(state, 0) for state in states)


def census(stores: Stores, viewer: Viewer, now_ns: int) -> Census:
    """Jobs by state, open incidents, and GPU-hours lost since midnight UTC.

    Args:
        stores: where answers are read from.
        viewer: the caller; a viewer of one tenant sees its jobs.
        now_ns: the clock, UTC.

    Raises:
        StorageError: the database cannot be reached.
    """
    lost = lost_since_midnight(stores, viewer, now_ns)
    with stores.database.reading():
        at = situation(stores, now_ns)
        judged = job_states(stores, at, JobFilter(tenant=viewer.tenant), with_ended=False)
        return Census(
            states=Counter(one.judgement.state for one in judged),
            gpus=sum(one.mark.world_size or 0 for one in judged),
            critical=sum(
                one.judgement.state in {"slow", "hanging"} and one.mark.severity == "critical" for one in judged
            ),
            incidents=open_incidents(stores.database, viewer.tenant),
            gpu_hours_lost=None if lost is None else sum(hours or 0.0 for hours in lost.values()),
            stale_since_ns=at.stale_since_ns,
        )
