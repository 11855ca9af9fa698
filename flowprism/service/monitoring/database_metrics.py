"""Metrics of components, scans, incidents, alerts and feeds, read from the results database at each scrape."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, get_args

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from datamodel.errors import StorageError
from datamodel.reconstructed.traffic import TRAFFIC_CLASSES
from datamodel.reports.scan import Scan
from datamodel.reports.training_time import TIME_USES
from datamodel.service.api_models import ComponentStatus, FeedRow, JobRow
from datamodel.service.filters import JobFilter
from datamodel.service.job_state import JobState
from flowprism import __version__
from flowprism.service.config.settings import Settings
from flowprism.service.monitoring.component_metrics import component_metrics
from flowprism.service.monitoring.health import GONE_S, checks
from flowprism.service.queries.feeds.feed_queries import feeds, last_reports
from flowprism.service.queries.feeds.traffic import traffic_of
from flowprism.service.queries.jobs.job_queries import jobs
from flowprism.service.queries.jobs.job_states import job_states, situation
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database import metric_queries
from storage.database.components import components
from storage.database.feed_statistics import feed_statistics, newest_stretch
from storage.database.incidents.alerts import alert_tallies
from storage.database.scans.scan_records import scans

_LOG = structlog.get_logger(__name__)
Values = TypeVar("Values", bound=tuple[str, ...])
MOST_JOBS = 200  # that have metrics of their own, the worst first: a label per job must not grow with the site
MOST_EXPORTERS = 500  # the silent ones first, then by what they lose
_JOB_LABELS = ("training_job", "name", "tenant")
_EVERYBODY = Viewer("metrics", "viewer", None)
_VERDICTS = ("healthy", "findings", "unknown")


class StoredMetrics(Collector):
    """Reads them on each request; what cannot be read is left out, and `flowprism_check_ok` says why."""

    def __init__(self, stores: Stores, settings: Settings, clock: Callable[[], int] | None = None) -> None:
        self._stores, self._settings, self._clock = stores, settings, clock

    def describe(self) -> Iterator[Metric]:
        """Begin without reading anything."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All metrics of what is kept."""
        now_ns = self._clock() if self._clock else time.time_ns()
        yield _gauge("flowprism_build_info", "The version that answers.", ("version",), {(__version__,): 1.0})
        looked = checks(self._stores, self._settings, now_ns)
        states = {(check.name,): float(check.well) for check in looked}
        yield _gauge("flowprism_check_ok", "Whether a check is well: 1 or 0.", ("check",), states)
        if not all(check.well for check in looked if check.needed):
            return
        try:
            found = [metric for read in _READERS for metric in read(self._stores, now_ns)]
        except StorageError as error:
            _LOG.warning("metrics cannot be read", cause=str(error))
            return
        yield from found


def _components(stores: Stores, now_ns: int) -> Iterator[Metric]:
    known = [component for component in components(stores.database) if now_ns - component.seen_ns <= GONE_S * 1e9]
    labels = ("component", "kind")

    def of_each(value: Callable[[ComponentStatus], float]) -> dict[tuple[str, ...], float]:
        return {(component.name, component.kind): value(component) for component in known}

    yield _gauge(
        "flowprism_component_healthy", "What a component says of itself: 1 or 0.", labels, of_each(lambda p: p.healthy)
    )
    yield _gauge(
        "flowprism_component_seen_timestamp_seconds",
        "When a component last said so.",
        labels,
        of_each(lambda p: p.seen_ns / 1e9),
    )
    yield _gauge(
        "flowprism_component_start_timestamp_seconds",
        "When a component was started.",
        labels,
        of_each(lambda p: p.started_ns / 1e9),
    )
    yield from component_metrics(known)


def _scans(stores: Stores, _: int) -> Iterator[Metric]:
    newest = metric_queries.newest_scans(stores.database)
    yield _gauge(
        "flowprism_scan_window_end_timestamp_seconds",
        "End of the newest window that was scanned.",
        ("policy",),
        {(scan.policy,): scan.window_end_ns / 1e9 for scan in newest},
    )
    yield _gauge(
        "flowprism_scan_duration_seconds",
        "How long the scan of it took.",
        ("policy",),
        {(scan.policy,): (scan.finished_ns - scan.started_ns) / 1e9 for scan in newest},
    )
    yield _gauge(
        "flowprism_scan_verdict",
        "1 for the verdict of it, 0 for the others.",
        ("policy", "verdict"),
        {(scan.policy, verdict): float(scan.verdict == verdict) for scan in newest for verdict in _VERDICTS},
    )


def _jobs(stores: Stores, now_ns: int) -> Iterator[Metric]:
    judged = job_states(stores, situation(stores, now_ns), with_ended=False)
    counted = Counter(one.judgement.state for one in judged)
    values = {(state,): float(counted[state]) for state in get_args(JobState) if state != "ended"}
    yield _gauge("flowprism_jobs", "Jobs that have not ended, by the state they are in now.", ("state",), values)
    since_ns = metric_queries.inventory_time_ns(stores.database)
    since: dict[tuple[str, ...], float] = {} if since_ns is None else {(): since_ns / 1e9}
    yield _gauge("flowprism_inventory_timestamp_seconds", "Since when the inventory is in force.", (), since)


def _each_job(stores: Stores, now_ns: int) -> Iterator[Metric]:
    """Of the worst jobs, each for itself; how many there are beyond, as one number."""
    rows = jobs(stores, _EVERYBODY, now_ns, JobFilter(order="worst"), most=MOST_JOBS, with_ended=False)
    running = sum(one.judgement.state != "ended" for one in job_states(stores, situation(stores, now_ns)))
    name = {row.id: (row.id, row.label or "", row.tenant or "") for row in rows}
    measures: tuple[tuple[str, str, Callable[[JobRow], float | None]], ...] = (
        ("iteration_seconds", "Mean iteration time of the job's newest minute or hour.", lambda row: row.iteration_s),
        (
            "slowdown_ratio",
            "By the worst open incident, else against the norm.",
            lambda row: row.slowdown_ratio,
        ),
        (
            "lost_gpu_hours",
            "GPU-hours lost since midnight UTC, to incidents, pauses and interruptions.",
            lambda row: row.gpu_hours_lost,
        ),
    )
    for what, text, read in measures:
        known = {name[row.id]: value for row in rows if (value := read(row)) is not None}
        yield _gauge(f"flowprism_training_job_{what}", text, _JOB_LABELS, known)
    states = {(*name[row.id], row.state): 1.0 for row in rows}
    yield _gauge("flowprism_training_job_state", "1 for the state that the job is in.", (*_JOB_LABELS, "state"), states)
    beyond: dict[tuple[str, ...], float] = {(): float(max(running - len(rows), 0))}
    yield _gauge("flowprism_training_jobs_left_out", "Jobs beyond those that have metrics of their own.", (), beyond)


def _each_exporter(stores: Stores, now_ns: int) -> Iterator[Metric]:
    """Of the silent exporters and then of those that lose most, each for itself; how many there are beyond."""
    rows = sorted(feeds(stores, now_ns), key=lambda row: (not row.silent, -_lost_ratio(row), row.exporter))
    shown = rows[:MOST_EXPORTERS]
    yield _gauge(
        "flowprism_exporter_newest_timestamp_seconds",
        "End of the newest minute with records of the exporter.",
        ("exporter",),
        {(row.exporter,): row.newest_ns / 1e9 for row in shown},
    )
    yield _gauge(
        "flowprism_exporter_lost_ratio",
        "Share of the exporter's datagrams or records of the newest hour that were lost on the way.",
        ("exporter",),
        {(row.exporter,): _lost_ratio(row) for row in shown},
    )
    beyond: dict[tuple[str, ...], float] = {(): float(len(rows) - len(shown))}
    yield _gauge("flowprism_exporters_left_out", "Exporters beyond those that have metrics of their own.", (), beyond)


def _lost_ratio(row: FeedRow) -> float:
    """Lost by sequence number over what was sent: lost and received."""
    return row.lost / (row.lost + row.datagrams) if row.lost else 0.0


def _newest_window(stores: Stores, _: int) -> Iterator[Metric]:
    """What the newest scan says of its window and of each job in it."""
    newest = next((one.scan for one in scans(stores.database, most=1)), None)
    yield from _traffic(newest)
    yield from _window_of_each_job(newest)


def _traffic(newest: Scan | None) -> Iterator[Metric]:
    """What the window's bytes are for; classes that are not there have none."""
    found = traffic_of(newest) if newest else None
    shares = {(one.traffic_class,): float(one.bytes) for one in found.classes} if found is not None else {}
    values = {(name,): shares.get((name,), 0.0) for name in TRAFFIC_CLASSES} if shares else {}
    text = "New payload of the newest scanned window, by what it is for."
    yield _gauge("flowprism_traffic_bytes", text, ("traffic_class",), values)


def _window_of_each_job(newest: Scan | None) -> Iterator[Metric]:
    """Where each job's time went, and of its weights where it is reinforcement learning."""
    found = newest.jobs[:MOST_JOBS] if newest else ()
    known = {(job.id or "", job.label or "", job.tenant or ""): job for job in found}
    weights = {labels: job.post_training for labels, job in known.items() if job.post_training is not None}
    syncs = {labels: one.sync_s for labels, one in weights.items()}
    gaps = {labels: one.rollout_gap_s for labels, one in weights.items() if one.rollout_gap_s is not None}
    text = "Median time that new weights take to the engines of a job of reinforcement learning."
    yield _gauge("flowprism_training_job_weight_sync_seconds", text, _JOB_LABELS, syncs)
    text = "Median time from the end of a synchronization of weights until the job's ranks exchange data again."
    yield _gauge("flowprism_training_job_rollout_gap_seconds", text, _JOB_LABELS, gaps)
    spent = {labels: job.training_time for labels, job in known.items() if job.training_time is not None}
    seconds = {(*labels, use): getattr(one, f"{use}_ns") / 1e9 for labels, one in spent.items() for use in TIME_USES}
    text = "Time of the job in the newest scanned window, by what it went to."
    yield _gauge("flowprism_training_job_time_seconds", text, (*_JOB_LABELS, "use"), seconds)
    bounds = {
        (*labels, name): ratio
        for labels, one in spent.items()
        for name, ratio in zip(("least", "most"), one.effective_ratio or (), strict=False)
    }
    text = "Least and most of the share of that time in which the job made progress that was kept."
    yield _gauge("flowprism_training_job_effective_time_ratio", text, (*_JOB_LABELS, "bound"), bounds)


def _exporters(stores: Stores, now_ns: int) -> Iterator[Metric]:
    counted = Counter("silent" if one.silent else "sending" for one in last_reports(stores, now_ns))
    values = {(state,): float(counted[state]) for state in ("sending", "silent")}
    yield _gauge("flowprism_exporters", "Exporters of the last hours, by what they do now.", ("state",), values)


def _incidents(stores: Stores, _: int) -> Iterator[Metric]:
    counts = metric_queries.incident_counts(stores.database)
    yield _gauge(
        "flowprism_incidents",
        "Incidents under way, by state, kind and severity.",
        ("state", "kind", "severity"),
        {labels: float(count) for labels, count in counts.items()},
    )


def _alerts(stores: Stores, now_ns: int) -> Iterator[Metric]:
    tallies = alert_tallies(stores.database)
    counted = {
        (tally.receiver, state): float(getattr(tally, state))
        for tally in tallies
        for state in ("waiting", "sent", "given_up", "withheld")
    }
    yield _gauge(
        "flowprism_alerts", "Alerts that are kept, by receiver and what became of them.", ("receiver", "state"), counted
    )
    waits = {(t.receiver,): (now_ns - t.oldest_ns) / 1e9 if t.oldest_ns is not None else 0.0 for t in tallies}
    yield _gauge("flowprism_alerts_longest_wait_seconds", "How long the oldest alert has waited.", ("receiver",), waits)


def _feeds(stores: Stores, _: int) -> Iterator[Metric]:
    """Sums over all exporters."""
    stretch = newest_stretch(stores.database)
    statistics = feed_statistics(stores.database, stretch[0], stretch[0] + 1) if stretch else []
    of_length = [one for one in statistics if stretch and one.length_ns == stretch[1]]
    sums: dict[tuple[str, ...], float] = {
        (name,): float(sum(getattr(one, name) for one in of_length))
        for name in ("datagrams", "records", "lost", "late", "duplicates")
    }
    sums["rejected",] = float(sum(sum(one.rejected.values()) for one in of_length))
    yield _gauge("flowprism_feed_units", "What exporters sent in the newest stretch of time.", ("unit",), sums)
    ends: dict[tuple[str, ...], float] = {(): sum(stretch) / 1e9} if stretch else {}
    yield _gauge("flowprism_feed_end_timestamp_seconds", "When it ended.", (), ends)


_READERS: tuple[Callable[[Stores, int], Iterator[Metric]], ...] = (
    _components, _scans, _jobs, _each_job, _newest_window, _exporters, _each_exporter, _incidents, _alerts, _feeds,
)  # fmt: skip


def _gauge(name: str, text: str, labels: tuple[str, ...], values: Mapping[Values, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for label_values, value in values.items():
        family.add_metric(label_values, value)
    return family
