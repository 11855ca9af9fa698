"""Analyzes jobs that only samples, or records cut by timeouts, show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from capture.configured_rates import UNKNOWN_RATE
from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame, empty
from datamodel.reconstructed.endpoint_rates import RATES
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Bool, Int, Streams
from datamodel.reconstructed.timeline import SPANS
from datamodel.reports.findings import Finding
from datamodel.reports.layout import FormerLayouts, Layout, Sizes
from datamodel.reports.report import Detectability
from datamodel.telemetry.flows import Flows
from diagnose.diagnosis import DiagnosisOptions
from diagnose.job_view import JobView
from diagnose.pace_intervals import noise_ratio
from diagnose.sampled.sampled_diagnosis import diagnose_samples, unlocated
from diagnose.sampled.sampled_hangs import sampled_hang
from diagnose.sampled.sampled_job_view import SampledView
from diagnose.sampled.sampled_pairs import pairs_of_samples, pairs_of_volumes
from flowprism.analysis.job_analysis import JobResult, JobTables
from flowprism.analysis.job_report import ObservedJob, job_id, job_report
from flowprism.analysis.joined_epochs import join_epochs
from flowprism.analysis.sampled_changes import SampleContext, SampledTraining, find_trainings
from reconstruct.jobs.job_recognition import Job
from reconstruct.sampled.curves.progress_curves import ProgressCurves, has_sequence_number
from reconstruct.sampled.detectability import iteration_errors, of_samples, of_volumes, places
from reconstruct.sampled.folding.folded_messages import messages
from reconstruct.sampled.folding.folded_rates import endpoint_rates
from reconstruct.sampled.folding.folded_samples import points
from reconstruct.sampled.folding.iteration_phases import begin_at, list_phases
from reconstruct.sampled.folding.last_position import standstill
from reconstruct.sampled.jobs.sampled_recognition import FEWEST_ITERATIONS, SampledJob
from reconstruct.sampled.jobs.volume_jobs import VolumeJob, jobs_by_volume
from reconstruct.sampled.uplinks_passed import find_uplinks
from reconstruct.streams.observations import is_unsampled
from strategy.layout_inference import UNKNOWN_LAYOUT, InferredLayout, infer_layout
from strategy.placement import Seat

# Connections of so many kinds, by bytes, may be those that end an iteration.
MOST_KINDS = 4
# Of the iterations that records show, samples may miss so many at the window's ends.
MISSED_ENDS = 2
# Iterations of a job at its best take longer than their lower quartile by no more than so many times their noise: by
# this share at least, by that at most.
NOISES, QUICK_LEAST, QUICK_MOST = 3.0, 0.05, 0.15


@dataclass(frozen=True, slots=True)
class AnalysisContext:
    """What is known besides the records.

    Attributes:
        place, seats: where endpoints are plugged in.
        services: address codes that are never part of a job.
        hosts: host of each address code; None without an inventory.
        labels: the inventory's tenants and jobs.
        exporters: name of the switch of each exporter's address.
        options: thresholds of the findings.
        reports_ns: code of an exporter's address, and its domain -> when its last datagram arrived.
        metered: whether some are metered.
        tables: whether pair tables and rates are wanted in addition to the report.
        former: layouts of jobs in the window before, by the addresses of all their endpoints.
    """

    place: EndpointLocations
    seats: dict[int, Seat]
    services: frozenset[int]
    hosts: Sequence[str | None] | None
    labels: Inventory | None
    exporters: Mapping[str, str]
    options: DiagnosisOptions
    reports_ns: Mapping[tuple[int, int], int]
    metered: bool
    tables: bool = True
    former: FormerLayouts = field(default_factory=dict)


def select_spare_samples(flows: Flows, kept: Bool) -> Bool:
    """Select (rows,) numbered samples that unsampled records count the bytes of, for better times.

    Args:
        flows: all records.
        kept: which of them carry the volume (`reconstruct.streams.observations.select_primary`).
    """
    return ~kept & ~is_unsampled(flows.frame) & has_sequence_number(flows)


class ReplaceableJob(NamedTuple):
    """A job that samples may show better than records do.

    Attributes:
        job: as records show it.
        pairs: packed source and destination of what is recorded as well as it can be, ascending; a meter that merges
            messages records nothing so.
    """

    job: Job
    pairs: Int


class SplitRecords(NamedTuple):
    """Records that are no whole messages.

    Attributes:
        samples: packets with their sequence number.
        spare: more of them, whose bytes unsampled records count.
        hiding: records that hide iterations: samples without numbers, records of unknown rate, which may be samples,
            and those of a cache, or of streams that span their pauses.
    """

    samples: Flows
    spare: Flows
    hiding: Flows


def split_records(
    flows: Flows, kept: Bool, complete: Bool, flow: Streams, hidden: Bool, *, metered: bool = False
) -> SplitRecords:
    """Results from samples and volumes, not from streams.

    Args:
        flows: all records that carry the volume, and samples that were put aside (`select_spare_samples`).
        kept: which of them are the former.
        complete: which are whole (`reconstruct.streams.observations.is_unsampled`).
        flow: the streams of these.
        hidden: (streams,) which of these span their pauses.
        metered: whether some records are a cache's: any of them may hide pauses, a single one too.
    """
    frame = flows.frame
    hiding, samples = ~complete | (frame["sampling_rate"] == UNKNOWN_RATE), np.zeros(len(flows), np.bool_)
    if hiding.any():
        numbered = has_sequence_number(flows)
        samples, hiding = numbered & ~complete & kept, hiding & ~numbered
    if metered:
        hiding = hiding | (kept & complete)
    elif hidden.any():
        pairs = np.unique(flow.src[hidden] << 32 | flow.dst[hidden])
        of_pairs = np.isin(frame["src_addr"].astype(np.int64) << 32 | frame["dst_addr"].astype(np.int64), pairs)
        hiding = hiding | (of_pairs & kept)
    parts = samples, ~kept, hiding
    return SplitRecords(*(flows if some.all() else flows.take(np.flatnonzero(some)) for some in parts))


def sampled_results(
    samples: Flows, around: AnalysisContext, taken: Bool, lesser: Sequence[ReplaceableJob]
) -> tuple[list[JobResult], dict[str, Int]]:
    """The jobs that sampled packets with sequence numbers show, and why other traffic of theirs is in none.

    Args:
        samples: such packets (`split_records`).
        around: what else is known.
        taken: (addresses,) endpoints of jobs that a better feed shows; those of further jobs are added.
        lesser: jobs that samples may show better: a job that they show replaces them.
    """
    if not len(samples):
        return [], {}
    found, unassigned = find_trainings(samples, SampleContext(around.services, around.hosts, around.seats))
    kept = []
    for one in found:
        if not taken[one.endpoints].any() and _tells_more(one, lesser):
            taken[one.endpoints] = True
            kept.append(one)
    return [_followed(one, around) for one in kept], unassigned


def _followed(training: SampledTraining, around: AnalysisContext) -> JobResult:
    """The results of a training, those of all its epochs as one."""
    results = [_sampled(epoch.job, epoch.progress, epoch.samples, around) for epoch in training.epochs]
    return join_epochs(results, training.changes, around.place.addresses)


def _tells_more(training: SampledTraining, lesser: Sequence[ReplaceableJob]) -> bool:
    """Whether samples show all endpoints and iterations of the lesser jobs that they meet, more pairs, and places."""
    inside = [np.isin(other.job.endpoints, training.endpoints, assume_unique=True) for other in lesser]
    met = [(own, other) for own, other in zip(inside, lesser, strict=True) if own.any()]
    iterations = sum(len(epoch.job.edges_ns) for epoch in training.epochs)
    pairs = np.concatenate([p.src[j.connections] << 32 | p.dst[j.connections] for j, p, _ in training.epochs])
    more = all(
        own.all() and iterations + MISSED_ENDS >= len(other.job.edges_ns) and not np.isin(pairs, other.pairs).all()
        for own, other in met
    )
    job, progress, _ = training.epochs[-1]
    return not met or (more and places(of_samples(progress, job)))


def volume_results(records: Flows, around: AnalysisContext, taken: Bool) -> list[JobResult]:
    """The jobs that equal volumes show among endpoints that are in no job.

    Args:
        records: those that hide iterations (`split_records`).
        around: what else is known.
        taken: (addresses,) endpoints of jobs already known; those of further jobs are added.
    """
    frame = records.frame
    free = records.take(np.flatnonzero(~taken[frame["src_addr"]] & ~taken[frame["dst_addr"]]))
    jobs = jobs_by_volume(free, around.services, around.hosts) if len(free) else ()
    for job in jobs:
        taken[job.endpoints] = True
    return [_result(_unclocked(job, around), around, (), _volume_tables(job, around)) for job in jobs]


def _sampled(job: SampledJob, progress: ProgressCurves, samples: Flows, around: AnalysisContext) -> JobResult:
    seen = _strategy(job, progress, around)
    detectability = of_samples(progress, job)
    shows_layout = places(detectability) and not job.unresolved and not _one_stage_by_default(seen.layout)
    strategy = seen if shows_layout else UNKNOWN_LAYOUT
    view = _view(job, progress, samples, seen, around)
    if places(detectability):
        findings = diagnose_samples(view, around.options, detectability.smallest_slowdown_ratio)
    else:
        findings = unlocated(view.job, around.options) if detectability.smallest_slowdown_ratio is not None else []
    if detectability.smallest_slowdown_ratio is not None:
        findings += sampled_hang(view, standstill(progress, job, samples, around.reports_ns))
    begin_ns = int(job.edges_ns[0] - job.period_ns)
    known = iteration_errors(job).interval_ns()
    shown = ObservedJob(
        view.job.id, job.endpoints, begin_ns, job.edges_ns, around.place, strategy, detectability, known
    )
    tables = _tables(view, progress, job, detectability) if around.tables else None
    return _result(shown, around, findings, tables)


def _tables(view: SampledView, progress: ProgressCurves, job: SampledJob, detectability: Detectability) -> JobTables:
    pairs = pairs_of_samples(view, progress, job.connections, places(detectability))
    return JobTables(empty(SPANS), (), pairs, endpoint_rates(progress, job))


def _volume_tables(job: VolumeJob, around: AnalysisContext) -> JobTables | None:
    return JobTables(empty(SPANS), (), pairs_of_volumes(job), empty(RATES)) if around.tables else None


def _one_stage_by_default(layout: Layout) -> bool:
    """Whether nothing but the lack of messages that take turns says that there is one stage.

    Samples blur turns: where the rings do not fit together either, a pipeline may be taken for a part of them.
    """
    return layout.pp == 1 and layout.dp is None


def _view(
    job: SampledJob, progress: ProgressCurves, samples: Flows, strategy: InferredLayout, around: AnalysisContext
) -> SampledView:
    src, dst = progress.src[job.connections], progress.dst[job.connections]
    own = JobView(
        id=job_id([progress.addresses[e] for e in job.endpoints]),
        endpoints=job.endpoints,
        edges_ns=job.edges_ns,
        operations=empty(OPERATIONS),
        stage=strategy.stage,
        groups=strategy.groups,
        sharded=strategy.layout.sharding == "fsdp",
        fabric=around.place,
        window_end_ns=int(job.edges_ns[-1]),
        last_sent_ns={},
    )
    return SampledView(
        job=own,
        points=[points(progress, job, member) for member in range(len(src))],
        src=src,
        dst=dst,
        role=np.array([strategy.role.get(c, 0) for c in job.connections.tolist()], np.int64),
        quantum_bytes=job.quantum_bytes,
        cables=around.place.links,
        whole=not job.unresolved and strategy.layout.dp is not None,  # else a pipeline may hide among the rings
        over=find_uplinks(samples, around.exporters, around.place.links, src, dst),
    )


def _strategy(job: SampledJob, progress: ProgressCurves, around: AnalysisContext) -> InferredLayout:
    """The layout that the job's quick iterations show, where half of them show it too; else nothing but the endpoints.

    Iterations that a fault made longer have their messages elsewhere: laid over the others they draw boundaries where
    there are none. What is drawn falsely by chance, the other half of the iterations does not draw at the same place.
    Of a job with pairs too faint to be placed, which may be a pipeline's, it gives the members of each ring only.
    Iterations are drawn to end when some ring does. Which of the phases in which connections end is their end is a
    hypothesis like the roles: the likeliest program has it.
    """
    lengths = np.diff(job.edges_ns).astype(np.float64)
    longer = float(np.clip(NOISES * noise_ratio(lengths), QUICK_LEAST, QUICK_MOST))
    quick = np.flatnonzero(lengths <= (1 + longer) * np.percentile(lengths, 25)) + 1
    sent = _messages(job, progress, quick)
    phases = list_phases(sent, job.edges_ns, MOST_KINDS)
    tried = [_inferred(sent, phase, job, around) for phase in phases]
    best = max(range(len(phases)), key=lambda n: tried[n].log_score)
    found, half = tried[best], len(quick) // 2
    if half < FEWEST_ITERATIONS:
        return found
    parts = (_messages(job, progress, some) for some in (quick[:half], quick[half:]))
    others = (_inferred(part, phases[best], job, around).layout for part in parts)
    return found if any(_likeliest(found.layout) == _likeliest(other) for other in others) else UNKNOWN_LAYOUT


def _messages(job: SampledJob, progress: ProgressCurves, iterations: Int) -> Frame:
    """What some iterations show of the job's messages."""
    sent = messages(progress, job, iterations)
    return sent.take(np.isin(sent["iteration"], iterations))


def _inferred(sent: Frame, phase: float, job: SampledJob, around: AnalysisContext) -> InferredLayout:
    """The layout by messages, if iterations begin in a phase of those drawn."""
    rows, edges_ns = begin_at(sent, job.edges_ns, phase) if phase else (sent, job.edges_ns)
    former = around.former.get(frozenset(around.place.names(job.endpoints)))
    return infer_layout(
        rows, edges_ns, job.endpoints, around.seats, exact_bytes=False, exact_starts=False, former=former
    )


def _likeliest(layout: Layout) -> Sizes | None:
    return layout.alternatives[0].sizes if layout.alternatives else None


def _unclocked(job: VolumeJob, around: AnalysisContext) -> ObservedJob:
    """Report a job with known members only."""
    name = job_id(around.place.names(job.endpoints))
    return ObservedJob(name, job.endpoints, 0, np.zeros(0, np.int64), around.place, UNKNOWN_LAYOUT, of_volumes(job))


def _result(
    job: ObservedJob, around: AnalysisContext, findings: Sequence[Finding], tables: JobTables | None
) -> JobResult:
    return JobResult(report=job_report(job, around.labels), findings=tuple(findings), events=(), tables=tables)
