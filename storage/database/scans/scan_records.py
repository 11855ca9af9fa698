"""Scans and what they found: one transaction a scan; a repeated one is ignored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    case,
    delete,
    func,
    literal,
    select,
    update,
)

from datamodel.durations import HOUR_NS, MINUTE_NS
from datamodel.reconstructed.patterns import StoredPatterns
from datamodel.reports.findings import Event
from datamodel.reports.layout import FormerLayouts, Groups, Layout
from datamodel.reports.path_plan import FollowedPlan
from datamodel.reports.report import JobReport, Window
from datamodel.reports.scan import Scan
from datamodel.service.alerts import OutgoingAlert
from datamodel.service.incidents import Incident, IncidentChange
from datamodel.service.result_rows import Baseline, JobRecord, LayoutRecord, Rollup, ScanRecord
from storage.database.connection import Database, insert_new, upsert, upsert_selected
from storage.database.incidents.alerts import write_alerts
from storage.database.incidents.incident_records import incident_rows, write_changes
from storage.database.newest_rows import newest_rows
from storage.database.scans.baselines import write_baselines
from storage.database.scans.endpoint_patterns import write_patterns
from storage.database.scans.path_plans import write_path_plans
from storage.database.scans.summaries import summary_of
from storage.database.tables import ENDPOINT_PATTERNS, EVENTS, INCIDENTS, JOBS, LAYOUTS, ROLLUPS, SCANS

_SEVERITIES = (None, "info", "warning", "critical")
_NO_GROUPS = Groups().model_dump_json()
_ROLLUP = tuple(one.name for one in fields(Rollup))


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
        baselines: of its jobs, those that it began or measured.
        paths: plans of its jobs' paths, by job.
        patterns: of its jobs' endpoints.
        doubted: jobs whose layouts are not stored: in feed gaps they seem to lack members.
    """

    kept: ScanRecord
    jobs: Sequence[JobReport] = ()
    incidents: Sequence[Incident] = ()
    changes: Sequence[IncidentChange] = ()
    rollups: Sequence[Rollup] = ()
    events: Sequence[Event] = ()
    alerts: Sequence[OutgoingAlert] = ()
    baselines: Sequence[Baseline] = ()
    paths: Mapping[str, FollowedPlan] = field(default_factory=dict)
    patterns: Sequence[StoredPatterns] = ()
    doubted: frozenset[str] = frozenset()


def save_scan(database: Database, result: ScanResult) -> bool:
    """Keep what a scan left, all or nothing; whether it is new.

    A scan of the same policy and window that is kept already stays as it is, and nothing is changed. Rows are made
    before the transaction begins: it blocks other writers of SQLite, such as people's comments.
    """
    end_ns = result.kept.scan.window.end_ns
    scan, jobs = _scan_row(result.kept), [_job_row(report, end_ns) for report in result.jobs]
    incidents = incident_rows(result.incidents)
    rollups = [{name: getattr(one, name) for name in _ROLLUP} for one in result.rollups]
    with database.reading() as connection:
        trusted = [job for job in result.jobs if job.id not in result.doubted]
        layouts = _new_layouts(connection, trusted, end_ns)
    with database.writing() as connection:
        # Of two replicas that store the same scan, the later one waits here for the other, and is then refused.
        if not insert_new(connection, SCANS, scan):
            return False
        _write_jobs(connection, jobs, end_ns)
        upsert(connection, LAYOUTS, layouts)
        write_baselines(connection, result.baselines)
        upsert(connection, INCIDENTS, incidents)
        write_changes(connection, result.changes)
        upsert(connection, ROLLUPS, rollups)
        _sum_hours(connection, {one.start_ns for one in result.rollups if one.length_ns == MINUTE_NS}, end_ns)
        upsert(connection, EVENTS, [_event_row(event) for event in result.events])
        write_path_plans(connection, result.paths)
        write_patterns(connection, result.patterns)
        write_alerts(connection, result.alerts)
    return True


def _event_row(event: Event) -> dict[str, object]:
    change = event.change.model_dump_json() if event.change is not None else None
    return event.model_dump(exclude={"change"}) | {"change": change}


def scans(
    database: Database, policy: str | None = None, before_ns: int | None = None, most: int = 100
) -> list[ScanRecord]:
    """The newest scans, of one policy or all, that end before a time; newest first."""
    query = select(SCANS).order_by(SCANS.c.window_end_ns.desc(), SCANS.c.window_start_ns.desc(), SCANS.c.policy)
    if policy is not None:
        query = query.where(SCANS.c.policy == policy)
    if before_ns is not None:
        query = query.where(SCANS.c.window_end_ns < before_ns)
    with database.reading() as connection:
        return [read_scan(row) for row in connection.execute(query.limit(most))]


def scans_around(database: Database, time_ns: int, most: int = 100) -> list[ScanRecord]:
    """The scans of all policies whose windows hold a time, their ends included; those first that end first."""
    query = select(SCANS).where((SCANS.c.window_end_ns >= time_ns) & (SCANS.c.window_start_ns < time_ns))
    query = query.order_by(SCANS.c.window_end_ns, SCANS.c.window_start_ns, SCANS.c.policy)
    with database.reading() as connection:
        return [read_scan(row) for row in connection.execute(query.limit(most))]


def newest_end_ns(database: Database, policy: str) -> int | None:
    """End of the newest window of a policy that was scanned; None where there is none."""
    with database.reading() as connection:
        end_ns = connection.execute(select(func.max(SCANS.c.window_end_ns)).where(SCANS.c.policy == policy)).scalar()
    return None if end_ns is None else int(end_ns)


def jobs(
    database: Database, tenant: str | None = None, seen_since_ns: int = 0, after: str = "", most: int = 1000
) -> list[JobRecord]:
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


def job(database: Database, name: str) -> JobRecord | None:
    """The job of this id; None where there is none."""
    with database.reading() as connection:
        row = connection.execute(select(JOBS).where(JOBS.c.id == name)).first()
    return None if row is None else read_job(row)


def layouts(database: Database, name: str) -> list[LayoutRecord]:
    """The layouts that a job had, the newest first."""
    query = select(LAYOUTS).where(LAYOUTS.c.job == name).order_by(LAYOUTS.c.since_ns.desc())
    with database.reading() as connection:
        return [_layout(row) for row in connection.execute(query)]


def former_layouts(database: Database, window: Window) -> FormerLayouts:
    """The newest layout from before a window's end of each job that was there when the window began, or later.

    What the same endpoints ran long ago is another job's layout, though its name is the same.
    """
    newest = newest_rows(LAYOUTS, "since_ns", LAYOUTS.c.since_ns < window.end_ns)
    query = select(JOBS.c.endpoints, LAYOUTS.c.layout).join(LAYOUTS, LAYOUTS.c.job == JOBS.c.id).join(*newest)
    query = query.where(JOBS.c.last_seen_ns >= window.start_ns)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(LAYOUTS.c.since_ns, LAYOUTS.c.job)).all()
    return {frozenset(json.loads(row.endpoints)): Layout.model_validate_json(row.layout) for row in rows}


def newest_groups(database: Database, names: Iterable[str]) -> dict[str, Groups]:
    """The process groups of each of some jobs in its newest layout that names any, by job."""
    found: dict[str, Groups] = {}
    with database.reading() as connection:
        for name in names:
            query = select(LAYOUTS.c.groups).where((LAYOUTS.c.job == name) & (LAYOUTS.c.groups != _NO_GROUPS))
            text = connection.execute(query.order_by(LAYOUTS.c.since_ns.desc()).limit(1)).scalar()
            if text is not None:
                found[name] = Groups.model_validate_json(text)
    return found


def rollups(database: Database, name: str, length_ns: int, start_ns: int, end_ns: int) -> list[Rollup]:
    """A job's stretches of one length that begin in [start_ns, end_ns), in order of time."""
    span = ROLLUPS.c.start_ns.between(start_ns, end_ns - 1)
    query = select(ROLLUPS).where((ROLLUPS.c.job == name) & (ROLLUPS.c.length_ns == length_ns) & span)
    with database.reading() as connection:
        return [Rollup(**row._asdict()) for row in connection.execute(query.order_by(ROLLUPS.c.start_ns))]


def forget_scans(database: Database, before_ns: int) -> int:
    """Remove scans, rollups, events and patterns before a time, and jobs not seen since; how many rows went."""
    old = (
        delete(SCANS).where(SCANS.c.window_end_ns < before_ns),
        delete(ROLLUPS).where(ROLLUPS.c.start_ns + ROLLUPS.c.length_ns <= before_ns),
        delete(EVENTS).where(EVENTS.c.start_ns < before_ns),
        delete(ENDPOINT_PATTERNS).where(ENDPOINT_PATTERNS.c.end_ns <= before_ns),
        delete(JOBS).where(JOBS.c.last_seen_ns < before_ns),
    )
    with database.writing() as connection:
        return sum(connection.execute(statement).rowcount for statement in old)


def _sum_hours(connection: Connection, minutes: Iterable[int], until_ns: int) -> None:
    """Recompute the hours up to a time that contain some minutes, from all their stored minutes."""
    hours = {start_ns // HOUR_NS * HOUR_NS for start_ns in minutes}
    for hour_ns in sorted(hour for hour in hours if hour + HOUR_NS <= until_ns):
        upsert_selected(connection, ROLLUPS, _ROLLUP, _hour(hour_ns))


def _hour(hour_ns: int) -> Select[Any]:
    """Sums of an hour's minutes, one row a job."""
    of = ROLLUPS.c
    rank = func.max(case({name: n for n, name in enumerate(_SEVERITIES) if name}, value=of.worst_severity, else_=0))
    sums: dict[str, ColumnElement[Any]] = {
        "job": of.job,
        "start_ns": literal(hour_ns, BigInteger),
        "length_ns": literal(HOUR_NS, BigInteger),
        "iterations": func.sum(of.iterations),
        "iteration_ns": func.sum(of.iteration_ns),
        "shortest_ns": func.coalesce(func.min(case((of.iterations > 0, of.shortest_ns))), 0),
        "longest_ns": func.max(of.longest_ns),
        "bytes": func.sum(of.bytes),
        "worst_slowdown_ratio": func.max(of.worst_slowdown_ratio),
        "worst_severity": case({n: name for n, name in enumerate(_SEVERITIES) if name}, value=rank),
    }
    inside = of.start_ns.between(hour_ns, hour_ns + HOUR_NS - 1) & (of.length_ns == MINUTE_NS)
    return select(*(sums[name] for name in _ROLLUP)).where(inside).group_by(of.job)


def _write_jobs(connection: Connection, rows: list[dict[str, object]], seen_ns: int) -> None:
    """Jobs as this scan saw them. One of an older window changes nothing of what a newer one said but the beginning."""
    times = select(JOBS.c.id, JOBS.c.first_seen_ns, JOBS.c.last_seen_ns).where(
        JOBS.c.id.in_([row["id"] for row in rows])
    )
    known = {row.id: row for row in connection.execute(times)}
    newest = []
    for row in rows:
        before = known.get(row["id"])
        if before is None or before.last_seen_ns <= seen_ns:
            newest.append(row if before is None else {**row, "first_seen_ns": min(before.first_seen_ns, seen_ns)})
    upsert(connection, JOBS, newest)
    late = [name for name, before in known.items() if before.last_seen_ns > seen_ns and before.first_seen_ns > seen_ns]
    if late:
        connection.execute(update(JOBS).where(JOBS.c.id.in_(late)).values(first_seen_ns=seen_ns))


def _new_layouts(connection: Connection, reports: Sequence[JobReport], since_ns: int) -> list[dict[str, object]]:
    """A row for each layout that is not what it was; the row from before where only its confidence is another."""
    known = LAYOUTS.c.job.in_([report.id for report in reports]), LAYOUTS.c.since_ns <= since_ns
    newest = select(LAYOUTS).join(*newest_rows(LAYOUTS, "since_ns", *known))
    before = {row.job: _layout(row) for row in connection.execute(newest)}
    found = []
    for now in (LayoutRecord(report.id, since_ns, report.layout, report.groups) for report in reports):
        then = before.get(now.job)
        if then is not None and (then.layout.answer, then.groups) == (now.layout.answer, now.groups):
            now = replace(now, since_ns=then.since_ns)  # noqa: PLW2901 - the same layout, known better or worse
        if now != then:
            found.append(_layout_row(now))
    return found


def _job_row(report: JobReport, seen_ns: int) -> dict[str, object]:
    """Build the row of a new job."""
    return {
        "id": report.id,
        "label": report.label,
        "tenant": report.tenant,
        "first_seen_ns": seen_ns,
        "last_seen_ns": seen_ns,
        "world_size": report.world_size,
        "period_s": report.period_s,
        "endpoints": json.dumps(report.endpoints),
        "hosts": json.dumps(report.hosts),
        "smallest_slowdown_ratio": report.detectability.smallest_slowdown_ratio,
        "reasons": json.dumps(report.detectability.reasons),
    }


def read_job(row: Row[tuple[object, ...]]) -> JobRecord:
    """A job from a row of its table; further columns of the row are left alone."""
    lists = {name: tuple(json.loads(getattr(row, name))) for name in ("endpoints", "hosts", "reasons")}
    said = row._asdict()
    return JobRecord(**{column.name: said[column.name] for column in JOBS.c} | lists)


def _layout_row(one: LayoutRecord) -> dict[str, object]:
    layout, groups = one.layout.model_dump_json(), one.groups.model_dump_json()
    return {"job": one.job, "since_ns": one.since_ns, "layout": layout, "groups": groups}


def _layout(row: Row[tuple[object, ...]]) -> LayoutRecord:
    layout, groups = Layout.model_validate_json(row.layout), Groups.model_validate_json(row.groups)
    return LayoutRecord(row.job, row.since_ns, layout, groups)


def _scan_row(kept: ScanRecord) -> dict[str, object]:
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


def read_scan(row: Row[tuple[object, ...]]) -> ScanRecord:
    """A scan from a row of its table."""
    scan = Scan.model_validate_json(row.document)
    return ScanRecord(row.policy, row.started_ns, row.finished_ns, row.version, scan)
