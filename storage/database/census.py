"""How many jobs are how, and what faults cost them: counted by the database, however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, select

from storage.database.engine import Database
from storage.database.overview import RANKS
from storage.database.tables import INCIDENTS, JOBS, ROLLUPS

_HOUR_NS = 3_600_000_000_000
_MINUTE_NS = 60_000_000_000


@dataclass(frozen=True, slots=True)
class Census:
    """Jobs that the newest window showed, and all that is open.

    Attributes:
        jobs: live ones, of whatever health.
        critical, warning: those whose worst open incident is so.
        unknown: those without either of which the feed can show nothing.
        gpus: of them together, as far as known.
        incidents: open now, those of jobs that are gone and of no job included.
        gpu_hours_lost: since a time, by all jobs.
    """

    jobs: int
    critical: int
    warning: int
    unknown: int
    gpus: int
    incidents: int
    gpu_hours_lost: float

    @property
    def healthy(self) -> int:
        """Live jobs without an open incident that is more than a remark, of which one would be seen."""
        return self.jobs - self.critical - self.warning - self.unknown


def census(database: Database, tenant: str | None, live_since_ns: int, day_ns: int) -> Census:
    """Count jobs and incidents of one tenant or all.

    Args:
        database: the results.
        tenant: whose; None for all.
        live_since_ns: jobs seen behind this time are live.
        day_ns: hours lost count from here on, a whole hour, UTC.
    """
    with database.reading() as connection:
        row = connection.execute(_counting(tenant, live_since_ns)).one()
        open_now = select(func.count()).select_from(INCIDENTS).where(INCIDENTS.c.state == "open")
        if tenant is not None:
            open_now = open_now.join(JOBS, JOBS.c.id == INCIDENTS.c.job).where(JOBS.c.tenant == tenant)
        incidents = connection.execute(open_now).scalar_one()
        hours = _lost(_HOUR_NS, day_ns, tenant)
        ended = select(func.max(ROLLUPS.c.start_ns)).where(_begun(_HOUR_NS, day_ns))
        last_ns = connection.execute(ended).scalar()
        minutes = _lost(_MINUTE_NS, day_ns if last_ns is None else last_ns + _HOUR_NS, tenant)
        lost_ns = sum(connection.execute(one).scalar() or 0.0 for one in (hours, minutes))
    counted = {name: int(value or 0) for name, value in row._mapping.items()}  # noqa: SLF001 - SQLAlchemy's public name
    return Census(**counted, incidents=incidents, gpu_hours_lost=float(lost_ns) / _HOUR_NS)


def _counting(tenant: str | None, live_since_ns: int) -> Select[Any]:
    ranks = case(RANKS, value=INCIDENTS.c.severity, else_=0)
    worst = select(INCIDENTS.c.job, func.max(ranks).label("rank")).where(INCIDENTS.c.state == "open")
    worst_of = worst.group_by(INCIDENTS.c.job).subquery()
    rank = func.coalesce(worst_of.c.rank, 0)
    blind = and_(rank < RANKS["warning"], JOBS.c.smallest_slowdown_ratio.is_(None))
    columns: list[ColumnElement[Any]] = [
        func.count().label("jobs"),
        _many(rank == RANKS["critical"]).label("critical"),
        _many(rank == RANKS["warning"]).label("warning"),
        _many(blind).label("unknown"),
        func.sum(JOBS.c.world_size).label("gpus"),
    ]
    query = select(*columns)
    query = query.select_from(JOBS).outerjoin(worst_of, worst_of.c.job == JOBS.c.id)
    query = query.where(JOBS.c.last_seen_ns > live_since_ns)
    return query if tenant is None else query.where(JOBS.c.tenant == tenant)


def _many(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _lost(length_ns: int, since_ns: int, tenant: str | None) -> Select[Any]:
    """GPU time lost in stretches of one length since then: of what was spent, the part that faults made longer."""
    spent = case((ROLLUPS.c.iterations == 0, ROLLUPS.c.length_ns), else_=ROLLUPS.c.iteration_ns)
    bounded = case((spent > ROLLUPS.c.length_ns, ROLLUPS.c.length_ns), else_=spent)
    part = literal(1.0) - literal(1.0) / ROLLUPS.c.worst_slowdown_ratio
    query = select(func.sum(JOBS.c.world_size * bounded * part)).select_from(ROLLUPS)
    query = query.join(JOBS, JOBS.c.id == ROLLUPS.c.job)
    hit = and_(ROLLUPS.c.worst_severity.is_not(None), ROLLUPS.c.worst_slowdown_ratio > 1)
    query = query.where(_begun(length_ns, since_ns), hit)
    return query if tenant is None else query.where(JOBS.c.tenant == tenant)


def _begun(length_ns: int, since_ns: int) -> ColumnElement[bool]:
    return and_(ROLLUPS.c.length_ns == length_ns, ROLLUPS.c.start_ns >= since_ns)
