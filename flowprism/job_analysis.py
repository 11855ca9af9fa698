"""One job, from its streams to its part of the report: what any process can do on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datamodel.fabric import Fabric
from datamodel.findings import Event, Finding
from datamodel.frame import Frame
from datamodel.inventory import Inventory
from datamodel.paths import Paths
from datamodel.report import JobReport, Window
from datamodel.streams import Streams
from datamodel.transfers import ROLES
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.events import events
from diagnose.job import JobView
from diagnose.pairs import pair_table
from diagnose.queues import Notices
from diagnose.readiness import Ready
from diagnose.sampled import unlocated
from flowprism.job_report import job_report, shown
from reconstruct.dates import Dates
from reconstruct.jobs import Job
from reconstruct.metered import merged_pause_ns
from reconstruct.operations import operations
from reconstruct.timelines import group_names, spans
from reconstruct.transfers import transfers
from reconstruct.watched_iterations import watched_iterations
from strategy.layout import UNKNOWN, Strategy, infer
from strategy.placement import Seat


@dataclass(frozen=True, slots=True)
class JobTask:
    """All that the analysis of one job needs, and no more: it may be sent to another machine.

    Attributes:
        number: the job's place in the report.
        id: its name.
        streams, job: the job's own streams, and the job on them.
        outside: rows between the job's endpoints and others, as `datamodel.flows.FLOWS`.
        window: of the feed.
        place, seats: where the job's endpoints are plugged in, and others of their hosts.
        last_sent_ns: address code -> last payload byte it sent to anyone.
        ready: its ready-to-receive messages; None where the feed shows none.
        notices: congestion notifications between its endpoints.
        labels: the inventory's tenants and jobs; None without an inventory.
        options: thresholds of the findings.
        tables: whether timelines and pair table are wanted beside the report.
        metered: whether the records are a meter's, which merges what follows within its timeout.
        paths: where its streams were seen between switches; None where no feed tells.
        dates: between what its packets were sent; None where their times are known.
    """

    number: int
    id: str
    streams: Streams
    job: Job
    outside: Frame
    window: Window
    place: Fabric
    seats: Mapping[int, Seat]
    last_sent_ns: Mapping[int, int]
    ready: Ready | None
    notices: Notices
    labels: Inventory | None
    options: DiagnosisOptions
    tables: bool
    metered: bool = False
    paths: Paths | None = None
    dates: Dates | None = None


@dataclass(frozen=True, slots=True)
class JobTables:
    """What is too long for the report: spans whose `group` counts `groups`, and the pair table."""

    spans: Frame
    groups: tuple[str, ...]
    pairs: Frame


@dataclass(frozen=True, slots=True)
class JobResult:
    """What is to be told of one job; `tables` are None where nobody wants them."""

    report: JobReport
    findings: tuple[Finding, ...]
    events: tuple[Event, ...]
    tables: JobTables | None


def analysed(task: JobTask) -> JobResult:
    """Layout, operations, findings, events and the report of one job."""
    job, flow = task.job, task.streams
    merged_ns = merged_pause_ns(flow, job) if task.metered else 0
    strategy = UNKNOWN if merged_ns else _strategy(task)
    by_role = {ROLES.index(k): list(v) for k, v in strategy.groups.items() if k != "tp"}
    view = JobView(
        id=task.id,
        endpoints=job.endpoints,
        edges_ns=job.edges_ns,
        operations=operations(flow, job, strategy.role, by_role),
        stage=strategy.stage,
        groups=strategy.groups,
        sharded=strategy.layout.sharding == "fsdp",
        fabric=task.place,
        window_end_ns=task.window.end_ns,
        last_sent_ns=task.last_sent_ns,
        ready=task.ready,
        notices=task.notices,
        paths=task.paths,
        restarts=job.restarts,
        watched=watched_iterations(flow, job),
        dates=task.dates,
    )
    findings = unlocated(view, task.options) if merged_ns else diagnose(view, task.options)
    hangs = any(f.kind == "hang" for f in findings)
    return JobResult(
        report=_told(job_report(shown(view, strategy), task.labels), merged_ns),
        findings=tuple(findings),
        events=tuple(events(view, task.outside, task.window.start_ns, hangs=hangs)),
        tables=_tables(task, view, strategy) if task.tables else None,
    )


def _strategy(task: JobTask) -> Strategy:
    job = task.job
    moved = transfers(task.streams, job)
    return infer(moved, job.edges_ns, job.endpoints, dict(task.seats), unexplained=job.unexplained > 0)


def _told(report: JobReport, merged_ns: int) -> JobReport:
    """The report with what a meter hides among its reasons."""
    if not merged_ns:
        return report
    reason = f"records merge messages less than {merged_ns / 1e9:.2g} s apart: no layout, and no place of a slowdown"
    told = report.detectability.model_copy(update={"reasons": (*report.detectability.reasons, reason)})
    return report.model_copy(update={"detectability": told})


def _tables(task: JobTask, view: JobView, strategy: Strategy) -> JobTables:
    names, first = group_names(strategy.groups, task.streams.addresses)
    timeline = spans(view.operations, task.job.edges_ns, task.number, first)
    return JobTables(timeline, tuple(names), pair_table(view))
