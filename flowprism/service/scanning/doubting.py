"""Windows whose feed has holes: what they seem to show is not trusted."""

from __future__ import annotations

from dataclasses import replace

from datamodel.report import Window
from datamodel.scan import JobScan, Scan
from flowprism.service.scanning.looking import Sight
from storage.database.engine import Database
from storage.database.feeds import losses

# Of what one exporter sent in a minute. A collector that was away for longer leaves iterations that lack some of their
# endpoints' traffic, and those look late; single datagrams lost do not.
MOST_LOST_RATIO = 0.1
_LONGEST_NS = 3_600_000_000_000  # of a stretch of statistics


def doubted(database: Database, sight: Sight, window: Window) -> Sight:
    """A sight without its findings, and with the reason, where an exporter lost too much of a minute in the window.

    What was lost is noticed when the exporter is heard again: the hole may begin as early as it was heard before, and
    a window that ends in between has it at its end.

    Raises:
        StorageError: the database cannot be reached.
    """
    worst, exporter = 0.0, ""
    for one, since_ns in losses(database, window.start_ns - _LONGEST_NS):
        if since_ns < window.end_ns and one.start_ns + one.length_ns > window.start_ns:
            worst, exporter = max((worst, exporter), (one.lost / (one.lost + one.datagrams), one.exporter))
    if worst <= MOST_LOST_RATIO or sight.analysis is None:
        return sight
    doubt = f"{exporter} lost {100 * worst:.0f} % of a minute: what the window shows is not trusted"
    report = sight.report.model_copy(update={"findings": ()})
    return replace(sight, analysis=replace(sight.analysis, report=report), report=report, doubt=doubt)


def without_verdict(verdict: Scan, doubt: str) -> Scan:
    """A scan that can tell nothing of any job, and why."""
    jobs = tuple(_unknown(job, doubt) for job in verdict.jobs)
    return verdict.model_copy(update={"verdict": "unknown", "jobs": jobs, "reasons": (doubt,)})


def _unknown(job: JobScan, doubt: str) -> JobScan:
    return job.model_copy(update={"verdict": "unknown", "reasons": (doubt,)})
