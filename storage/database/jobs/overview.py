"""Many jobs at a glance: pages of them with their open incidents, newest layouts and stretches of time."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, Subquery, Text, and_, case, cast, func, or_, select

from datamodel.reports.findings import Event, Membership, Severity
from datamodel.reports.layout import Layout
from datamodel.service.filters import EventFilter, JobFilter
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import REQUESTED, WATCH, JobRecord
from storage.database.connection import Database
from storage.database.newest_rows import newest_rows
from storage.database.scans.scan_records import read_job
from storage.database.tables import EVENTS, INCIDENTS, JOBS, LAYOUTS, ROLLUPS, SCANS

RANKS: dict[Severity, int] = {"info": 1, "warning": 2, "critical": 3}
Query = Select[tuple[object, ...]]
_MOST_NAMES = 500  # in one question; more would exceed what some servers take


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job with its open incidents: how many, and the worst severity of them."""

    job: JobRecord
    incidents: int
    severity: Severity | None


class Stretch(NamedTuple):
    """One stretch of time of a job: what of `datamodel.service.result_rows.Rollup` a glance needs."""

    start_ns: int
    length_ns: int
    iterations: int
    iteration_ns: int
    severity: Severity | None


def of_policies() -> ColumnElement[bool]:
    """Select scans of a policy: neither requested ones nor those of a silent job alone."""
    return SCANS.c.policy.not_like(f"{REQUESTED}%") & (SCANS.c.policy != WATCH)


def newest_window(database: Database) -> tuple[int, int] | None:
    """The window that ends last of those that policies scanned, UTC; None before the first scan."""
    query = select(SCANS.c.window_start_ns, SCANS.c.window_end_ns).where(of_policies())
    query = query.order_by(SCANS.c.window_end_ns.desc(), SCANS.c.window_start_ns.desc()).limit(1)
    with database.reading() as connection:
        row = connection.execute(query).first()
    return None if row is None else (row.window_start_ns, row.window_end_ns)


@dataclass(frozen=True, slots=True)
class JobMark:
    """What the state of a job follows from, and its place in lists.

    Attributes:
        id: of the job.
        world_size: GPUs; None where it is not known.
        last_seen_ns: end of the newest window that showed it, UTC.
        incidents: open now.
        severity: worst of them.
        hangs: whether one of them is a hang.
        may_hang: whether a hang is suspected.
        suspected_scans: scans that saw the best confirmed of its suspected incidents; 0 where there is none.
    """

    id: str
    world_size: int | None
    last_seen_ns: int
    incidents: int
    severity: Severity | None
    hangs: bool
    may_hang: bool
    suspected_scans: int


def job_marks(
    database: Database, wanted: JobFilter, since_ns: int = 0, names: Collection[str] | None = None
) -> list[JobMark]:
    """Jobs in the order wanted, whatever state they are in.

    Args:
        database: the results.
        wanted: text, tenant and order count here; states are the caller's to work out.
        since_ns: only jobs that a window showed which ended behind this time, and those with an incident under way.
        names: only jobs of these ids, few; None for all.
    """
    under_way = _incidents_under_way()
    rank, count = func.coalesce(under_way.c.rank, 0), func.coalesce(under_way.c.count, 0)
    columns = (rank.label("rank"), count.label("open_count"), under_way.c.hangs, under_way.c.may_hang)
    query = select(JOBS.c.id, JOBS.c.world_size, JOBS.c.last_seen_ns, *columns)
    query = query.outerjoin(under_way, under_way.c.job == JOBS.c.id)
    for condition in _conditions(wanted):
        query = query.where(condition)
    if names is not None:
        query = query.where(JOBS.c.id.in_(names))
    if since_ns:
        query = query.where(or_(JOBS.c.last_seen_ns > since_ns, under_way.c.job.is_not(None)))
    ordered = (JOBS.c.id,) if wanted.order == "id" else (rank.desc(), count.desc(), JOBS.c.id)
    with database.reading() as connection:
        suspected = _suspected_scans(connection)
        rows = connection.execute(query.order_by(*ordered)).all()
    return [
        JobMark(
            row.id, row.world_size, row.last_seen_ns, row.open_count, _severity(row.rank), bool(row.hangs),
            bool(row.may_hang), suspected.get(row.id, 0),
        )
        for row in rows
    ]  # fmt: skip


def _suspected_scans(connection: Connection) -> dict[str, int]:
    """By job, how many scans saw the best confirmed of its suspected incidents: they are few."""
    query = select(INCIDENTS.c.job, INCIDENTS.c.document).where(INCIDENTS.c.state == "suspected")
    found: dict[str, int] = {}
    for row in connection.execute(query.where(INCIDENTS.c.job.is_not(None))):
        found[row.job] = max(found.get(row.job, 0), json.loads(row.document)["scans_seen"])
    return found


def _incidents_under_way() -> Subquery:
    """Open and suspected incidents of each job: how many are open, the worst one's rank, and hangs."""
    is_open, is_hang = INCIDENTS.c.state == "open", INCIDENTS.c.kind == "hang"
    ranks = case((is_open, case(RANKS, value=INCIDENTS.c.severity, else_=0)), else_=0)
    query = select(
        INCIDENTS.c.job,
        func.sum(case((is_open, 1), else_=0)).label("count"),
        func.max(ranks).label("rank"),
        func.max(case((and_(is_open, is_hang), 1), else_=0)).label("hangs"),
        func.max(case((and_(~is_open, is_hang), 1), else_=0)).label("may_hang"),
    )
    query = query.where(INCIDENTS.c.state.in_(("suspected", "open")), INCIDENTS.c.job.is_not(None))
    return query.group_by(INCIDENTS.c.job).subquery()


def glances(database: Database, names: Sequence[str]) -> list[JobSummary]:
    """The jobs of these ids with their open incidents, in this order; those that there are not are left out."""
    found: dict[str, JobSummary] = {}
    for begin in range(0, len(names), _MOST_NAMES):
        query = _with_incidents(_open_incidents()).where(JOBS.c.id.in_(names[begin : begin + _MOST_NAMES]))
        with database.reading() as connection:
            found.update((row.id, _glance(row)) for row in connection.execute(query))
    return [found[name] for name in names if name in found]


def glance(database: Database, name: str) -> JobSummary | None:
    """The job of this id with its open incidents; None where there is none."""
    with database.reading() as connection:
        row = connection.execute(_with_incidents(_open_incidents()).where(JOBS.c.id == name)).first()
    return None if row is None else _glance(row)


def worst_incidents(database: Database, names: Sequence[str]) -> dict[str, Incident]:
    """The open incident that slows each of some jobs most, by job; those without one are left out."""
    found: dict[str, Incident] = {}
    for begin in range(0, len(names), _MOST_NAMES):
        query = select(INCIDENTS.c.document).where(INCIDENTS.c.job.in_(names[begin : begin + _MOST_NAMES]))
        with database.reading() as connection:
            rows = connection.execute(query.where(INCIDENTS.c.state == "open").order_by(INCIDENTS.c.id)).all()
        for one in (Incident.model_validate_json(row.document) for row in rows):
            before = found.get(str(one.job))
            if before is None or one.slowdown_ratio > before.slowdown_ratio:
                found[str(one.job)] = one
    return found


def labels(database: Database, names: Sequence[str]) -> dict[str, str]:
    """Label of each of these jobs that has one."""
    query = select(JOBS.c.id, JOBS.c.label).where(JOBS.c.id.in_(names), JOBS.c.label.is_not(None))
    with database.reading() as connection:
        return {row.id: row.label for row in connection.execute(query)}


def newest_layouts(database: Database, names: Sequence[str]) -> dict[str, Layout]:
    """The newest layout of each of some jobs, by job."""
    newest = newest_rows(LAYOUTS, "since_ns", LAYOUTS.c.job.in_(names[:_MOST_NAMES]))
    with database.reading() as connection:
        rows = connection.execute(select(LAYOUTS.c.job, LAYOUTS.c.layout).join(*newest)).all()
    return {row.job: Layout.model_validate_json(row.layout) for row in rows}


def stretches(
    database: Database, names: Sequence[str], length_ns: int, start_ns: int, end_ns: int
) -> dict[str, list[Stretch]]:
    """Stretches of one length of some jobs that begin in [start_ns, end_ns), by job, in order of time."""
    columns = ("start_ns", "length_ns", "iterations", "iteration_ns", "worst_severity")
    span = ROLLUPS.c.start_ns.between(start_ns, end_ns - 1)
    mine = ROLLUPS.c.job.in_(names[:_MOST_NAMES]) & (ROLLUPS.c.length_ns == length_ns) & span
    found: dict[str, list[Stretch]] = {name: [] for name in names}
    with database.reading() as connection:
        # One text a job: a page of jobs has ten thousand stretches, and each row that is handed over costs more than
        # what is in it.
        together = _array_of([ROLLUPS.c[name] for name in columns], connection.dialect.name)
        query = select(ROLLUPS.c.job, together).where(mine).group_by(ROLLUPS.c.job)
        for job, text in connection.execute(query).all():
            found[job] = sorted(map(Stretch._make, json.loads(text)))
    return found


def _array_of(columns: Sequence[ColumnElement[Any]], dialect: str) -> ColumnElement[str]:
    """All rows of a group as JSON text, an array of the columns' values each, in no order."""
    if dialect == "postgresql":
        return cast(func.json_agg(func.json_build_array(*columns)), Text)
    return func.json_group_array(func.json_array(*columns), type_=Text)


def events(
    database: Database, wanted: EventFilter, tenant: str | None, after: str = "", most: int = 200
) -> list[Event]:
    """Events, the newest first: those of one tenant's jobs, or of all.

    Args:
        database: the results.
        wanted: which of them.
        tenant: whose jobs; None for all.
        after: `event_key` of the last one of the page before; "" for the first page.
        most: how many.
    """
    query = select(EVENTS).order_by(EVENTS.c.start_ns.desc(), EVENTS.c.job, EVENTS.c.kind)
    query = query.where(EVENTS.c.start_ns >= wanted.start_ns)
    if wanted.end_ns is not None:
        query = query.where(EVENTS.c.start_ns < wanted.end_ns)
    if wanted.job is not None:
        query = query.where(EVENTS.c.job == wanted.job)
    if wanted.kinds:
        query = query.where(EVENTS.c.kind.in_(wanted.kinds))
    if tenant is not None:
        query = query.join(JOBS, JOBS.c.id == EVENTS.c.job).where(JOBS.c.tenant == tenant)
    if after:
        query = query.where(_behind(after))
    with database.reading() as connection:
        return [_event(row._asdict()) for row in connection.execute(query.limit(most))]


def _event(row: Mapping[str, Any]) -> Event:
    change = row["change"]
    return Event.model_validate({**row, "change": change and Membership.model_validate_json(change)})


def event_key(event: Event) -> str:
    """What a page of events that goes on behind this one begins after."""
    return f"{event.start_ns} {event.kind} {event.job}"


def _behind(after: str) -> ColumnElement[bool]:
    start_ns, kind, job = after.split(" ", 2)
    same_time = EVENTS.c.start_ns == int(start_ns)
    return or_(
        EVENTS.c.start_ns < int(start_ns),
        and_(same_time, EVENTS.c.job > job),
        and_(same_time, EVENTS.c.job == job, EVENTS.c.kind > kind),
    )


def _with_incidents(open_now: Subquery) -> Query:
    rank, count = func.coalesce(open_now.c.rank, 0), func.coalesce(open_now.c.count, 0)
    columns = (rank.label("incident_rank"), count.label("incident_count"))
    return select(JOBS, *columns).outerjoin(open_now, open_now.c.job == JOBS.c.id)


def _glance(row: Row[tuple[object, ...]]) -> JobSummary:
    return JobSummary(read_job(row), row.incident_count, _severity(row.incident_rank))


def _open_incidents() -> Subquery:
    """Open incidents of each job: how many, and the worst one's rank."""
    ranks = case(RANKS, value=INCIDENTS.c.severity, else_=0)
    query = select(INCIDENTS.c.job, func.count().label("count"), func.max(ranks).label("rank"))
    return query.where(INCIDENTS.c.state == "open").group_by(INCIDENTS.c.job).subquery()


def _conditions(wanted: JobFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.text:
        yield _mentions(wanted.text)
    if wanted.tenant is not None:
        yield JOBS.c.tenant == wanted.tenant if wanted.tenant else JOBS.c.tenant.is_(None)


def _mentions(text: str) -> ColumnElement[bool]:
    """Lists stand in the table as JSON, where what is not ASCII is escaped."""
    inside_json = json.dumps(text)[1:-1]
    plain = (column.icontains(text, autoescape=True) for column in (JOBS.c.id, JOBS.c.label, JOBS.c.tenant))
    listed = (column.icontains(inside_json, autoescape=True) for column in (JOBS.c.hosts, JOBS.c.endpoints))
    return or_(*plain, *listed)


def _severity(rank: int) -> Severity | None:
    return next((severity for severity, own in RANKS.items() if own == rank), None)
