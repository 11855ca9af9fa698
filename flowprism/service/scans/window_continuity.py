"""Links a window's analysis to earlier windows: stable job names, continued iteration numbers, merged events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from datamodel.frame import empty
from datamodel.reconstructed.patterns import FUNCTIONS, PATTERNS, StoredPatterns
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event
from datamodel.reports.path_plan import FollowedPlan, PathPlan
from datamodel.reports.report import Report
from datamodel.service.filters import EventFilter
from datamodel.service.result_rows import Baseline, JobRecord, Rollup
from diagnose.paths.follow_up import followed, of_job
from flowprism.service.incidents.baselines import compare_window
from flowprism.service.scans.event_merge import SAME_NS, merge_events
from flowprism.service.scans.iteration_numbers import continue_numbering, known_iterations, starts_known
from flowprism.service.scans.job_identity import assign_stable_ids, renamed
from flowprism.service.scans.membership import changes
from flowprism.service.scans.rollups import minutes
from flowprism.service.scans.window_analysis import WindowResult
from storage.analyses import save_analysis
from storage.database.connection import Database
from storage.database.incidents.incident_records import incidents
from storage.database.jobs.overview import events
from storage.database.scans.baselines import newest_baselines
from storage.database.scans.path_plans import followed_plans
from storage.database.scans.scan_records import jobs, newest_groups
from storage.lake.lake_writer import LakeWriter
from storage.lake.object_names import Writer, make_folders
from storage.lake.object_store import LocalStore, open_store

# A job that was not seen for this long is a new job, even on the same endpoints.
FORGOTTEN_NS = 30 * 86_400_000_000_000
# The holder of the lease writes the lake of analyses under this name: all policies and replicas share one sequence.
WRITER = Writer("scans", 0)
_PAGE = 1000
_MOST_EVENTS, _MOST_INCIDENTS = 100_000, 10_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is stored of a window: the report with stable names and numbers, rollups, events, baselines and patterns.

    `over` maps ids of incidents that ended without a fix to the reason, `paths` jobs to their plans of paths.
    """

    report: Report
    rollups: Sequence[Rollup] = ()
    events: Sequence[Event] = ()
    baselines: Sequence[Baseline] = ()
    over: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, FollowedPlan] = field(default_factory=dict)
    patterns: Sequence[StoredPatterns] = ()


def link_to_history(database: Database, lake: str, sight: WindowResult) -> Remembered:
    """Name and number a window's jobs and iterations as earlier windows did; store its timelines in the lake.

    Jobs that a feed gap touches get no membership change.

    Raises:
        StorageError: the database cannot be reached.
        InputError: the lake cannot be read.
        OSError: the lake cannot be written.
    """
    if sight.analysis is None:
        return Remembered(sight.report)
    analysis, window = sight.analysis, sight.report.window
    known = known_jobs(database, window.end_ns)
    analysis = renamed(analysis, assign_stable_ids(analysis.report.jobs, known, window.end_ns))
    names = frozenset(job.id for job in analysis.report.jobs)
    before = known_iterations(lake, names, window.start_ns)
    analysis = continue_numbering(analysis, before)
    doubts = sight.doubts(analysis.report)
    standing = incidents(database, ("suspected", "open"), most=_MOST_INCIDENTS)
    compared = compare_window(analysis, newest_baselines(database, names, window.end_ns), standing, doubts)
    analysis = replace(analysis, report=compared.report)
    save_analysis(_opened(lake), analysis, {job: int(rows["index"].max()) for job, rows in before.items()})
    newcomers = names - {job.id for job in known}
    whole = newcomers | {
        job.id for job in analysis.report.jobs if job.id in before and starts_known(job, before[job.id])
    }
    kept = EventFilter(start_ns=window.start_ns - SAME_NS, end_ns=window.end_ns)
    trusted = [job for job in analysis.report.jobs if job.id not in doubts]
    groups = newest_groups(database, sorted({job.id for job in trusted} - newcomers))
    former = {one.id: one for one in known}
    joined_or_left = changes(trusted, former, groups, window.end_ns, analysis.report.events)
    happened = [*analysis.report.events, *joined_or_left, *compared.events]
    merged = merge_events(happened, events(database, kept, None, most=_MOST_EVENTS))
    rollups = minutes(analysis, whole)
    paths = _followed(database, analysis.plan, [job.id for job in trusted])
    behavior = _patterns(analysis, [job.id for job in trusted])
    return Remembered(analysis.report, rollups, merged, compared.baselines, compared.over, paths, behavior)


def _patterns(analysis: Analysis, jobs: Sequence[str]) -> list[StoredPatterns]:
    """The patterns of some jobs with the addresses of their endpoints alone."""
    end_ns, addresses = analysis.report.window.end_ns, analysis.timelines.addresses
    found = []
    for job in jobs:
        rows, functions = analysis.patterns.get(job, empty(PATTERNS)), analysis.functions.get(job, empty(FUNCTIONS))
        codes = np.unique(np.concatenate([rows["endpoint"], functions["endpoint"]]))
        if len(codes):
            names = tuple(addresses[code] for code in codes.tolist())
            own = (one.replace(endpoint=np.searchsorted(codes, one["endpoint"])) for one in (rows, functions))
            found.append(StoredPatterns(job, end_ns, names, *own))
    return found


def _followed(database: Database, plan: PathPlan | None, jobs: Sequence[str]) -> dict[str, FollowedPlan]:
    """The plans of paths of some jobs after this window; none where it shows nothing of paths."""
    if plan is None:
        return {}
    earlier = followed_plans(database, jobs)
    return {job: followed(earlier.get(job), of_job(plan, job)) for job in jobs}


def _opened(lake: str) -> LakeWriter:
    place = open_store(lake)
    if isinstance(place, LocalStore):
        make_folders(place.folder)
    return LakeWriter(place, WRITER, 1)


def known_jobs(database: Database, at_ns: int) -> list[JobRecord]:
    """List the jobs that were seen within FORGOTTEN_NS before a time (UTC)."""
    seen_since_ns = at_ns - FORGOTTEN_NS
    found: list[JobRecord] = []
    while page := jobs(database, seen_since_ns=seen_since_ns, after=found[-1].id if found else "", most=_PAGE):
        found += page
    return found
