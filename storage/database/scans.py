"""Scans and what they found: one transaction a scan, which counts once however often it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Row, delete, func, select

from datamodel.alerts import OutgoingAlert
from datamodel.findings import Event
from datamodel.incidents import Incident, IncidentChange
from datamodel.layout import Groups, Layout
from datamodel.report import JobReport
from datamodel.results import KeptScan, KnownJob, KnownLayout, Rollup
from datamodel.scan import Scan
from storage.database.alerts import write_alerts
from storage.database.engine import Database, insert_new, upsert
from storage.database.incidents import write_changes, write_incidents
from storage.database.summaries import summary_of
from storage.database.tables import EVENTS, JOBS, LAYOUTS, ROLLUPS, SCANS

_MINUTE_NS, _HOUR_NS = 60_000_000_000, 3_600_000_000_000
_SEVERITIES = (None, "info", "warning", "critical")


@dataclass(frozen=True, slots=True)
class ScanResult:
    """All that one scan leaves.

    Attributes:
        kept: the scan itself.
        jobs: as it saw them.
        incidents: all that are not long over, after the scan.
        changes: of incidents, by this scan.
        rollups: of stretches of time that its window covers wholly.
        events: that happened to its jobs.
        alerts: of what it changed.
    """

    kept: KeptScan
    jobs: Sequence[JobReport] = ()
    incidents: Sequence[Incident] = ()
    changes: Sequence[IncidentChange] = ()
    rollups: Sequence[Rollup] = ()
    events: Sequence[Event] = ()
    alerts: Sequence[OutgoingAlert] = ()


def save_scan(database: Database, result: ScanResult) -> bool:
    """Keep what a scan left, all or nothing; whether it is new.

    A scan of the same policy and window that is kept already stays as it is, and nothing is changed.
    """
    window = result.kept.scan.window
    with database.writing() as connection:
        # Of two replicas that tell of the same scan, the later one waits here for the other, and is then refused.
        if not insert_new(connection, SCANS, _scan_row(result.kept)):
            return False
        _write_jobs(connection, result.jobs, window.end_ns)
        write_incidents(connection, result.incidents)
        write_changes(connection, result.changes)
        upsert(connection, ROLLUPS, [asdict(rollup) for rollup in result.rollups])
        upsert(connection, ROLLUPS, [asdict(hour) for hour in _hours(connection, result.rollups, window.end_ns)])
        upsert(connection, EVENTS, [event.model_dump() for event in result.events])
        write_alerts(connection, result.alerts)
    return True


def scans(
    database: Database, policy: str | None = None, before_ns: int | None = None, most: int = 100
) -> list[KeptScan]:
    """The newest scans, of one policy or all, that end before a time; newest first."""
    query = select(SCANS).order_by(SCANS.c.window_end_ns.desc(), SCANS.c.window_start_ns.desc(), SCANS.c.policy)
    if policy is not None:
        query = query.where(SCANS.c.policy == policy)
    if before_ns is not None:
        query = query.where(SCANS.c.window_end_ns < before_ns)
    with database.reading() as connection:
        return [read_scan(row) for row in connection.execute(query.limit(most))]


def newest_end_ns(database: Database, policy: str) -> int | None:
    """End of the newest window of a policy that was scanned; None where there is none."""
    with database.reading() as connection:
        end_ns = connection.execute(select(func.max(SCANS.c.window_end_ns)).where(SCANS.c.policy == policy)).scalar()
    return None if end_ns is None else int(end_ns)


def jobs(
    database: Database, tenant: str | None = None, seen_since_ns: int = 0, after: str = "", most: int = 1000
) -> list[KnownJob]:
    """Jobs by id, beginning behind the id `after`: those of one tenant, or of all and of none.

    Args:
        database: the results.
        tenant: whose jobs; None for all.
        seen_since_ns: only those that a window behind this time showed.
        after: the last id of the page before.
        most: how many.
    """
    query = select(JOBS).where((JOBS.c.id > after) & (JOBS.c.last_seen_ns >= seen_since_ns)).order_by(JOBS.c.id)
    if tenant is not None:
        query = query.where(JOBS.c.tenant == tenant)
    with database.reading() as connection:
        return [read_job(row) for row in connection.execute(query.limit(most))]


def job(database: Database, name: str) -> KnownJob | None:
    """The job of this id; None where there is none."""
    with database.reading() as connection:
        row = connection.execute(select(JOBS).where(JOBS.c.id == name)).first()
    return None if row is None else read_job(row)


def layouts(database: Database, name: str) -> list[KnownLayout]:
    """The layouts that a job had, the newest first."""
    query = select(LAYOUTS).where(LAYOUTS.c.job == name).order_by(LAYOUTS.c.since_ns.desc())
    with database.reading() as connection:
        return [_layout(row) for row in connection.execute(query)]


def rollups(database: Database, name: str, length_ns: int, start_ns: int, end_ns: int) -> list[Rollup]:
    """A job's stretches of one length that begin in [start_ns, end_ns), in order of time."""
    span = ROLLUPS.c.start_ns.between(start_ns, end_ns - 1)
    query = select(ROLLUPS).where((ROLLUPS.c.job == name) & (ROLLUPS.c.length_ns == length_ns) & span)
    with database.reading() as connection:
        return [Rollup(**row._asdict()) for row in connection.execute(query.order_by(ROLLUPS.c.start_ns))]


def forget_scans(database: Database, before_ns: int) -> int:
    """Remove scans, rollups and events of the time before `before_ns`, and jobs not seen since; how many rows went."""
    old = (
        delete(SCANS).where(SCANS.c.window_end_ns < before_ns),
        delete(ROLLUPS).where(ROLLUPS.c.start_ns + ROLLUPS.c.length_ns <= before_ns),
        delete(EVENTS).where(EVENTS.c.start_ns < before_ns),
        delete(JOBS).where(JOBS.c.last_seen_ns < before_ns),
    )
    with database.writing() as connection:
        return sum(connection.execute(statement).rowcount for statement in old)


def _hours(connection: Connection, minutes: Sequence[Rollup], until_ns: int) -> list[Rollup]:
    """The hours that end by a time and that some of these minutes lie in, out of all their minutes that are kept."""
    of = {(one.job, one.start_ns // _HOUR_NS * _HOUR_NS) for one in minutes if one.length_ns == _MINUTE_NS}
    starts = {start_ns for _, start_ns in of if start_ns + _HOUR_NS <= until_ns}
    found: list[Rollup] = []
    for start_ns in sorted(starts):
        span = ROLLUPS.c.start_ns.between(start_ns, start_ns + _HOUR_NS - 1) & (ROLLUPS.c.length_ns == _MINUTE_NS)
        by_job: dict[str, list[Rollup]] = {}
        for row in connection.execute(select(ROLLUPS).where(span)):
            by_job.setdefault(row.job, []).append(Rollup(**row._asdict()))
        found += [_hour(name, start_ns, own) for name, own in by_job.items() if (name, start_ns) in of]
    return found


def _hour(name: str, start_ns: int, minutes: Sequence[Rollup]) -> Rollup:
    return Rollup(
        job=name,
        start_ns=start_ns,
        length_ns=_HOUR_NS,
        iterations=sum(one.iterations for one in minutes),
        iteration_ns=sum(one.iteration_ns for one in minutes),
        shortest_ns=min((one.shortest_ns for one in minutes if one.iterations), default=0),
        longest_ns=max(one.longest_ns for one in minutes),
        bytes=sum(one.bytes for one in minutes),
        worst_slowdown_ratio=max(one.worst_slowdown_ratio for one in minutes),
        worst_severity=max((one.worst_severity for one in minutes), key=_SEVERITIES.index),
    )


def _write_jobs(connection: Connection, reports: Sequence[JobReport], seen_ns: int) -> None:
    """Jobs as this scan saw them. One of an older window changes nothing of what a newer one said."""
    names = [report.id for report in reports]
    known = {row.id: row for row in connection.execute(select(JOBS).where(JOBS.c.id.in_(names)))}
    rows = []
    for report in reports:
        before = known.get(report.id)
        if before is None or before.last_seen_ns <= seen_ns:
            rows.append(_job_row(report, min(before.first_seen_ns, seen_ns) if before else seen_ns, seen_ns))
        else:
            rows.append({**before._asdict(), "first_seen_ns": min(before.first_seen_ns, seen_ns)})
    upsert(connection, JOBS, rows)
    _write_layouts(connection, reports, seen_ns)


def _write_layouts(connection: Connection, reports: Sequence[JobReport], since_ns: int) -> None:
    """A row for each layout that is not what it was."""
    newest = select(LAYOUTS.c.job, func.max(LAYOUTS.c.since_ns).label("since_ns"))
    newest = newest.where(LAYOUTS.c.job.in_([report.id for report in reports]) & (LAYOUTS.c.since_ns <= since_ns))
    of_job = newest.group_by(LAYOUTS.c.job).subquery()
    same = (LAYOUTS.c.job == of_job.c.job) & (LAYOUTS.c.since_ns == of_job.c.since_ns)
    before = {row.job: (row.layout, row.groups) for row in connection.execute(select(LAYOUTS).join(of_job, same))}
    now = {report.id: (report.layout.model_dump_json(), report.groups.model_dump_json()) for report in reports}
    rows = [
        {"job": name, "since_ns": since_ns, "layout": layout, "groups": groups}
        for name, (layout, groups) in now.items()
        if before.get(name) != (layout, groups)
    ]
    upsert(connection, LAYOUTS, rows)


def _job_row(report: JobReport, first_ns: int, last_ns: int) -> dict[str, object]:
    return {
        "id": report.id,
        "label": report.label,
        "tenant": report.tenant,
        "first_seen_ns": first_ns,
        "last_seen_ns": last_ns,
        "world_size": report.world_size,
        "period_s": report.period_s,
        "endpoints": json.dumps(report.endpoints),
        "hosts": json.dumps(report.hosts),
        "smallest_slowdown_ratio": report.detectability.smallest_slowdown_ratio,
        "reasons": json.dumps(report.detectability.reasons),
    }


def read_job(row: Row[tuple[object, ...]]) -> KnownJob:
    """A job from a row of its table; further columns of the row are left alone."""
    lists = {name: tuple(json.loads(getattr(row, name))) for name in ("endpoints", "hosts", "reasons")}
    said = row._asdict()
    return KnownJob(**{column.name: said[column.name] for column in JOBS.c} | lists)


def _layout(row: Row[tuple[object, ...]]) -> KnownLayout:
    layout, groups = Layout.model_validate_json(row.layout), Groups.model_validate_json(row.groups)
    return KnownLayout(row.job, row.since_ns, layout, groups)


def _scan_row(kept: KeptScan) -> dict[str, object]:
    document = kept.scan.model_dump_json(by_alias=True)
    return {
        "policy": kept.policy,
        "window_start_ns": kept.scan.window.start_ns,
        "window_end_ns": kept.scan.window.end_ns,
        "started_ns": kept.started_ns,
        "finished_ns": kept.finished_ns,
        "version": kept.version,
        "verdict": kept.scan.verdict,
        "document": document,
        "summary": summary_of(document),
    }


def read_scan(row: Row[tuple[object, ...]]) -> KeptScan:
    """A scan from a row of its table."""
    scan = Scan.model_validate_json(row.document)
    return KeptScan(row.policy, row.started_ns, row.finished_ns, row.version, scan)
