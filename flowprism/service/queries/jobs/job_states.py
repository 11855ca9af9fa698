"""The state of every job at one moment, by what the results database holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from datamodel.reports.scan import JobScan, Verdict
from datamodel.service.filters import JobFilter
from datamodel.service.job_state import Judgement
from flowprism.service.job_state import JobEvidence, PolicyScan, Situation, judge, state_rules
from flowprism.service.queries.feeds.feed_queries import last_reports
from flowprism.service.stores import Stores
from storage.database.jobs.overview import JobMark, job_marks
from storage.database.metric_queries import NewestScan, newest_scans
from storage.database.scans.scan_pages import kept_scan

_EVERY_JOB = JobFilter()


@dataclass(frozen=True, slots=True)
class JudgedJob:
    """A job's mark and its state."""

    mark: JobMark
    judgement: Judgement


def situation(stores: Stores, now_ns: int) -> Situation:
    """What the states of all jobs rest on at a time, UTC.

    Raises:
        StorageError: the database cannot be reached.
    """
    scans = tuple(_policy_scans(stores, newest_scans(stores.database)))
    return Situation(now_ns, scans, tuple(last_reports(stores, now_ns)), state_rules(stores.settings))


def job_states(
    stores: Stores, at: Situation, wanted: JobFilter = _EVERY_JOB, *, with_ended: bool = True
) -> list[JudgedJob]:
    """Jobs with their states, in the order wanted.

    Args:
        stores: where answers are read from.
        at: what states rest on.
        wanted: which jobs.
        with_ended: whether those that have ended are wanted; leaving them out saves reading all that ever were.

    Raises:
        StorageError: the database cannot be reached.
    """
    since_ns = 0 if with_ended else _since_ns(at)
    found = [JudgedJob(mark, judge(_evidence(mark), at)) for mark in job_marks(stores.database, wanted, since_ns)]
    if not with_ended:
        found = [one for one in found if one.judgement.state != "ended"]
    return [one for one in found if one.judgement.state in wanted.states] if wanted.states else found


def states_of(stores: Stores, at: Situation, names: Collection[str]) -> dict[str, Judgement]:
    """The state of each of some jobs, by id.

    Raises:
        StorageError: the database cannot be reached.
    """
    return {mark.id: judge(_evidence(mark), at) for mark in job_marks(stores.database, _EVERY_JOB, names=names)}


def _since_ns(at: Situation) -> int:
    """Jobs that no window showed which ended behind this time have ended: exporters could not have hidden them."""
    newest = at.newest
    if newest is None:
        return 0
    hidden_ns = [one.heard_ns for one in at.exporters if one.silent]
    return min([newest.window_start_ns, *(silent_ns - 60_000_000_001 for silent_ns in hidden_ns)])


def _evidence(mark: JobMark) -> JobEvidence:
    return JobEvidence(
        mark.id, mark.last_seen_ns, mark.severity, mark.hangs, mark.may_hang, mark.suspected_scans
    )  # fmt: skip


def _policy_scans(stores: Stores, newest: list[NewestScan]) -> list[PolicyScan]:
    """Newest scans with what they say of each job; a scan does not change, so it is read once."""
    keys = tuple((one.policy, one.window_start_ns, one.window_end_ns) for one in newest)

    def read() -> list[PolicyScan]:
        return [PolicyScan(*key, _verdicts(stores, key)) for key in keys]

    return stores.at_hand.once("newest scans", keys, read)


def _verdicts(stores: Stores, key: tuple[str, int, int]) -> dict[str, tuple[Verdict, str]]:
    kept = kept_scan(stores.database, *key)
    return {} if kept is None else {one.id: (one.verdict, _reason(one)) for one in kept.scan.jobs if one.id is not None}


def _reason(one: JobScan) -> str:
    return "; ".join(one.reasons)
