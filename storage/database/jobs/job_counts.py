"""What is open, over all jobs: counted by the database, however much it is."""

from __future__ import annotations

from sqlalchemy import func, select

from storage.database.connection import Database
from storage.database.tables import INCIDENTS, JOBS


def open_incidents(database: Database, tenant: str | None) -> int:
    """How many incidents are open, those of ended jobs and of no job included; of one tenant's jobs, or of all."""
    query = select(func.count()).select_from(INCIDENTS).where(INCIDENTS.c.state == "open")
    if tenant is not None:
        query = query.join(JOBS, JOBS.c.id == INCIDENTS.c.job).where(JOBS.c.tenant == tenant)
    with database.reading() as connection:
        return int(connection.execute(query).scalar_one())
