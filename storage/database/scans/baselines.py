"""What iterations of jobs take when nothing slows them down: one row for each time a baseline was set."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from datamodel.service.result_rows import Baseline
from storage.database.connection import Database, upsert
from storage.database.newest_rows import newest_rows
from storage.database.tables import BASELINES


def newest_baselines(database: Database, jobs: Collection[str], at_ns: int) -> dict[str, Baseline]:
    """Return the baseline of each of some jobs that was in force at a time (UTC), by job."""
    newest = newest_rows(BASELINES, "made_ns", BASELINES.c.job.in_(jobs), BASELINES.c.made_ns <= at_ns)
    with database.reading() as connection:
        rows = connection.execute(select(BASELINES).join(*newest)).all()
    found = (Baseline(**{**row._asdict(), "sizes": tuple(json.loads(row.sizes))}) for row in rows)
    return {one.job: one for one in found}


def accept_baseline(database: Database, baseline: Baseline) -> bool:
    """Begin a baseline; return whether there is such a job."""
    try:
        with database.writing() as connection:
            write_baselines(connection, [baseline])
    except IntegrityError:
        return False
    return True


def write_baselines(connection: Connection, baselines: Sequence[Baseline]) -> None:
    """Write baselines as a scan left them, inside its transaction."""
    upsert(connection, BASELINES, [{**asdict(one), "sizes": json.dumps(one.sizes)} for one in baselines])
