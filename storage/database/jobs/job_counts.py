"""What is open and what faults cost, over all jobs: counted by the database, however many they are."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, select

from datamodel.durations import HOUR_NS, MINUTE_NS
from storage.database.connection import Database
from storage.database.tables import INCIDENTS, JOBS, ROLLUPS


def open_incidents(database: Database, tenant: str | None) -> int:
    """How many incidents are open, those of ended jobs and of no job included; of one tenant's jobs, or of all."""
    query = select(func.count()).select_from(INCIDENTS).where(INCIDENTS.c.state == "open")
    if tenant is not None:
        query = query.join(JOBS, JOBS.c.id == INCIDENTS.c.job).where(JOBS.c.tenant == tenant)
    with database.reading() as connection:
        return int(connection.execute(query).scalar_one())


def gpu_hours_lost(database: Database, tenant: str | None, since_ns: int) -> float:
    """GPU-hours that findings cost since a time, a whole hour, UTC; of one tenant's jobs, or of all."""
    with database.reading() as connection:
        hours = _lost(HOUR_NS, since_ns, tenant)
        ended = select(func.max(ROLLUPS.c.start_ns)).where(_begun(HOUR_NS, since_ns))
        last_ns = connection.execute(ended).scalar()
        minutes = _lost(MINUTE_NS, since_ns if last_ns is None else last_ns + HOUR_NS, tenant)
        lost_ns = sum(connection.execute(one).scalar() or 0.0 for one in (hours, minutes))
    return float(lost_ns) / HOUR_NS


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
