"""One scan kept: incidents carried on, everything written in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datamodel.reconstructed.patterns import StoredPatterns
from datamodel.reports.findings import Event
from datamodel.reports.path_plan import FollowedPlan
from datamodel.reports.report import Report
from datamodel.reports.scan import Scan
from datamodel.service.incidents import Incident, IncidentUpdate
from datamodel.service.result_rows import Baseline, Rollup, ScanRecord
from flowprism import __version__
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.outbox import Advise, alerts_of, no_advice
from flowprism.service.incidents.incident_lifecycle import IncidentOptions, after_scan
from storage.database.connection import Database
from storage.database.incidents.incident_records import incidents
from storage.database.scans.scan_records import ScanResult, save_scan

# How many incidents may be under way at once; more would be a fault of ours, or of the whole site.
MOST_INCIDENTS = 10_000
_NOBODY = AlertSettings()


@dataclass(frozen=True, slots=True)
class CompletedScan:
    """A scan that was made.

    Attributes:
        policy: what it is kept under.
        started_ns, finished_ns: when, UTC.
        report: its result; jobs are stored as it gives them.
        scan: the verdict.
        rollups, events: further results on its jobs.
        doubted: jobs that holes of the feed touch; their layouts are not kept.
        baselines: of its jobs, those that it began or measured.
        over: incidents that ended without a fix, by id, and why.
        paths: plans of its jobs' paths, by job.
        patterns: of its jobs' endpoints.
    """

    policy: str
    started_ns: int
    finished_ns: int
    report: Report
    scan: Scan
    rollups: Sequence[Rollup] = ()
    events: Sequence[Event] = ()
    doubted: frozenset[str] = frozenset()
    baselines: Sequence[Baseline] = ()
    over: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, FollowedPlan] = field(default_factory=dict)
    patterns: Sequence[StoredPatterns] = ()


def record(
    database: Database,
    made: CompletedScan,
    options: IncidentOptions,
    alerts: AlertSettings = _NOBODY,
    advise: Advise = no_advice,
) -> IncidentUpdate | None:
    """Keep a scan and what it does to incidents; None, and nothing is changed, where this window was kept before.

    Alerts of what changed are kept with it, with advice, so that none is lost whatever happens next; another process
    delivers them.
    The clock of incidents is the window's end, so that a past window scanned late gives what it would have given then.

    Raises:
        StorageError: the database cannot be reached, or is full.
    """
    now_ns = made.scan.window.end_ns
    # a job that holes have broken may be there under another name
    present = set[str]() if made.doubted else {job.id for job in made.report.jobs}
    known = _under_way(database, made.scan.window.start_ns, now_ns, options)
    after = after_scan(known, made.scan, now_ns, options, present, made.over)
    kept = ScanRecord(made.policy, made.started_ns, made.finished_ns, __version__, made.scan)
    alerts_now = alerts_of(after.incidents, after.changes, made.report.jobs, made.finished_ns, alerts, advise)
    result = ScanResult(
        kept,
        jobs=made.report.jobs,
        incidents=after.incidents,
        changes=after.changes,
        rollups=made.rollups,
        events=made.events,
        alerts=alerts_now,
        baselines=made.baselines,
        paths=made.paths,
        patterns=made.patterns,
        doubted=made.doubted,
    )
    return after if save_scan(database, result) else None


def record_hangs(
    database: Database, made: CompletedScan, options: IncidentOptions, alerts: AlertSettings = _NOBODY
) -> None:
    """Keep a look at a silent job, and carry its hangs over it: nothing else of the job was looked at.

    Raises:
        StorageError: the database cannot be reached, or is full.
    """
    now_ns = made.scan.window.end_ns
    names = {job.id for job in made.report.jobs}
    under_way = _under_way(database, made.scan.window.start_ns, now_ns, options)
    known = [one for one in under_way if one.kind == "hang" and one.job in names]
    after = after_scan(known, made.scan, now_ns, options, names)
    kept = ScanRecord(made.policy, made.started_ns, made.finished_ns, __version__, made.scan)
    alerts_now = alerts_of(after.incidents, after.changes, made.report.jobs, made.finished_ns, alerts)
    save_scan(database, ScanResult(kept, incidents=after.incidents, changes=after.changes, alerts=alerts_now))


def record_requested_scan(database: Database, made: CompletedScan) -> bool:
    """Store a requested scan: its verdict alone. Jobs and incidents are not changed by it.

    A window that was asked for may be of yesterday, or the one that the next scan of a policy counts.

    Raises:
        StorageError: the database cannot be reached, or is full.
    """
    kept = ScanRecord(made.policy, made.started_ns, made.finished_ns, __version__, made.scan)
    return save_scan(database, ScanResult(kept))


def _under_way(database: Database, start_ns: int, now_ns: int, options: IncidentOptions) -> list[Incident]:
    """Incidents that are not over, those resolved so recently that they may come back, and those the window holds."""
    recent_ns = min(start_ns, now_ns - round(options.reopen_within_s * 1e9))
    return [
        *incidents(database, ("suspected", "open"), most=MOST_INCIDENTS),
        *(
            incident
            for incident in incidents(database, ("resolved",), most=MOST_INCIDENTS)
            if incident.resolved_ns is not None and incident.resolved_ns >= recent_ns
        ),
    ]
