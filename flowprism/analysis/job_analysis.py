"""One job, from its streams to its part of the report: what any process can do on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame, empty
from datamodel.reconstructed.endpoint_rates import RATES
from datamodel.reconstructed.paths import Paths
from datamodel.reconstructed.patterns import FUNCTIONS, PATTERNS
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.transfers import ROLES
from datamodel.reports.findings import Event, Finding
from datamodel.reports.report import JobReport, Window
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.events import NO_SYNCS, events
from diagnose.feed_findings import downgrade_compute
from diagnose.hangs.hang_detection import SILENT_ITERATIONS
from diagnose.job_view import JobView
from diagnose.measures.clear_to_send import Ready, least_data_bytes
from diagnose.measures.congestion_notifications import CongestionNotifications
from diagnose.membership_events import Grid, change_event
from diagnose.model.own_time import OwnTime, cells, own_time
from diagnose.model.standstill import Steps
from diagnose.options import MODEL
from diagnose.pair_table import pair_table
from diagnose.patterns.function_patterns import function_patterns
from diagnose.patterns.lateness import patterns
from diagnose.sampled.sampled_diagnosis import unlocated
from flowprism.analysis.job_layout import LayoutInputs, infer_job_layout
from flowprism.analysis.job_report import ObservedJob, job_report, shown
from flowprism.analysis.metered_reasons import cache as cache_sentence
from flowprism.analysis.metered_reasons import drawn as drawn_sentence
from flowprism.analysis.metered_reasons import shows
from reconstruct.clocks.time_bounds import TimeBounds
from reconstruct.jobs.observed_iterations import observed_iterations
from reconstruct.timelines.merged_messages import Metered, metered
from reconstruct.timelines.metered_transfers import latest_arrivals
from reconstruct.timelines.operations import operations
from reconstruct.timelines.spans import group_names, spans
from strategy.layout_inference import InferredLayout

# What the rates of bursts show.
LINKS = frozenset({"slow_link", "slow_uplink"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTask(LayoutInputs):
    """All that the analysis of one job needs, and no more: it may be sent to another machine.

    Attributes:
        number: the job's place in the report.
        id: its name.
        outside: rows between the job's endpoints and others, as `datamodel.telemetry.flows.FLOWS`, without its weights
            and what engines answer.
        window: of the feed.
        place: where the job's endpoints are plugged in.
        last_sent_ns: address code -> last payload byte it sent to anyone.
        ready: its ready-to-receive messages; None where the feed shows none.
        notices: congestion notifications between its endpoints.
        labels: the inventory's tenants and jobs; None without an inventory.
        options: thresholds of the findings.
        tables: whether timelines and pair table are wanted in addition to the report.
        metered: whether the records are a meter's, which merges what follows within its timeout.
        paths: where its streams were seen between switches; None where no feed shows it.
        dates: between what its packets were sent; None where their times are known.
        syncs_ns: (n, 2) start and end of each synchronization of its weights.
    """

    number: int
    id: str
    outside: Frame
    window: Window
    place: EndpointLocations
    last_sent_ns: Mapping[int, int]
    ready: Ready | None
    notices: CongestionNotifications
    labels: Inventory | None
    options: DiagnosisOptions
    tables: bool
    metered: bool = False
    paths: Paths | None = None
    dates: TimeBounds | None = None
    syncs_ns: Int = field(default_factory=lambda: NO_SYNCS)


@dataclass(frozen=True, slots=True)
class JobTables:
    """What is too long for the report.

    Attributes:
        spans, groups: what each endpoint did when; `group` counts `groups`.
        pairs: senders and receivers (`datamodel.reconstructed.transfers.PAIRS`).
        rates: over the mean iteration (`datamodel.reconstructed.endpoint_rates.RATES`), where spans are not known.
        patterns: what each endpoint is like (`datamodel.reconstructed.patterns.PATTERNS`), where own times are known.
        functions: what it is like in each function (`datamodel.reconstructed.patterns.FUNCTIONS`).
    """

    spans: Frame
    groups: tuple[str, ...]
    pairs: Frame
    rates: Frame
    patterns: Frame = field(default_factory=lambda: empty(PATTERNS))
    functions: Frame = field(default_factory=lambda: empty(FUNCTIONS))


@dataclass(frozen=True, slots=True)
class JobResult:
    """The results of one job; `tables` are None where not requested."""

    report: JobReport
    findings: tuple[Finding, ...]
    events: tuple[Event, ...]
    tables: JobTables | None


def analyze_job(task: JobTask) -> JobResult:
    """Layout, operations, findings, events and the report of one job."""
    job, flow = task.job, task.streams
    cache = metered(flow, job, task.place.speed_bps) if task.metered and not flow.trains.any() else None
    strategy = infer_job_layout(task, cache)
    by_role = {ROLES.index(k): list(v) for k, v in strategy.groups.items() if k != "tp"}
    view = JobView(
        id=task.id,
        endpoints=job.endpoints,
        edges_ns=job.edges_ns,
        operations=operations(flow if cache is None else latest_arrivals(flow), job, strategy.role, by_role),
        stage=strategy.stage,
        groups=strategy.groups,
        sharded=strategy.layout.sharding == "fsdp",
        fabric=task.place,
        window_end_ns=task.window.end_ns,
        last_sent_ns=task.last_sent_ns,
        own=_own(task, strategy),
        notices=task.notices,
        paths=task.paths,
        observed=observed_iterations(flow, job),
        dates=task.dates,
        stages_known=strategy.layout.pp is not None,
        steps=_steps(task, strategy),
        stops_where_begun=job.stops_where_begun,
        whole_bursts=cache is not None,
    )
    reported = replace(view, endpoints=np.setdiff1d(job.endpoints, task.unreported))
    findings = downgrade_compute(_findings(reported, cache, task.options), silent=len(task.unreported) > 0)
    hangs = any(f.kind == "hang" for f in findings)
    return JobResult(
        report=_with_unreported(job_report(_shown(view, strategy, cache, task), task.labels), task),
        findings=tuple(findings),
        events=tuple(_events(task, view, strategy, hangs=hangs)),
        tables=_tables(task, view, reported, strategy) if task.tables else None,
    )


def _with_unreported(report: JobReport, task: JobTask) -> JobReport:
    """The report of a job with the endpoints that the inventory adds to those that were seen."""
    if not len(task.unreported):
        return report
    named = task.place.names(task.unreported)
    said = (
        f"{len(named)} of {len(report.endpoints)} endpoints come from the inventory: no switch reports what they send"
    )
    known = report.detectability.model_copy(update={"reasons": (*report.detectability.reasons, said)})
    return report.model_copy(update={"unreported": named, "detectability": known})


def _shown(view: JobView, strategy: InferredLayout, cache: Metered | None, task: JobTask) -> ObservedJob:
    if cache is None:
        return shown(view, strategy)
    recorded = "every packet is counted" if task.drawn is None else drawn_sentence(task.drawn)
    return shown(view, strategy, (recorded, cache_sentence(cache)), shows(cache, task.job))


def _events(task: JobTask, view: JobView, strategy: InferredLayout, *, hangs: bool) -> list[Event]:
    changes = _changes(task, strategy)
    return events(view, task.outside, task.window.start_ns, changes, task.syncs_ns, hangs=hangs)


def _changes(task: JobTask, strategy: InferredLayout) -> list[Event]:
    grid = Grid(strategy.layout, strategy.groups, strategy.stage, task.place.addresses)
    edges_ns = task.job.edges_ns
    return [change_event(task.id, one.change, one.state_bytes, edges_ns, grid) for one in task.changes]


def _own(task: JobTask, strategy: InferredLayout) -> OwnTime | None:
    """Compute each one's own time; None without clear-to-send messages, or where times are not exact enough."""
    if task.ready is None or task.metered or task.dates is not None:
        return None
    job, reported = task.job, np.setdiff1d(task.job.endpoints, task.unreported)
    cell = cells(reported, strategy.groups.get("tp", ()))
    return own_time(task.streams, least_data_bytes(job), task.ready, reported, cell, job.edges_ns, MODEL)


def _steps(task: JobTask, strategy: InferredLayout) -> Steps | None:
    """All that endpoints of a job sent that fell silent; None if it goes on, or its times are not exact.

    Where no tensor group is known all endpoints of a host may compute together.
    """
    job = task.job
    silent = task.window.end_ns - job.edges_ns[-1] > SILENT_ITERATIONS * np.median(np.diff(job.edges_ns))
    if not silent or task.metered or task.dates is not None:
        return None
    reported = np.setdiff1d(job.endpoints, task.unreported)
    hosts: dict[str, list[int]] = {}
    for e in reported.tolist():
        hosts.setdefault(task.place.host.get(e, str(e)), []).append(e)
    cell = cells(reported, strategy.groups.get("tp") or [tuple(members) for members in hosts.values()])
    return Steps.of(task.streams, task.ready, reported, cell, least_data_bytes(job))


def _findings(view: JobView, cache: Metered | None, options: DiagnosisOptions) -> list[Finding]:
    """What is wrong; where passes lie inside of records, no more than what whole bursts show: the rates of links."""
    if cache is None or not cache.merged.any():
        return diagnose(view, options)
    whole = view.operations.take(~cache.merged[view.operations["stream"]])
    links = [f for f in diagnose(replace(view, operations=whole), options) if f.kind in LINKS] if len(whole) else []
    return [*links, *(f for f in unlocated(view, options) if not any(_meet(f, link) for link in links))]


def _meet(one: Finding, other: Finding) -> bool:
    """Whether two findings are on at the same time."""
    return (other.end_ns is None or one.start_ns < other.end_ns) and (one.end_ns is None or other.start_ns < one.end_ns)


def _tables(task: JobTask, view: JobView, reported: JobView, strategy: InferredLayout) -> JobTables:
    """The tables of a job; patterns are those of its `reported` endpoints."""
    names, first = group_names(strategy.groups, task.streams.addresses)
    timeline = spans(view.operations, task.job.edges_ns, task.number, first)
    functions = function_patterns(timeline, view.operations, view.iterations, view.stage)
    return JobTables(timeline, tuple(names), pair_table(view), empty(RATES), patterns(reported), functions)
