"""Counts of the results database for monitoring: few rows, whatever the table's size."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sqlalchemy import and_, func, select

from storage.database.connection import Database
from storage.database.jobs.overview import of_policies
from storage.database.tables import INCIDENTS, INVENTORIES, SCANS


@dataclass(frozen=True, slots=True)
class NewestScan:
    """A policy's scan of the window that ends last: its verdict, and when (UTC) it was made of what."""

    policy: str
    verdict: str
    window_start_ns: int
    window_end_ns: int
    started_ns: int
    finished_ns: int


def newest_scans(database: Database) -> list[NewestScan]:
    """The newest scan of each policy, by policy; scans that people asked for are left out."""
    ends = select(SCANS.c.policy, func.max(SCANS.c.window_end_ns).label("end_ns")).where(of_policies())
    newest = ends.group_by(SCANS.c.policy).subquery()
    same = and_(SCANS.c.policy == newest.c.policy, SCANS.c.window_end_ns == newest.c.end_ns)
    query = select(*(SCANS.c[one.name] for one in fields(NewestScan))).join(newest, same)
    query = query.order_by(SCANS.c.policy, SCANS.c.finished_ns)
    with database.reading() as connection:
        found = {row.policy: NewestScan(*row) for row in connection.execute(query)}
    return list(found.values())


def incident_counts(database: Database) -> dict[tuple[str, str, str], int]:
    """How many incidents are suspected or open, by state, kind and severity."""
    named = (INCIDENTS.c.state, INCIDENTS.c.kind, INCIDENTS.c.severity)
    query = select(*named, func.count()).where(INCIDENTS.c.state.in_(("suspected", "open"))).group_by(*named)
    with database.reading() as connection:
        return {(state, kind, severity): count for state, kind, severity, count in connection.execute(query)}


def inventory_time_ns(database: Database) -> int | None:
    """Since when the newest inventory is in force, UTC; None where there is none."""
    with database.reading() as connection:
        newest: int | None = connection.execute(select(func.max(INVENTORIES.c.time_ns))).scalar()
    return newest
