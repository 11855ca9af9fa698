"""Looks for silent jobs every few seconds and analyzes them at once, so that a hang does not wait for a window."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from datamodel.reports.findings import EventKind
from datamodel.reports.report import Report, Window
from datamodel.service.filters import EventFilter
from datamodel.service.result_rows import WATCH, JobRecord
from flowprism.analysis.scan_verdict import judge_report
from flowprism.service.config.settings import Settings
from flowprism.service.incidents.scan_recorder import CompletedScan, record_hangs
from flowprism.service.scans.feeds.feed_gaps import add_feed_gaps
from flowprism.service.scans.job_activity import JobActivity, Silence
from flowprism.service.scans.job_identity import assign_stable_ids, renamed
from flowprism.service.scans.leases import KEEPING, Leases
from flowprism.service.scans.window_analysis import analyze_window
from storage.database.connection import Database
from storage.database.incidents.incident_records import incidents
from storage.database.jobs.overview import events
from storage.database.scans.scan_records import jobs
from storage.lake.object_names import is_store
from storage.lake.object_store import is_address, open_store

SILENT_ITERATIONS = 3.0  # as in `diagnose.hangs`: a job that is silent for so many is not between two of them
MIN_SILENCE_NS = 10_000_000_000
# A second look at the same records agrees with the first by itself. Half a tick later there are new ones.
LOOKS_APART_NS = 2_500_000_000
# A job that no window showed for this long has ended.
ENDED_NS = 3_600_000_000_000
# So many iterations show what is part of one; more would only take longer to analyze. What was observed for less time
# than it is silent may be part of a longer iteration.
LOOK_ITERATIONS = 30
MIN_LOOK_NS = 20_000_000_000
# A job may rest for this many times as long as it has before: a checkpoint takes longer when storage is busy.
LONGER_PAUSE = 3.0
PAUSES: tuple[EventKind, ...] = ("pause", "checkpoint", "evaluation")
PAUSE_MEMORY_NS = 7 * 86_400_000_000_000
_MOST_PAUSES = 1000


@dataclass(slots=True)
class HangWatch:
    """One replica's watch.

    A job is silent when no data of it was observed for three of its iterations, and for ten seconds, while every
    exporter that observes it went on reporting. Silence of up to three times its longest known pause is a pause. Then
    the records of its endpoints are analyzed as a window is. Where that shows no hang the next look waits until the
    silence is twice as long: most silences are pauses or ends.

    Attributes:
        settings: of the service.
        database: where results go.
        leases: of this replica.
        ticks, looks, seconds: how often jobs and single silent jobs were looked at, and for how long in all.
        problem: why the last tick could not be made; empty where it could.
    """

    settings: Settings
    database: Database
    leases: Leases
    ticks: int = 0
    looks: int = 0
    seconds: float = 0.0
    problem: str = ""
    _activity: JobActivity | None = None
    _next_ns: dict[str, tuple[int, int]] = field(default_factory=dict)  # job -> (since, how long to wait)

    def tick(self) -> list[Silence]:
        """Look at every job; return those whose silence was analyzed.

        Raises:
            StorageError: the database cannot be reached.
            InputError: the lake cannot be read.
        """
        lake = self.settings.store.flow_lake
        if not is_address(lake) and not is_store(open_store(lake)):
            return []
        begun_s = time.thread_time()
        if self._activity is None:
            self._activity = JobActivity(lake, self.database)
        known = {job.id: job for job in self._running()}
        found = [one for one in self._activity.refresh(list(known.values())) if self._is_due(one, known[one.job])]
        self.ticks += 1
        self.seconds += time.thread_time() - begun_s
        return [one for one in found if self._look(one, known[one.job])]

    def figures(self) -> dict[str, float]:
        """Return counters in base units."""
        return {
            "watch_ticks_total": float(self.ticks),
            "watch_looks_total": float(self.looks),
            "watch_cpu_seconds_total": self.seconds,
        }

    def _running(self) -> list[JobRecord]:
        """Return the jobs that have iterations and have not ended long ago, those seen last at the end."""
        found = jobs(self.database, seen_since_ns=time.time_ns() - ENDED_NS, most=10_000)
        return sorted((job for job in found if job.period_s is not None), key=lambda job: (job.last_seen_ns, job.id))

    def _is_due(self, silence: Silence, job: JobRecord) -> bool:
        since_ns, wait_ns = self._next_ns.get(job.id, (0, 0))
        if since_ns != silence.since_ns:
            wait_ns = max(round(SILENT_ITERATIONS * (job.period_s or 0.0) * 1e9), MIN_SILENCE_NS)
            if silence.lasting_ns >= wait_ns:
                wait_ns = max(wait_ns, round(LONGER_PAUSE * self._longest_pause_ns(silence)))
                self._next_ns[job.id] = silence.since_ns, wait_ns
        return silence.lasting_ns >= wait_ns

    def _longest_pause_ns(self, silence: Silence) -> int:
        """Return the longest pause that scans have seen the job make; 0 without any."""
        wanted = EventFilter(silence.job, PAUSES, silence.since_ns - PAUSE_MEMORY_NS)
        found = events(self.database, wanted, None, most=_MOST_PAUSES)
        return max((one.end_ns - one.start_ns for one in found if one.end_ns is not None), default=0)

    def _look(self, silence: Silence, job: JobRecord) -> bool:
        """Analyze a silent job and record a hang; return whether it was this replica's turn."""
        with self.leases.held(f"watch {job.id}") as mine:
            if not mine or self._is_known(silence):
                return False
            self.looks += 1
            started_ns = time.time_ns()
            report = self._analyzed(silence, job)
            if not report.findings:
                self._next_ns[job.id] = silence.since_ns, 2 * silence.lasting_ns
                return True
            scan = judge_report(report, (job.id,))
            made = CompletedScan(WATCH, started_ns, time.time_ns(), report, scan)
            with self.leases.held(KEEPING, wait_s=2 * self.leases.lasting_s) as alone:
                if alone:
                    record_hangs(self.database, made, self.settings.incidents.options(), self.settings.alerts)
            return True

    def _is_known(self, silence: Silence) -> bool:
        """Return whether an incident says it already, or a look that saw no less has just suspected it."""
        known = incidents(self.database, ("suspected", "open"), job=silence.job)
        hangs = [one for one in known if one.kind == "hang" and one.seen_ns >= silence.since_ns]
        return any(one.state == "open" or one.seen_ns > silence.heard_ns - LOOKS_APART_NS for one in hangs)

    def _analyzed(self, silence: Silence, job: JobRecord) -> Report:
        """Return the report of the job alone, and of its findings the hang."""
        window_s = min(self.settings.scans.policies[0].window_s, LOOK_ITERATIONS * (job.period_s or 0.0))
        length_ns = max(round(window_s * 1e9), MIN_LOOK_NS)
        window = Window(start_ns=silence.since_ns - length_ns, end_ns=silence.heard_ns)
        sight = analyze_window(self.settings, self.database, window, frozenset(job.endpoints))
        sight = add_feed_gaps(self.database, self.settings.store.flow_lake, sight, window)
        if sight.analysis is None:
            return sight.report
        names = assign_stable_ids(sight.report.jobs, [job], window.end_ns)
        return _hang_of(renamed(sight.analysis, names).report, job.id)


def _hang_of(report: Report, job: str) -> Report:
    return report.model_copy(
        update={
            "jobs": tuple(one for one in report.jobs if one.id == job),
            "findings": tuple(one for one in report.findings if (one.job, one.kind) == (job, "hang")),
        }
    )
