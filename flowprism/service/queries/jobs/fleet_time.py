"""What the GPU-hours of all jobs went to over days and weeks, from what scans left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import structlog

from datamodel.durations import DAY_NS
from datamodel.errors import FlowprismError, StorageError
from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Event, EventKind, Finding
from datamodel.reports.fleet_time import FleetTime
from datamodel.reports.report import Window
from datamodel.service.filters import EventFilter
from datamodel.service.result_rows import JobRecord
from diagnose.eviction.advice import slow_host
from diagnose.training_time.account import training_time
from diagnose.training_time.fleet import AccountPiece, JobAccount, fleet_time, lost
from diagnose.training_time.intervals import PAUSES, job_intervals, loses_progress, merged
from diagnose.training_time.membership_times import membership_times
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.jobs.accounted_time import LOOKBACK_NS, lifetime, step_times
from flowprism.service.queries.lake import kept
from flowprism.service.queries.reference_time import newest_ns
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.incident_records import incidents
from storage.database.jobs.overview import events
from storage.database.scans.scan_records import jobs
from storage.lake.selection import Selection

_LOG = structlog.get_logger(__name__)
USUAL_DAYS = 7
_MOST = 1_000_000
_KINDS: tuple[EventKind, ...] = ("restart", "membership_change", *PAUSES)
_NO_STEPS: Int = np.zeros((0, 2), np.int64)


def fleet_training_time(stores: Stores, viewer: Viewer, now_ns: int, days: int = USUAL_DAYS) -> FleetTime:
    """Sum up the accounts of all jobs that the viewer sees, over the newest so many days, UTC, today among them.

    It is computed once a scan.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    return _fleet_time(stores, viewer.tenant, now_ns, days)


def lost_since_midnight(stores: Stores, viewer: Viewer, now_ns: int) -> Mapping[str, float | None] | None:
    """GPU-hours that jobs lost since the clock's midnight, UTC, by the accounts of today; None: unreadable.

    None of a job whose number of GPUs is unknown; a job that was not seen since then is left out. What a page, the API
    or a metric says was lost is this, so that it is what `fleet_training_time` of one day says. Accounts read the
    iterations of all jobs, so they are made once for the viewers of all tenants.
    """
    try:
        today = _fleet_time(stores, None, now_ns, 1)
    except StorageError as error:  # all else that is known of jobs stands in the database
        _LOG.warning("lost GPU-hours cannot be read", cause=str(error))
        return None
    if today.window.start_ns != now_ns // DAY_NS * DAY_NS:
        return {}
    own = (one for one in today.jobs if viewer.tenant in {None, one.tenant})
    return {one.job: None if one.spent is None else lost(one.spent) for one in own}


def _fleet_time(stores: Stores, tenant: str | None, now_ns: int, days: int) -> FleetTime:
    end_ns = newest_ns(stores.database, now_ns)
    window = Window(start_ns=max((end_ns // DAY_NS - days + 1) * DAY_NS, 0), end_ns=end_ns)
    try:
        known = in_force(stores)
    except FlowprismError:  # a file that cannot be used now: nothing is known of hosts
        known = None
    names = {} if known is None else known.host_names()

    def answer() -> FleetTime:
        return fleet_time(window, _accounts(stores, tenant, window, names), names)

    return stores.at_hand.once("fleet time", (tenant, window, known), answer)


def _accounts(stores: Stores, tenant: str | None, window: Window, host_of: Mapping[str, str]) -> Iterator[JobAccount]:
    """The account of each job that was seen in the window, in pieces of a day and of unchanged membership."""
    read_ns = window.start_ns - LOOKBACK_NS
    wanted = EventFilter(kinds=_KINDS, start_ns=max(read_ns, 0), end_ns=window.end_ns)
    happened, slowed = defaultdict[str, list[Event]](list), defaultdict[str, list[Finding]](list)
    for event in events(stores.database, wanted, tenant, most=_MOST):
        happened[event.job].append(event)
    past = incidents(stores.database, ("open", "resolved"), tenant=tenant, seen_since_ns=window.start_ns, most=_MOST)
    for one in past:
        if one.job is not None:
            slowed[one.job] += one.stretches(window.end_ns)
    whole = frozenset(job for job, own in happened.items() if any(map(loses_progress, own)))
    steps = _steps(stores, max(read_ns, 0), window.end_ns, whole)
    for job in jobs(stores.database, tenant, window.start_ns, most=_MOST):
        yield _account(job, steps.get(job.id, _NO_STEPS), happened[job.id], slowed[job.id], window, host_of)


def _account(
    job: JobRecord,
    steps: Int,
    happened: Sequence[Event],
    slowed: Sequence[Finding],
    window: Window,
    host_of: Mapping[str, str],
) -> JobAccount:
    begin_ns, over_ns = lifetime(job, steps, window.start_ns, window.end_ns)
    known = job_intervals(steps, happened, slowed, over_ns, lambda finding: finding.id)
    pieces = [
        AccountPiece(day_ns, training_time(known, start_ns, end_ns), members)
        for since_ns, until_ns, members in membership_times(job.endpoints, happened, begin_ns, over_ns)
        for day_ns in range(since_ns // DAY_NS * DAY_NS, until_ns, DAY_NS)
        if (start_ns := max(day_ns, since_ns)) < (end_ns := min(day_ns + DAY_NS, until_ns))
    ]
    per_endpoint = None if job.world_size is None else job.world_size / max(len(job.endpoints), 1)
    faults = {finding.id: (finding.kind, slow_host(finding, host_of)) for finding in slowed}
    return JobAccount(job, pieces, per_endpoint, faults)


def _steps(stores: Stores, start_ns: int, end_ns: int, whole: frozenset[str]) -> dict[str, Int]:
    """Job -> (times, 2) start and end of its iterations; of all but those of `whole`, put together where they meet.

    Read day by day, because a month of a large site does not fit into memory.
    """
    found = defaultdict[str, list[Int]](list)
    for day_ns in range(start_ns // DAY_NS * DAY_NS, end_ns, DAY_NS):
        selection = Selection(start_ns=day_ns, end_ns=day_ns + DAY_NS, columns=("job", "start_ns", "end_ns"))
        frame, book = kept(stores, "iterations", selection)
        mine = (frame["end_ns"] >= max(day_ns, start_ns)) & (frame["end_ns"] < min(day_ns + DAY_NS, end_ns + 1))
        frame = frame.take(mine).sort("job")
        times, codes = step_times(frame), frame["job"]
        for own in np.split(np.arange(len(frame)), np.flatnonzero(np.diff(codes)) + 1):
            if len(own):
                name, rows = book[int(codes[own[0]])], times[own]
                found[name].append(rows if name in whole else np.array(merged(rows), np.int64))
    return {name: np.concatenate(parts) for name, parts in found.items()}
