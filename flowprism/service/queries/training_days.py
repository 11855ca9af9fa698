"""The account of a job's time, day by day, from what scans left."""

from __future__ import annotations

from datamodel.errors import LimitExceededError
from datamodel.filters import EventFilter
from datamodel.training_time import TrainingDays
from diagnose.training_time.account import training_time
from diagnose.training_time.intervals import job_intervals
from flowprism.service.queries.jobs import iteration_frame, summary
from flowprism.service.queries.reference_time import DAY_NS
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents import incidents
from storage.database.overview import events

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
    begin_ns, over_ns = max(start_ns, found.job.first_seen_ns - DAY_NS), min(end_ns, found.job.last_seen_ns)
    if over_ns - begin_ns > (MOST_DAYS + 1) * DAY_NS:
        raise LimitExceededError(f"the account of more than {MOST_DAYS} days: ask for a shorter time")
    frame = iteration_frame(stores, name, begin_ns, over_ns + 1) if over_ns > begin_ns else None
    if frame is None or not len(frame):
        return TrainingDays(job=name)
    steps = list(zip(frame["start_ns"].tolist(), frame["end_ns"].tolist(), strict=True))
    begin_ns = max(begin_ns, min(steps[0][0], found.job.first_seen_ns))
    wanted = EventFilter(start_ns=begin_ns, end_ns=over_ns, job=name)
    slowed = [one.as_finding(over_ns) for one in incidents(stores.database, ("open", "resolved"), name)]
    happened = events(stores.database, wanted, None, most=_MOST_EVENTS)
    known = job_intervals(steps, happened, slowed, (), over_ns)
    days = range(begin_ns // DAY_NS * DAY_NS, over_ns, DAY_NS)
    return TrainingDays(
        job=name,
        items=tuple(
            training_time(known, max(day, begin_ns), min(day + DAY_NS, over_ns), found.job.world_size) for day in days
        ),
    )
