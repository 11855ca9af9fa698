"""The account of a job's time, day by day, from what scans left."""

from __future__ import annotations

from datamodel.durations import DAY_NS
from datamodel.errors import LimitExceededError
from datamodel.reports.training_time import TrainingDays
from datamodel.service.filters import EventFilter
from diagnose.training_time.account import training_time
from diagnose.training_time.intervals import job_intervals
from flowprism.service.queries.jobs.accounted_time import LOOKBACK_NS, lifetime, step_times
from flowprism.service.queries.jobs.job_queries import iteration_frame, summary
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.incident_records import incidents
from storage.database.jobs.overview import events

MOST_DAYS = 31
_MOST_EVENTS = 10_000


def training_days(stores: Stores, viewer: Viewer, name: str, start_ns: int, end_ns: int) -> TrainingDays | None:
    """A job's account of each day, UTC, of its life in [start_ns, end_ns); None where the viewer sees no such job.

    Time in which no iteration is known, because the feed had a hole or no scan looked, is unknown.

    Raises:
        StorageError: the database or the lake cannot be reached.
        LimitExceededError: it is more than a month.
    """
    found = summary(stores, viewer, name)
    if found is None:
        return None
    # a job is first seen at the end of the window that shows its first iterations
    read_ns = max(start_ns, found.job.first_seen_ns) - LOOKBACK_NS
    until_ns = min(end_ns, found.job.last_seen_ns)
    if until_ns - read_ns > (MOST_DAYS + 1) * DAY_NS:
        raise LimitExceededError(f"the account of more than {MOST_DAYS} days: ask for a shorter time")
    if until_ns <= max(start_ns, read_ns):
        return TrainingDays(job=name)
    steps = step_times(iteration_frame(stores, name, read_ns, until_ns + 1))
    begin_ns, over_ns = lifetime(found.job, steps, start_ns, end_ns)
    past = incidents(stores.database, ("open", "resolved"), name)
    slowed = [finding for one in past for finding in one.stretches(over_ns)]
    wanted = EventFilter(start_ns=read_ns, end_ns=over_ns, job=name)
    happened = events(stores.database, wanted, None, most=_MOST_EVENTS)
    known = job_intervals(steps, happened, slowed, over_ns)
    days = range(begin_ns // DAY_NS * DAY_NS, over_ns, DAY_NS)
    return TrainingDays(
        job=name,
        items=tuple(
            training_time(known, max(day, begin_ns), min(day + DAY_NS, over_ns), found.job.world_size) for day in days
        ),
    )
