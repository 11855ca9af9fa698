"""Many jobs at a glance: pages of them with their open incidents, newest layouts and stretches of time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, Subquery, Text, and_, case, cast, func, or_, select

from datamodel.filters import EventFilter, JobFilter
from datamodel.findings import Event, Severity
from datamodel.layout import Layout
from datamodel.results import KnownJob
from storage.database.engine import Database
from storage.database.scans import read_job
from storage.database.tables import EVENTS, INCIDENTS, JOBS, LAYOUTS, ROLLUPS, SCANS

RANKS: dict[Severity, int] = {"info": 1, "warning": 2, "critical": 3}
Query = Select[tuple[object, ...]]
_LOUD = RANKS["warning"]
_MOST_NAMES = 500  # in one question; more would exceed what some servers take


@dataclass(frozen=True, slots=True)
class JobGlance:
    """A job with its open incidents: how many, and the worst severity of them."""

    job: KnownJob
    incidents: int
    severity: Severity | None


class Stretch(NamedTuple):
    """One stretch of time of a job: what of `datamodel.results.Rollup` a glance needs."""

    start_ns: int
    length_ns: int
    iterations: int
    iteration_ns: int
    slowdown_ratio: float
    severity: Severity | None


def newest_window(database: Database) -> tuple[int, int] | None:
    """The window that ends last of those scanned, UTC; None before the first scan."""
    query = select(SCANS.c.window_start_ns, SCANS.c.window_end_ns)
    query = query.order_by(SCANS.c.window_end_ns.desc(), SCANS.c.window_start_ns.desc()).limit(1)
    with database.reading() as connection:
        row = connection.execute(query).first()
    return None if row is None else (row.window_start_ns, row.window_end_ns)


def glances(
    database: Database, wanted: JobFilter, live_since_ns: int, after: str = "", most: int = 200
) -> list[JobGlance]:
    """Jobs with their open incidents, in the order wanted.

    Args:
        database: the results.
        wanted: which of them.
        live_since_ns: those seen behind this time are live.
        after: the last id of the page before; "" for the first page.
        most: how many.
    """
    open_now = _open_incidents()
    query = _with_incidents(open_now)
    for condition in _conditions(wanted, live_since_ns, func.coalesce(open_now.c.rank, 0)):
        query = query.where(condition)
    query = _page(query, wanted, open_now, after).limit(most)
    with database.reading() as connection:
        return [_glance(row) for row in connection.execute(query)]


def glance(database: Database, name: str) -> JobGlance | None:
    """The job of this id with its open incidents; None where there is none."""
    with database.reading() as connection:
        row = connection.execute(_with_incidents(_open_incidents()).where(JOBS.c.id == name)).first()
    return None if row is None else _glance(row)


def labels(database: Database, names: Sequence[str]) -> dict[str, str]:
    """Label of each of these jobs that has one."""
    query = select(JOBS.c.id, JOBS.c.label).where(JOBS.c.id.in_(names), JOBS.c.label.is_not(None))
    with database.reading() as connection:
        return {row.id: row.label for row in connection.execute(query)}


def newest_layouts(database: Database, names: Sequence[str]) -> dict[str, Layout]:
    """The newest layout of each of some jobs, by job."""
    newest = select(LAYOUTS.c.job, func.max(LAYOUTS.c.since_ns).label("since_ns"))
    newest = newest.where(LAYOUTS.c.job.in_(names[:_MOST_NAMES])).group_by(LAYOUTS.c.job)
    of_job = newest.subquery()
    same = and_(LAYOUTS.c.job == of_job.c.job, LAYOUTS.c.since_ns == of_job.c.since_ns)
    with database.reading() as connection:
        rows = connection.execute(select(LAYOUTS.c.job, LAYOUTS.c.layout).join(of_job, same)).all()
    return {row.job: Layout.model_validate_json(row.layout) for row in rows}


def stretches(
    database: Database, names: Sequence[str], length_ns: int, start_ns: int, end_ns: int
) -> dict[str, list[Stretch]]:
    """Stretches of one length of some jobs that begin in [start_ns, end_ns), by job, in order of time."""
    columns = ("start_ns", "length_ns", "iterations", "iteration_ns", "worst_slowdown_ratio", "worst_severity")
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
        return [Event(**row._asdict()) for row in connection.execute(query.limit(most))]


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
    told = (rank.label("incident_rank"), count.label("incident_count"))
    return select(JOBS, *told).outerjoin(open_now, open_now.c.job == JOBS.c.id)


def _glance(row: Row[tuple[object, ...]]) -> JobGlance:
    return JobGlance(read_job(row), row.incident_count, _severity(row.incident_rank))


def _open_incidents() -> Subquery:
    """Open incidents of each job: how many, and the worst one's rank."""
    ranks = case(RANKS, value=INCIDENTS.c.severity, else_=0)
    query = select(INCIDENTS.c.job, func.count().label("count"), func.max(ranks).label("rank"))
    return query.where(INCIDENTS.c.state == "open").group_by(INCIDENTS.c.job).subquery()


def _conditions(wanted: JobFilter, live_since_ns: int, rank: ColumnElement[int]) -> Iterator[ColumnElement[bool]]:
    if wanted.text:
        yield _mentions(wanted.text)
    if wanted.tenant is not None:
        yield JOBS.c.tenant == wanted.tenant if wanted.tenant else JOBS.c.tenant.is_(None)
    if wanted.live is not None:
        seen = JOBS.c.last_seen_ns > live_since_ns
        yield seen if wanted.live else ~seen
    if wanted.verdicts:
        blind = JOBS.c.smallest_slowdown_ratio.is_(None)
        meant = {"findings": rank >= _LOUD, "unknown": (rank < _LOUD) & blind, "healthy": (rank < _LOUD) & ~blind}
        yield or_(*(meant[verdict] for verdict in wanted.verdicts))


def _mentions(text: str) -> ColumnElement[bool]:
    """Lists stand in the table as JSON, where what is not ASCII is escaped."""
    inside_json = json.dumps(text)[1:-1]
    plain = (column.icontains(text, autoescape=True) for column in (JOBS.c.id, JOBS.c.label, JOBS.c.tenant))
    listed = (column.icontains(inside_json, autoescape=True) for column in (JOBS.c.hosts, JOBS.c.endpoints))
    return or_(*plain, *listed)


def _page(query: Query, wanted: JobFilter, open_now: Subquery, after: str) -> Query:
    """In the order wanted, beginning behind one job. Where that one stands is seen anew: it may have changed."""
    if wanted.order == "id":
        return query.where(JOBS.c.id > after).order_by(JOBS.c.id)
    rank, count = func.coalesce(open_now.c.rank, 0), func.coalesce(open_now.c.count, 0)
    ordered = query.order_by(rank.desc(), count.desc(), JOBS.c.id)
    if not after:
        return ordered
    last = [
        func.coalesce(select(column).where(open_now.c.job == after).scalar_subquery(), 0)
        for column in (open_now.c.rank, open_now.c.count)
    ]
    alike = and_(rank == last[0], count == last[1], JOBS.c.id > after)
    return ordered.where(or_(rank < last[0], and_(rank == last[0], count < last[1]), alike))


def _severity(rank: int) -> Severity | None:
    return next((severity for severity, own in RANKS.items() if own == rank), None)
