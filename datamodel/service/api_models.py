"""What the service answers: one set of documents for the HTTP API and for the dashboard's pages."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.reconstructed.traffic import PostTraining, ServingSummary, TrafficClass
from datamodel.reports.eviction import EvictionAdvice
from datamodel.reports.findings import Severity, Subject
from datamodel.reports.host_cause import HostAnswer
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.path_plan import Applied, JobPathsState, PlannedConnection
from datamodel.reports.report import ExporterClock, Window
from datamodel.reports.scan import Scan, Verdict
from datamodel.service.alerts import AlertChange, AlertState
from datamodel.service.incidents import Incident, IncidentChange
from datamodel.service.job_state import JobState
from datamodel.service.result_rows import NoteKind
from datamodel.telemetry.profiles import ProfileAnswer

NodeRole = Literal["endpoint", "host", "leaf", "spine", "switch"]


class Trend(Document):
    """Iteration times of a job in equal stretches of time."""

    start_ns: int
    step_ns: int
    mean_s: tuple[float | None, ...] = Field(description="one a stretch; null where no iteration ended in it")
    severity: tuple[Severity | None, ...] = Field(default=(), description="worst finding that was on, one a stretch")


class JobRow(Document):
    """One job at a glance."""

    id: str
    label: str | None
    tenant: str | None
    world_size: int | None
    endpoints: int
    hosts: int
    layout: Layout | None
    first_seen_ns: int
    last_seen_ns: int
    state: JobState
    state_reason: str = Field(description="what the state rests on; empty for healthy")
    state_as_of_ns: int | None = Field(description="end of the newest data it rests on; null before the first scan")
    severity: Severity | None = Field(description="worst of its open incidents")
    incidents: int = Field(description="open now")
    iteration_s: float | None = Field(description="mean of the newest stretch that has any")
    iteration_span_ns: tuple[int, int] | None = Field(
        default=None, description="that stretch: a minute or an hour, UTC"
    )
    norm_s: float | None = Field(description="median of stretches without a finding, of the last day")
    slowdown_ratio: float | None = Field(
        description="of the open incident that slows it most; where none is open, iteration_s / norm_s"
    )
    slowdown_span_ns: tuple[int, int] | None = Field(
        default=None, description="the time that slowdown_ratio is of, UTC"
    )
    gpu_hours_lost: float | None = Field(
        description="since midnight UTC; null where the number of GPUs is not known, or the lake cannot be read"
    )
    trend: Trend


class LayoutSince(Document):
    """A layout with its process groups, and since when it is so."""

    since_ns: int
    layout: Layout
    groups: Groups


class JobDetail(JobRow):
    """One job with its members and the layouts it had, the newest first."""

    addresses: tuple[str, ...]
    host_names: tuple[str, ...]
    period_s: float | None
    smallest_slowdown_ratio: float | None
    reasons: tuple[str, ...] = ()
    post_training: PostTraining | None = Field(
        default=None, description="by the newest scan that saw it; null where no engines take its weights"
    )
    layouts: tuple[LayoutSince, ...] = ()


class IterationPoint(Document):
    """One iteration or, where there are too many, some that follow one another: the slowest is never lost."""

    first: int = Field(description="index of the first one")
    last: int
    start_ns: int
    end_ns: int
    shortest_s: float
    mean_s: float
    longest_s: float
    longest: int = Field(description="index of the slowest one")


class IterationSeries(Document):
    """A job's iterations in a stretch of time."""

    job: str
    start_ns: int
    end_ns: int
    iterations: int = Field(description="how many there were")
    points: tuple[IterationPoint, ...] = ()


class IncidentRow(Document):
    """An incident with what people said of it."""

    incident: Incident
    measured_ns: tuple[int, int] = Field(description="the time that its slowdown and its evidence are of, UTC")
    label: str | None = Field(description="of its job")
    tenant: str | None
    acknowledged_by: str | None = None
    muted_until_ns: int | None = Field(default=None, description="null: not muted, or for ever where `muted`")
    muted: bool = False


class Note(Document):
    """What a person did about an incident."""

    time_ns: int
    author: str
    kind: NoteKind
    text: str = ""
    until_ns: int | None = None


class AlertRow(Document):
    """An alert of an incident, and where it stands with its receiver."""

    receiver: str
    change: AlertChange
    state: AlertState
    created_ns: int
    sent_ns: int | None = Field(default=None, description="when the receiver accepted it")
    attempts: int = 0
    problem: str = Field(default="", description="what the last attempt met with, or why it is withheld")


class IncidentDetail(IncidentRow):
    """An incident with its whole history."""

    changes: tuple[IncidentChange, ...] = ()
    notes: tuple[Note, ...] = ()
    alerts: tuple[AlertRow, ...] = Field(
        default=(), description="the newest alerts of it; empty for a tenant's viewers: receivers are the operator's"
    )
    eviction: EvictionAdvice | None = Field(
        default=None, description="whether the host at fault is worth evicting; null where it is no single host's fault"
    )
    hosts: HostAnswer | None = Field(
        default=None, description="what metrics of its hosts say; null where no Prometheus was asked"
    )
    profiles: ProfileAnswer | None = Field(
        default=None, description="what profiles of its ranks show; null where none were read"
    )


class ScanRow(Document):
    """One scan in short."""

    policy: str
    window_start_ns: int
    window_end_ns: int
    started_ns: int
    finished_ns: int
    version: str
    verdict: Verdict
    jobs: int
    findings: int
    records: int = Field(description="that it read; 0 for users of one tenant")
    reasons: tuple[str, ...] = ()


class ScanDetail(ScanRow):
    """One scan with its verdicts and findings; one that sees a tenant only sees that part."""

    scan: Scan


class ScanRequest(Document):
    """A requested scan; without a window, of the newest records."""

    id: str
    policy: str
    jobs: tuple[str, ...] = ()
    window_start_ns: int | None = None
    window_end_ns: int | None = None
    author: str
    requested_ns: int
    state: Literal["waiting", "running", "done", "failed"]
    finished_ns: int | None = None
    detail: str = ""


class CountedRate(Document):
    """A sampling rate that what its exporter counts contradicts."""

    where: str = Field(description="the data source or interface, in words")
    told: int = Field(description="exported N of 1 in N")
    likely: int = Field(description="the rate with which the counts agree")
    counted: str = Field(description="what contradicts it: sample pool or interface counters")


class ExporterSampling(Document):
    """How an exporter samples, by its collector's account."""

    exporter: str
    rates: tuple[int, ...] = Field(default=(), description="N of 1 in N that its records are counted with; 0 unknown")
    configured: int | None = Field(default=None, description="the rate that the collector's settings give it")
    doubted: tuple[CountedRate, ...] = ()


class FeedRow(Document):
    """One exporter: what it sent of late, and what of it was lost."""

    exporter: str
    newest_ns: int = Field(description="end of the newest stretch in which it sent anything, or now where that goes on")
    datagrams: int
    records: int
    lost: int
    late: int
    duplicates: int
    rejected: dict[str, int] = {}
    silent: bool = Field(description="nothing for twice its own mean interval by the clock, and for two minutes")
    step_ns: int
    trend: tuple[int, ...] = Field(description="records in each stretch, oldest first")
    sampling: ExporterSampling | None = Field(default=None, description="null where no collector reports it")
    clock: ExporterClock | None = Field(default=None, description="by the newest scan; null where it has none")


class ComponentStatus(Document):
    """One running part of the service, by its own last word."""

    name: str
    kind: Literal["collector", "compactor", "scanner", "alerter", "api"]
    started_ns: int
    seen_ns: int
    healthy: bool = True
    detail: str = ""
    figures: dict[str, float] = Field(default={}, description="counters and gauges, in base units")
    sampling: tuple[ExporterSampling, ...] = Field(default=(), description="of a collector's exporters")


class FabricNode(Document):
    """A switch, a host or an endpoint."""

    id: str
    role: NodeRole
    host: str | None = None
    rail: int | None = None
    jobs: tuple[str, ...] = ()


class FabricLink(Document):
    """A link: ends as the inventory names them, load where the window's pairs show it."""

    a: str
    b: str
    a_port: int | None = None
    b_port: int | None = None
    speed_bps: float | None = None
    load_ratio: float | None = Field(
        default=None, description="mean over the newest window; between switches as if equal paths shared evenly"
    )
    suspicion: float = Field(default=0.0, ge=0, le=1, description="largest probability of an open incident")
    incidents: tuple[str, ...] = ()


class FabricView(Document):
    """The fabric as the inventory draws it, with what is known of it now."""

    nodes: tuple[FabricNode, ...] = ()
    links: tuple[FabricLink, ...] = ()
    subjects: tuple[Subject, ...] = Field(default=(), description="of open incidents")


class RepeatOffender(Document):
    """A host and how late it was in its jobs, compared with hosts of the same role."""

    host: str = Field(description="by the inventory; the address of an endpoint that it does not know")
    jobs: int = Field(description="in which it had peers")
    late_jobs: int = Field(description="of them, in which it computed more than 1 % longer than the median of its role")
    late_weeks: int = Field(description="weeks in which that was so in some window")
    late_ratio: float = Field(description="how much longer it computes, median over jobs: 0.03 = 3 %")
    sigmas: float = Field(description="lateness beyond 1 %, in standard deviations, over all jobs")
    probability: float = Field(description="of such ranks by chance, if nothing is wrong with any host")
    is_offender: bool = Field(description="late beyond chance; at most 5 % of these are expected to be healthy")


class OffenderView(Document):
    """Hosts by how late they are in job after job, the most suspicious first. No finding: nothing alerts on it."""

    window: Window
    of: int = Field(default=0, description="hosts that were compared")
    items: tuple[RepeatOffender, ...] = ()


class PathsRow(Document):
    """A job's uplinks, collisions and plan of paths, by the newest scan that showed its paths."""

    job: str
    label: str | None
    state: JobPathsState


class FollowedConnection(PlannedConnection):
    """A long connection: where it leaves switches now, where the plan in force wants it, and whether it does."""

    became: Applied | None = Field(description="of those that the plan moves; null: it stays as it is")


class PathsDetail(PathsRow):
    """A job's paths with its long connections, those that are not as planned first, then the largest."""

    connections: tuple[FollowedConnection, ...]
    of: int = Field(description="long connections in all")


class ClassShare(Document):
    """One class of traffic in a window."""

    traffic_class: TrafficClass
    meaning: str
    bytes: int = Field(description="new payload, scaled by the sampling rate")
    share_ratio: float = Field(description="of all bytes, 0 to 1")
    rate_bps: float = Field(description="mean over the window")


class TrafficView(Document):
    """What the traffic of the newest scanned window is for."""

    window: Window | None = Field(default=None, description="null before the first scan")
    classes: tuple[ClassShare, ...] = Field(default=(), description="those that are there, most bytes first")
    serving: ServingSummary | None = Field(default=None, description="served models; null where there are none")
