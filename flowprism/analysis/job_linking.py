"""Jobs that are one training, restarted or resized: their results become one, with the changes as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from datamodel.frame import concat
from datamodel.reconstructed.streams import Bool, Streams
from datamodel.reconstructed.timeline import SPANS
from datamodel.reports.findings import Event
from datamodel.reports.report import JobReport
from diagnose.membership_events import Grid, change_event
from flowprism.analysis.job_analysis import JobResult, JobTables
from flowprism.analysis.job_changes import WHOLE_ITERATIONS, job_changes
from reconstruct.jobs.job_recognition import Job
from reconstruct.membership.resized_jobs import TrainingShape, is_resized, is_restarted
from reconstruct.membership.successors import is_as_fast
from strategy.placement import Seat


def link_resized(
    flow: Streams, jobs: Sequence[Job], results: Sequence[JobResult], seats: Mapping[int, Seat]
) -> tuple[list[JobResult], dict[str, str]]:
    """The results, those of a job and of what it was before it was resized as one; and ids that were -> ids that are.

    Args:
        flow: the streams that the jobs were found in.
        jobs: by first endpoint.
        results: of each of them.
        seats: where endpoints sit; may be empty.
    """
    shapes = [_shapes(flow, job) for job in jobs]

    def goes_on(before: int, after: int) -> bool:
        both = shapes[before][1], shapes[after][0]
        again = is_restarted(*both) and is_as_fast(_iteration_ns(jobs[before]), _iteration_ns(jobs[after]))
        return _alike(results[before], results[after]) and (again or is_resized(*both))

    order = sorted(range(len(jobs)), key=lambda n: (jobs[n].start_ns, n))
    former: dict[int, int] = {}
    for place, later in enumerate(order):
        free = (n for n in reversed(order[:place]) if n not in former.values())
        before = next((n for n in free if goes_on(n, later)), None)
        if before is not None:
            former[later] = before
    linked, names = list(results), dict[str, str]()
    for later in order:
        if later in former:
            both = jobs[former[later]], jobs[later]
            names = dict.fromkeys((*names, linked[former[later]].report.id), linked[later].report.id)
            linked[later] = _joined(flow, both, linked[former[later]], linked[later], seats)
    return [result for n, result in enumerate(linked) if n not in former.values()], names


def _alike(before: JobResult, after: JobResult) -> bool:
    """Whether the layouts differ in no known size but dp."""
    pairs = ((getattr(r.report.layout, name) for r in (before, after)) for name in ("tp", "cp", "ep", "pp"))
    return all(old is None or new is None or old == new for old, new in pairs)


def _iteration_ns(job: Job) -> float:
    """Median iteration time."""
    return float(np.median(np.diff(job.edges_ns)))


def _shapes(flow: Streams, job: Job) -> tuple[TrainingShape, TrainingShape]:
    """What a job does at first and at last: a change inside it replaces connections, and endpoints."""
    stream, sent_bytes = job.members.stream, job.members.quantum_bytes.astype(np.float64)
    slack_ns = WHOLE_ITERATIONS * _iteration_ns(job)
    early = flow.start_ns[flow.offsets[stream]] <= job.start_ns + slack_ns
    late = flow.end_ns[flow.offsets[stream + 1] - 1] >= job.end_ns - slack_ns

    def shape(some: Bool) -> TrainingShape:
        ends = np.unique(np.concatenate([flow.src[stream[some]], flow.dst[stream[some]]]))
        sent = np.bincount(flow.src[stream[some]], sent_bytes[some], len(flow.addresses))
        return TrainingShape(job.start_ns, job.end_ns, {e: float(sent[e]) for e in ends.tolist()})

    return shape(early), shape(late)


def _joined(
    flow: Streams, jobs: tuple[Job, Job], before: JobResult, after: JobResult, seats: Mapping[int, Seat]
) -> JobResult:
    """Both results under the later one's id; its layout, groups and detectability are those of now."""
    report = joined_report(before.report, after.report)
    edges_ns = np.array([one.end_ns for one in report.iterations], np.int64)
    numbers = np.concatenate([job.stream_numbers for job in jobs])
    members = np.union1d(jobs[0].endpoints, jobs[1].endpoints)
    other = flow.take(np.setdiff1d(np.flatnonzero(np.isin(flow.dst, members)), numbers))
    changes = job_changes(flow.take(np.unique(numbers)), edges_ns, (other,), members, seats)
    grid = report_grid(after.report, flow.addresses)
    resized = [change_event(report.id, c.change, c.state_bytes, edges_ns, grid) for c in changes]
    known = [*_but(before.events, "end"), *_but(after.events, "start")]
    events = [e.model_copy(update={"job": report.id}) for e in known if e.change is None] + resized
    return replace(
        after,
        report=report,
        events=tuple(sorted(events, key=lambda e: (e.start_ns, e.kind))),
        tables=_joined_tables(before, after),
    )


def _but(events: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in events if event.kind != kind]


def joined_report(before: JobReport, after: JobReport) -> JobReport:
    """The later report with the endpoints, the iterations and, where it has none, the label of the earlier one too."""
    shift = len(before.iterations)
    later = (one.model_copy(update={"index": one.index + shift}) for one in after.iterations)
    return after.model_copy(
        update={
            "label": after.label or before.label,
            "tenant": after.tenant or before.tenant,
            "endpoints": tuple(sorted({*before.endpoints, *after.endpoints})),
            "hosts": tuple(sorted({*before.hosts, *after.hosts})),
            "iterations": (*before.iterations, *later),
        }
    )


def _joined_tables(before: JobResult, after: JobResult) -> JobTables | None:
    if before.tables is None or after.tables is None:
        return after.tables
    old, new = before.tables, after.tables
    number = np.full(len(old.spans), new.spans["job"][0] if len(new.spans) else 0)
    group, iteration = old.spans["group"], new.spans["iteration"]
    first = old.spans.replace(job=number, group=np.where(group >= 0, group + len(new.groups), -1))
    second = new.spans.replace(iteration=np.where(iteration >= 0, iteration + len(before.report.iterations), -1))
    return replace(new, spans=concat(SPANS, [first, second]), groups=(*new.groups, *old.groups))


def report_grid(job: JobReport, addresses: Sequence[str]) -> Grid:
    """The layout that a report states, as address codes."""
    code = {address: n for n, address in enumerate(addresses)}
    kinds = {k: [[code[a] for a in group] for group in groups] for k, groups in job.groups if isinstance(groups, tuple)}
    stage = {e: place for chain in kinds["pp"] for place, e in enumerate(chain)}
    return Grid(job.layout, kinds, stage or {code[a]: 0 for a in job.endpoints}, addresses)
