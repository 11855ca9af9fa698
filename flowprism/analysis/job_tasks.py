"""What the analysis of each job needs, cut from what is known of the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame
from datamodel.reconstructed.paths import Paths
from datamodel.reconstructed.streams import Bool, Int, Streams
from datamodel.reconstructed.traffic import ROLLOUT, WEIGHT_SYNC
from datamodel.reports.layout import FormerLayouts
from datamodel.reports.report import Window
from datamodel.telemetry.flows import FLOWS
from diagnose.diagnosis import DiagnosisOptions
from diagnose.events import NO_SYNCS
from diagnose.measures.clear_to_send import ready_messages
from diagnose.measures.congestion_notifications import CongestionNotifications
from flowprism.analysis.job_analysis import JobTask
from flowprism.analysis.job_changes import job_changes
from flowprism.analysis.job_layout import LayoutInputs
from flowprism.analysis.job_report import job_id
from flowprism.analysis.traffic_account import syncs_ns
from reconstruct.clocks.time_bounds import TimeBounds
from reconstruct.jobs.job_recognition import Job, Recognition
from reconstruct.jobs.job_streams import job_streams
from reconstruct.sampled.caches.cache_records import CacheRecords
from reconstruct.traffic_classes.classification import ClassifiedTraffic
from strategy.placement import Seat


@dataclass(frozen=True, slots=True)
class JobInputs:
    """What the jobs of one window are cut from.

    `former` has their layouts in the window before; `cached` what caches counted that are fed with sampled packets.
    """

    flow: Streams
    window: Window
    place: EndpointLocations
    seats: dict[int, Seat]
    last_sent_ns: dict[int, int]
    notices: CongestionNotifications
    inventory: Inventory | None
    metered: bool
    paths: Paths | None
    dates: TimeBounds | None
    silent: Bool
    former: FormerLayouts
    cached: CacheRecords | None

    def labels(self) -> Inventory | None:
        """The inventory without what is known of each endpoint."""
        return self.inventory and self.inventory.model_copy(update={"hosts": (), "switches": (), "links": ()})


def layout_inputs(scene: JobInputs, job: Job) -> LayoutInputs:
    """What the layout of a job is inferred from, but for changes of its members."""
    flow, own = job_streams(scene.flow, job)
    return LayoutInputs(
        streams=flow,
        job=own,
        seats=scene.seats,
        unreported=job.endpoints[scene.silent[job.endpoints]],
        drawn=scene.cached.of(job.endpoints) if scene.cached is not None else None,
        former=scene.former.get(frozenset(scene.place.names(job.endpoints))),
    )


def make_tasks(
    scene: JobInputs, found: Recognition, uses: ClassifiedTraffic, options: DiagnosisOptions, *, tables: bool
) -> Callable[[int], JobTask]:
    """What makes the task of a job, by the job's number."""
    job_of, labels, names = _job_of(scene.flow, found), scene.labels(), _names(scene.flow, found)
    across = np.flatnonzero(job_of[scene.flow.src] != job_of[scene.flow.dst])
    between, remaining = scene.flow.take(across), _beside_jobs(scene.flow, job_of, found)
    looped, syncs = np.isin(uses.of_stream[across], [WEIGHT_SYNC, ROLLOUT]), syncs_ns(uses)
    on_host: dict[str, list[int]] = {}
    for code, seat in scene.seats.items():
        on_host.setdefault(seat.host, []).append(code)

    def task(number: int) -> JobTask:
        job = found.jobs[number]
        members = job.endpoints.tolist()
        flow, own = job_streams(scene.flow, job)
        seats = _seats_beside(scene.seats, on_host, members)
        return JobTask(
            number=number,
            id=names[number],
            streams=flow,
            job=own,
            outside=_outside(between, looped, job),
            window=scene.window,
            place=scene.place.around(members),
            seats=seats,
            last_sent_ns={e: scene.last_sent_ns[e] for e in members if e in scene.last_sent_ns},
            ready=ready_messages(remaining, job),
            notices=scene.notices.among(job.endpoints),
            labels=labels,
            options=options,
            tables=tables,
            metered=scene.metered,
            paths=scene.paths.of(np.unique(job.stream_numbers)) if scene.paths is not None else None,
            dates=scene.dates.among(job.endpoints) if scene.dates is not None else None,
            unreported=job.endpoints[scene.silent[job.endpoints]],
            changes=job_changes(flow, own.edges_ns, (between, remaining), job.endpoints, scene.seats),
            syncs_ns=syncs.get(number, NO_SYNCS),
            drawn=scene.cached.of(job.endpoints) if scene.cached is not None else None,
            former=scene.former.get(frozenset(scene.place.names(job.endpoints))),
        )

    return task


def _names(flow: Streams, found: Recognition) -> list[str]:
    """A name for each job; jobs of the same endpoints, one after the other, have names of their own."""
    ends = [tuple(flow.addresses[e] for e in job.endpoints.tolist()) for job in found.jobs]
    return [job_id(own, ends[:n].count(own)) for n, own in enumerate(ends)]


def _seats_beside(known: dict[int, Seat], on_host: dict[str, list[int]], members: list[int]) -> dict[int, Seat]:
    """Count a job's endpoints and all others on its hosts: whether it fills them shows what may be missing."""
    hosts = dict.fromkeys(known[e].host for e in members if e in known)
    return {e: known[e] for host in hosts for e in on_host[host]}


def _job_of(flow: Streams, found: Recognition) -> Int:
    """(addresses,) number of the job that each is an endpoint of; -1 for none."""
    job_of = np.full(len(flow.addresses), -1, np.int64)
    for number, job in enumerate(found.jobs):
        job_of[job.endpoints] = number
    return job_of


def _beside_jobs(flow: Streams, job_of: Int, found: Recognition) -> Streams:
    """Streams between two endpoints of one job that are no part of it."""
    remaining = (job_of[flow.src] >= 0) & (job_of[flow.src] == job_of[flow.dst])
    for job in found.jobs:
        remaining[job.stream_numbers] = False
    return flow.take(np.flatnonzero(remaining))


def _outside(between: Streams, looped: Bool, job: Job) -> Frame:
    """Rows between a job's endpoints and others, without the streams of its loop of reinforcement learning."""
    touching = np.isin(between.src, job.endpoints) | np.isin(between.dst, job.endpoints)
    rows = between.take(np.flatnonzero(touching & ~looped))
    ends = {"src_addr": rows.src, "dst_addr": rows.dst}
    count = np.diff(rows.offsets)
    times = {"time_flow_start_ns": rows.start_ns, "time_flow_end_ns": rows.end_ns}
    return Frame(FLOWS, {**times, **{n: np.repeat(v, count) for n, v in ends.items()}, "bytes": rows.bytes})
