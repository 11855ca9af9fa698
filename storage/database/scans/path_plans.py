"""Plans of paths: of each job the one in force and the newest, and what became of the former."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select

from datamodel.reports.path_plan import FollowedPlan, JobPathsState, PathPlan
from storage.database.connection import Database, upsert
from storage.database.tables import JOBS, PATH_PLANS


def path_states(
    database: Database, tenant: str | None = None, most: int = 500
) -> list[tuple[str, str | None, JobPathsState]]:
    """Return id, label and paths of jobs of one tenant, or of all and of none; those seen last first."""
    query = select(PATH_PLANS.c.job, JOBS.c.label, PATH_PLANS.c.state).join(JOBS, JOBS.c.id == PATH_PLANS.c.job)
    if tenant is not None:
        query = query.where(JOBS.c.tenant == tenant)
    query = query.order_by(PATH_PLANS.c.seen_ns.desc(), PATH_PLANS.c.job).limit(most)
    with database.reading() as connection:
        return [(job, label, JobPathsState.model_validate_json(text)) for job, label, text in connection.execute(query)]


def followed_plans(database: Database, jobs: Collection[str]) -> dict[str, FollowedPlan]:
    """Return the plans of some jobs, by job."""
    with database.reading() as connection:
        rows = connection.execute(select(PATH_PLANS).where(PATH_PLANS.c.job.in_(jobs))).all()
    return {
        row.job: FollowedPlan(
            JobPathsState.model_validate_json(row.state),
            PathPlan.model_validate_json(row.plan),
            PathPlan.model_validate_json(row.newest),
        )
        for row in rows
    }


def write_path_plans(connection: Connection, plans: Mapping[str, FollowedPlan]) -> None:
    """Write plans by job as a scan left them, inside its transaction; one of an older window changes nothing."""
    known = select(PATH_PLANS.c.job, PATH_PLANS.c.seen_ns).where(PATH_PLANS.c.job.in_(plans))
    seen_ns = {row.job: row.seen_ns for row in connection.execute(known)}
    newer = {job: one for job, one in plans.items() if one.state.seen_ns >= seen_ns.get(job, 0)}
    upsert(connection, PATH_PLANS, [_row(job, one) for job, one in newer.items()])


def _row(job: str, one: FollowedPlan) -> dict[str, object]:
    return {
        "job": job,
        "seen_ns": one.state.seen_ns,
        "state": one.state.model_dump_json(),
        "plan": one.plan.model_dump_json(by_alias=True),
        "newest": one.newest.model_dump_json(by_alias=True),
    }
