"""The newest row of each job, of tables that have a row for each time that something of a job changed."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Subquery, Table, and_, func, select


def newest_rows(table: Table, time: str, *conditions: ColumnElement[bool]) -> tuple[Subquery, ColumnElement[bool]]:
    """What to join `table` with, and on which condition, to keep each job's newest row.

    Args:
        table: with a column `job`.
        time: name of the column that orders the rows of a job.
        conditions: only rows that meet them are looked at.
    """
    at = table.c[time]
    newest = select(table.c.job, func.max(at).label("at")).where(*conditions).group_by(table.c.job).subquery()
    return newest, and_(table.c.job == newest.c.job, at == newest.c.at)
