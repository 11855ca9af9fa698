"""The wiring: records -> streams -> jobs -> layout -> operations -> findings -> report. Readable in one sitting."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import numpy as np

from capture.sampling import SamplingRates
from datamodel.analysis import Analysis
from datamodel.fabric import Fabric, fabric
from datamodel.findings import Finding
from datamodel.flows import FLOWS, Flows
from datamodel.frame import Frame, concat
from datamodel.inventory import Inventory
from datamodel.paths import Paths
from datamodel.reading import Reading
from datamodel.report import ExporterClock, FeedSummary, Provenance, Report, Window
from datamodel.streams import Int, Streams
from datamodel.timeline import SPANS, Timelines
from diagnose.contention import contended
from diagnose.diagnosis import DiagnosisOptions
from diagnose.feeds import SPOILS, FeedView, doubted, feed_findings
from diagnose.queues import Notices
from diagnose.readiness import ready_messages
from flowprism import __version__
from flowprism.further_jobs import further_jobs
from flowprism.inputs import read_inputs
from flowprism.job_analysis import JobResult, JobTables, JobTask, analysed
from flowprism.job_report import job_id
from flowprism.period import Period
from flowprism.progress import Progress
from flowprism.sampled_analysis import Around, apart, aside
from flowprism.workers import Crew, in_order
from reconstruct.clock_network import exporter_clocks
from reconstruct.clocks import ClockOffset, UnknownClock, corrected
from reconstruct.dates import Dates, dates
from reconstruct.held import settled
from reconstruct.job_streams import job_streams
from reconstruct.jobs import Job, JobOptions, Recognition, recognise
from reconstruct.operations import last_sent_ns
from reconstruct.paths import at_cables, paths
from reconstruct.sightings import carrying, whole
from reconstruct.streams import streams
from strategy.placement import Seat, seats

# What is known of the feed, nothing asks for these columns any more.
SPENT = frozenset(
    {"ip_tos", "tcp_flags", "src_qp", "psn_last", "roce_opcode_first", "roce_opcode_last"}
    | {"message_bytes", "cnp_packets", "nak_packets", "metered"}
)


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """Thresholds of all stages, sampling rates that the operator knows better than the feed, and how to work.

    Attributes:
        period: what of the inputs is looked at.
        crew: who analyses jobs side by side, where there is enough to do; the result is the same.
        tables: whether timelines and pair tables are wanted; without them those of the analysis are empty.
    """

    jobs: JobOptions = field(default_factory=JobOptions)
    diagnosis: DiagnosisOptions = field(default_factory=DiagnosisOptions)
    rates: SamplingRates = field(default_factory=SamplingRates)
    period: Period = field(default_factory=Period)
    crew: Crew = field(default_factory=Crew)
    tables: bool = True


@dataclass(frozen=True, slots=True)
class _Scene:
    """What the jobs of one window are cut from."""

    flow: Streams
    window: Window
    place: Fabric
    seats: dict[int, Seat]
    last_sent_ns: dict[int, int]
    notices: Notices
    inventory: Inventory | None
    metered: bool
    paths: Paths | None
    dates: Dates | None

    def labels(self) -> Inventory | None:
        """The inventory without what is known of each endpoint."""
        return self.inventory and self.inventory.model_copy(update={"hosts": (), "switches": (), "links": ()})


def analyze(
    paths: Sequence[Path], inventory: Inventory | None, options: AnalysisOptions, progress: Progress | None = None
) -> Analysis:
    """Analyse mirrors and flow records of one window.

    Args:
        paths: captures, flow-record files or folders of collected records.
        inventory: what is known of the fabric; None for nothing.
        options: thresholds, and how to work.
        progress: told how far reading and analysing are.

    Raises:
        InputError: a file cannot be used at all.
    """
    told: Progress = progress or _nobody_listens
    inputs = tuple(path.name for path in paths)
    # the reading has no name here, so that `analyze_reading` can let go of it
    return analyze_reading(
        read_inputs(paths, partial(told, "reading"), options.rates, options.period), inputs, inventory, options, told
    )


def analyze_reading(
    reading: Reading,
    inputs: tuple[str, ...],
    inventory: Inventory | None,
    options: AnalysisOptions,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse flow records that are in memory already; `inputs` are their names in the report."""
    told: Progress = progress or _nobody_listens
    kept = carrying(reading.flows)
    second, window = int(np.count_nonzero(~kept)), _window(reading.flows)
    exporters = {s.agent: s.name for s in inventory.switches if s.agent is not None} if inventory else {}
    place = fabric(inventory, reading.flows.addresses)
    hosts = [place.host.get(n) for n in range(len(place.addresses))] if place.host else None
    clocks, unknown = exporter_clocks(reading.flows, hosts)
    about_feed = feed_findings(
        FeedView(
            reading.accounts,
            reading.flows,
            (window.start_ns, window.end_ns),
            exporters,
            clocks,
            unknown,
            place.switch,
            kept,
        )
    )
    summary = _summary(reading, second, _clocks(place.addresses, clocks, unknown))
    useful = kept if kept.all() else kept | aside(reading.flows, kept)
    flows, kept = (reading.flows, kept) if useful.all() else (reading.flows.take(useful), kept[useful])
    metered = reading.metered
    lossy = metered and max((account.loss_ratio for account in reading.accounts), default=0) >= SPOILS
    complete = whole(flows.frame)  # without any there are no streams whose paths could be asked for
    passing = at_cables(reading.flows, exporters, place.links) if complete.any() else None
    reports_ns = _reports_ns(reading)
    del reading  # the streams hold what later stages need; all together is too much of a large cluster
    notices = _notices(flows, clocks)
    flows = corrected(Flows(flows.frame.without(SPENT), flows.addresses), clocks)
    counted = settled(flows if complete.all() else flows.take(complete))
    flow, when = streams(counted), dates(counted)
    del counted
    ways = paths(corrected(passing, clocks), flow, exporters, place.links) if passing is not None else None
    parts = apart(flows, kept, complete, flow, options.jobs.covered_share)
    del flows, passing
    services = _services(inventory, flow.addresses)
    found = recognise(flow, services, options.jobs, hosts)
    where = seats(inventory, flow.addresses)
    scene = _Scene(flow, window, place, where, last_sent_ns(flow), notices, inventory, metered, ways, when)
    around = Around(
        place, where, services, hosts, scene.labels(), exporters, options.diagnosis, reports_ns, metered=metered
    )
    further, found = further_jobs(flow, parts, around, found)
    results = _job_results(scene, found, options, told)
    report = Report(
        provenance=_provenance(inputs, inventory, options),
        window=window,
        feed=summary,
        jobs=tuple(r.report for r in [*results, *further]),
        unassigned=_unassigned(found.unassigned, window),
        events=tuple(sorted((e for r in results for e in r.events), key=lambda e: (e.start_ns, e.job, e.kind))),
        findings=_by_severity(
            [
                *doubted(_findings(scene, found, results), lossy=lossy and not flow.trains.any()),
                *(f for r in further for f in r.findings),
                *about_feed,
            ]
        ),
    )
    tables = {r.report.id: r.tables for r in results if r.tables is not None}
    return Analysis(report, _timelines(flow.addresses, tables), {job: t.pairs for job, t in tables.items()})


def _notices(flows: Flows, clocks: Sequence[ClockOffset]) -> Notices:
    """Congestion notifications of all records that count every packet, by corrected clocks."""
    told = flows.take(np.flatnonzero(flows.frame["cnp_packets"]))
    return Notices.of(corrected(told.take(whole(told.frame)), clocks))


def _reports_ns(reading: Reading) -> dict[tuple[int, int], int]:
    """Code of each exporter's address, and its domain -> when its last datagram arrived."""
    codes = {address: code for code, address in enumerate(reading.flows.addresses)}
    return {(codes[a.agent], a.domain): a.last_ns for a in reading.accounts if a.agent in codes}


def _nobody_listens(stage: str, done: int, total: int) -> None:
    """Progress of an analysis that nobody watches."""


def _job_results(scene: _Scene, found: Recognition, options: AnalysisOptions, told: Progress) -> list[JobResult]:
    """Every job analysed, in the jobs' order."""
    jobs = len(found.jobs)
    results: list[JobResult] = []
    for result in in_order(analysed, _tasks(scene, found, options), jobs, options.crew):
        told("analysing jobs", len(results), jobs)
        results.append(result)
    told("analysing jobs", jobs, jobs)
    return results


def _tasks(scene: _Scene, found: Recognition, options: AnalysisOptions) -> Callable[[int], JobTask]:
    """What makes the task of a job, by the job's number."""
    job_of, labels, names = _job_of(scene.flow, found), scene.labels(), _names(scene.flow, found)
    between, beside = _between_jobs(scene.flow, job_of), _beside_jobs(scene.flow, job_of, found)
    on_host: dict[str, list[int]] = {}
    for code, seat in scene.seats.items():
        on_host.setdefault(seat.host, []).append(code)

    def task(number: int) -> JobTask:
        job = found.jobs[number]
        members = job.endpoints.tolist()
        flow, own = job_streams(scene.flow, job)
        return JobTask(
            number=number,
            id=names[number],
            streams=flow,
            job=own,
            outside=_outside(between, job),
            window=scene.window,
            place=scene.place.around(members),
            seats=_seats_beside(scene.seats, on_host, members),
            last_sent_ns={e: scene.last_sent_ns[e] for e in members if e in scene.last_sent_ns},
            ready=ready_messages(beside, flow, job),
            notices=scene.notices.among(job.endpoints),
            labels=labels,
            options=options.diagnosis,
            tables=options.tables,
            metered=scene.metered,
            paths=scene.paths.of(np.unique(job.stream_numbers)) if scene.paths is not None else None,
            dates=scene.dates.among(job.endpoints) if scene.dates is not None else None,
        )

    return task


def _names(flow: Streams, found: Recognition) -> list[str]:
    """A name for each job; jobs of the same endpoints, one after the other, have names of their own."""
    ends = [tuple(flow.addresses[e] for e in job.endpoints.tolist()) for job in found.jobs]
    return [job_id(own, ends[:n].count(own)) for n, own in enumerate(ends)]


def _seats_beside(known: dict[int, Seat], on_host: dict[str, list[int]], members: list[int]) -> dict[int, Seat]:
    """Seats of a job's endpoints and of all others on its hosts: whether it fills them tells what may be missing."""
    hosts = dict.fromkeys(known[e].host for e in members if e in known)
    return {e: known[e] for host in hosts for e in on_host[host]}


def _job_of(flow: Streams, found: Recognition) -> Int:
    """(addresses,) number of the job that each is an endpoint of; -1 for none."""
    job_of = np.full(len(flow.addresses), -1, np.int64)
    for number, job in enumerate(found.jobs):
        job_of[job.endpoints] = number
    return job_of


def _between_jobs(flow: Streams, job_of: Int) -> Streams:
    """Streams between an endpoint of a job and one that is not of that job."""
    return flow.take(np.flatnonzero(job_of[flow.src] != job_of[flow.dst]))


def _beside_jobs(flow: Streams, job_of: Int, found: Recognition) -> Streams:
    """Streams between two endpoints of one job that are no part of it."""
    beside = (job_of[flow.src] >= 0) & (job_of[flow.src] == job_of[flow.dst])
    for job in found.jobs:
        beside[job.stream_numbers] = False
    return flow.take(np.flatnonzero(beside))


def _outside(between: Streams, job: Job) -> Frame:
    """Rows between a job's endpoints and others."""
    touching = np.isin(between.src, job.endpoints) | np.isin(between.dst, job.endpoints)
    rows = between.take(np.flatnonzero(touching))
    ends = {"src_addr": rows.src, "dst_addr": rows.dst}
    count = np.diff(rows.offsets)
    times = {"time_flow_start_ns": rows.start_ns, "time_flow_end_ns": rows.end_ns}
    return Frame(FLOWS, {**times, **{n: np.repeat(v, count) for n, v in ends.items()}, "bytes": rows.bytes})


def _services(inventory: Inventory | None, addresses: Sequence[str]) -> frozenset[int]:
    """Codes of addresses inside the inventory's service networks."""
    if inventory is None or not inventory.services:
        return frozenset()
    found = set()
    for code, text in enumerate(addresses):
        try:
            address = ip_address(text)
        except ValueError:
            continue  # an exporter's name, not an address
        if any(address in network for network in inventory.services):
            found.add(code)
    return frozenset(found)


def _window(flows: Flows) -> Window:
    if not len(flows):
        return Window(start_ns=0, end_ns=0)
    frame = flows.frame
    return Window(start_ns=int(frame["time_flow_start_ns"].min()), end_ns=int(frame["time_flow_end_ns"].max()))


def _timelines(addresses: tuple[str, ...], tables: Mapping[str, JobTables]) -> Timelines:
    parts: list[Frame] = []
    names: list[str] = []
    for own in tables.values():
        group = own.spans["group"]
        parts.append(own.spans.replace(group=np.where(group >= 0, group + len(names), -1)))
        names += own.groups
    return Timelines(concat(SPANS, parts), addresses, tuple(tables), tuple(names))


def _provenance(inputs: tuple[str, ...], inventory: Inventory | None, options: AnalysisOptions) -> Provenance:
    flat, digest = _flat_options(options), _digest(inventory)
    return Provenance(version=__version__, options=flat, inventory_sha256=digest, inputs=inputs)


def _clocks(
    addresses: Sequence[str], known: Sequence[ClockOffset], unknown: Sequence[UnknownClock]
) -> tuple[ExporterClock, ...]:
    told = [
        ExporterClock(
            exporter=addresses[clock.sampler],
            offset_s=round(clock.offset_ns / 1e9, 9),
            drift_ppm=round(clock.drift_ppm, 3),
            error_s=round(clock.error_ns / 1e9, 9),
            against=clock.against,
        )
        for clock in known
    ]
    return (*told, *(ExporterClock(exporter=addresses[clock.sampler], why=clock.why) for clock in unknown))


def _summary(reading: Reading, second_sightings: int, clocks: tuple[ExporterClock, ...]) -> FeedSummary:
    return FeedSummary(
        records=reading.records,
        bytes=reading.bytes,
        exporters=reading.exporters,
        lost_datagrams=sum(account.lost_datagrams for account in reading.accounts),
        second_sightings=second_sightings,
        clocks=clocks,
        rejected=dict(reading.notes.rejected),
        warnings=reading.notes.warnings,
    )


def _findings(scene: _Scene, found: Recognition, results: list[JobResult]) -> tuple[Finding, ...]:
    """Every job's findings, seen beside what the others did."""
    endpoints = {r.report.id: job.endpoints for r, job in zip(results, found.jobs, strict=True)}
    return contended([f for r in results for f in r.findings], endpoints, scene.flow, scene.place, scene.paths)


def _by_severity(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    order = {"critical": 0, "warning": 1, "info": 2}
    return tuple(sorted(findings, key=lambda f: (order[f.severity], f.start_ns, f.id)))


def _unassigned(reasons: Mapping[str, Int], window: Window) -> tuple[str, ...]:
    if not window.end_ns:
        return ("the input holds no usable flow record",)
    return tuple(f"{len(ends)} endpoint{'s' if len(ends) > 1 else ''}: {reason}" for reason, ends in reasons.items())


def _flat_options(options: AnalysisOptions) -> dict[str, str | int | float | bool | None]:
    flat: dict[str, str | int | float | bool | None] = {}
    for part, values in (("jobs", options.jobs), ("diagnosis", options.diagnosis)):
        for name in values.__slots__:
            flat[f"{part}.{name}"] = getattr(values, name)
    for exporter, rate in options.rates.by_exporter.items():
        flat[f"rates.{exporter}"] = rate
    if options.period.last_ns is not None:
        flat["period.last_s"] = options.period.last_ns / 1e9
    if options.rates.otherwise:
        flat["rates.otherwise"] = options.rates.otherwise
    return dict(sorted(flat.items()))


def _digest(inventory: Inventory | None) -> str | None:
    if inventory is None:
        return None
    text = json.dumps(inventory.model_dump(mode="json", by_alias=True), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
