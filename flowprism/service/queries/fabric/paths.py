"""Paths of jobs: uplinks, collisions, long connections now and as planned, and what became of a plan."""

from __future__ import annotations

from datamodel.reports.path_plan import Applied, FollowedPlan, JobPathsState, PlannedConnection
from datamodel.service.api_models import FollowedConnection, PathsDetail, PathsRow
from diagnose.paths.follow_up import become
from flowprism.rendering.formats.path_plan_files import PlanFile, path_plan_file
from flowprism.service.queries.inventory import in_force
from flowprism.service.queries.jobs.job_queries import summary
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.scans.path_plans import followed_plans, path_states

_RANK: tuple[Applied | None, ...] = ("drifted", "not applied", "not seen", "kept", None)


def paths(stores: Stores, viewer: Viewer, most: int = 100) -> list[PathsRow]:
    """Jobs that the viewer sees whose paths were seen: those that a plan gains most first.

    Raises:
        StorageError: the database cannot be reached.
    """
    found = [
        PathsRow(job=job, label=label, state=_shown(viewer, state))
        for job, label, state in path_states(stores.database, viewer.tenant, most)
    ]
    return sorted(found, key=lambda row: -(row.state.paths.gain_ratio if row.state.paths else -1.0))


def job_paths(stores: Stores, viewer: Viewer, job: str, most: int = 1000) -> PathsDetail | None:
    """One job's paths with its long connections; None where there is no such job, or its paths were never seen."""
    known = summary(stores, viewer, job)
    found = None if known is None else _followed(stores, job)
    if known is None or found is None:
        return None
    rows = _connections(found)
    return PathsDetail(
        job=job, label=known.job.label, state=_shown(viewer, found.state), connections=tuple(rows[:most]), of=len(rows)
    )


def plan_file(stores: Stores, viewer: Viewer, job: str, kind: PlanFile) -> str | None:
    """The plan that scans compare the job's paths with, as a file; None where there is none that the viewer sees."""
    found = None if summary(stores, viewer, job) is None else _followed(stores, job)
    if found is None:
        return None
    # collisions name connections of other jobs, notes those of all
    own = found.plan if viewer.tenant is None else found.plan.model_copy(update={"notes": (), "collisions": ()})
    return path_plan_file(own, kind, in_force(stores) if kind is PlanFile.HCCN else None)


def _followed(stores: Stores, job: str) -> FollowedPlan | None:
    return followed_plans(stores.database, [job]).get(job)


def _shown(viewer: Viewer, state: JobPathsState) -> JobPathsState:
    """What of a job's state its viewer sees: notes are about the whole fabric."""
    return state if viewer.tenant is None else state.model_copy(update={"notes": ()})


def _connections(found: FollowedPlan) -> list[FollowedConnection]:
    """Long connections by the newest window, with what the plan in force says of each; then those not seen any more."""
    became = become(found.plan, found.newest)
    planned = {one.ends: one for one in found.plan.connections}
    given = {(*one.ends[:2], one.new_src_port): one for one in found.plan.connections if one.action == "set"}
    tried = {(*one.ends[:2], port): one for one in found.plan.connections for port in one.try_src_ports}
    rows, met = [], set()
    for one in found.newest.connections:
        before = planned.get(one.ends) or given.get(one.ends) or tried.get(one.ends)
        rows.append(_row(one, before, became))
        met.add((one if before is None else before).ends)
    rows += [
        _row(one.model_copy(update={"now": None}), one, became) for ends, one in planned.items() if ends not in met
    ]
    return sorted(rows, key=lambda row: (_RANK.index(row.became), -row.bytes, *row.ends))


def _row(
    now: PlannedConnection, planned: PlannedConnection | None, became: dict[tuple[str, str, int], Applied]
) -> FollowedConnection:
    said = now if planned is None else planned
    fields = now.model_dump() | said.model_dump(include={"planned", "action", "new_src_port", "try_src_ports"})
    return FollowedConnection(**fields, became=None if planned is None else became.get(planned.ends))
