"""The wiring: records -> streams -> jobs -> layout -> operations -> findings -> report. Readable in one sitting."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import numpy as np

from capture.configured_rates import SamplingRates
from capture.transports import bytes_by_transport
from capture.transports import warnings as not_understood
from datamodel.cluster.endpoint_locations import EndpointLocations, locate_endpoints
from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame, concat
from datamodel.reconstructed.connections import ConnectionTables
from datamodel.reconstructed.streams import Bool, Int
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reconstructed.traffic import PostTraining, class_bytes
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Finding
from datamodel.reports.layout import FormerLayouts
from datamodel.reports.path_plan import PathPlan
from datamodel.reports.report import ExporterClock, FeedSummary, Provenance, Report, Window
from datamodel.telemetry.flows import Flows, IngestNotes
from datamodel.telemetry.ingest_result import IngestResult
from diagnose.cabling import CablingOptions, cabling_findings
from diagnose.diagnosis import DiagnosisOptions
from diagnose.feed_findings import SPOILS, FeedView, downgrade_findings, feed_findings
from diagnose.links.attachments import at_attachments
from diagnose.links.common_links import share_links
from diagnose.links.contention import reclassify_contention
from diagnose.measures.congestion_notifications import CongestionNotifications
from diagnose.paths.plan import plan_paths
from flowprism import __version__
from flowprism.analysis.job_account import with_account
from flowprism.analysis.job_analysis import JobResult, JobTables, analyze_job
from flowprism.analysis.job_linking import link_resized
from flowprism.analysis.job_selection import select_jobs
from flowprism.analysis.job_tasks import JobInputs, make_tasks
from flowprism.analysis.sampled_analysis import AnalysisContext, select_spare_samples, split_records
from flowprism.analysis.traffic_account import (
    TrafficInputs,
    account_traffic,
    post_training,
    sampled_records,
    serving_summary,
)
from flowprism.inputs.analysis_window import AnalysisWindow
from flowprism.inputs.feed_files import read_inputs
from flowprism.progress import Progress
from flowprism.worker_pool import WorkerPool, map_ordered
from reconstruct.clocks.buffered_datagrams import resolve_buffered_times
from reconstruct.clocks.clock_network import exporter_clocks
from reconstruct.clocks.clock_offsets import ClockOffset, UnknownClock, correct_times
from reconstruct.clocks.time_bounds import dates
from reconstruct.jobs.job_recognition import JobOptions, Recognition, find_jobs
from reconstruct.jobs.unreported_endpoints import add_unreported, find_unreported
from reconstruct.outages.outage_filling import fill_outages, outage_warnings
from reconstruct.paths.connection_table import connections
from reconstruct.periods.hidden_pauses import hides_pauses
from reconstruct.sampled.caches.cache_records import cache_records, with_cached, without_fragments
from reconstruct.sampled.caches.cached_bursts import comes_from_sampled_cache
from reconstruct.sampled.curves.sampled_volumes import sampled_volumes
from reconstruct.streams.endpoints import Merged, by_endpoint
from reconstruct.streams.hidden_rates import with_hidden_rates
from reconstruct.streams.networks import apart_by_network
from reconstruct.streams.observations import is_unsampled, select_primary
from reconstruct.streams.paths import SIDES, paths, select_uplink_records
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.operations import last_sent_ns
from reconstruct.traffic_classes.classification import ClassifiedTraffic
from reconstruct.traffic_classes.options import TrafficOptions
from strategy.placement import seats

# What is known of the feed, nothing asks for these columns any more.
SPENT = frozenset(
    {"ip_tos", "tcp_flags", "src_qp", "psn_last", "roce_opcode_first", "roce_opcode_last"}
    | {"message_bytes", "cnp_packets", "nak_packets", "trimmed_packets", "network", "metered"}
)


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """Thresholds of all stages, sampling rates that the operator knows better than the feed, and how to work.

    Attributes:
        period: what of the inputs is looked at.
        crew: workers that analyze jobs in parallel; the result is the same.
        tables: whether timelines and pair tables are wanted; without them those of the analysis are empty.
        paths: whether paths between switches are planned where records show them.
        former: layouts of jobs in the window before, by the addresses of all their endpoints.
    """

    jobs: JobOptions = field(default_factory=JobOptions)
    diagnosis: DiagnosisOptions = field(default_factory=DiagnosisOptions)
    traffic: TrafficOptions = field(default_factory=TrafficOptions)
    cabling: CablingOptions = field(default_factory=CablingOptions)
    rates: SamplingRates = field(default_factory=SamplingRates)
    period: AnalysisWindow = field(default_factory=AnalysisWindow)
    crew: WorkerPool = field(default_factory=WorkerPool)
    tables: bool = True
    paths: bool = True
    former: FormerLayouts = field(default_factory=dict)


def analyze(
    paths: Sequence[Path], inventory: Inventory | None, options: AnalysisOptions, progress: Progress | None = None
) -> Analysis:
    """Analyse mirrors and flow records of one window.

    Args:
        paths: captures, flow-record files or folders of collected records.
        inventory: what is known of the fabric; None for nothing.
        options: thresholds, and how to work.
        progress: called with the progress of reading and analyzing.

    Raises:
        InputError: a file cannot be used at all.
    """
    announce: Progress = progress or _ignore_progress
    inputs = tuple(path.name for path in paths)
    # the reading has no name here, so that `analyze_reading` can let go of it
    return analyze_reading(
        read_inputs(paths, partial(announce, "reading"), options.rates, options.period),
        inputs,
        inventory,
        options,
        announce,
    )


def analyze_reading(
    reading: IngestResult,
    inputs: tuple[str, ...],
    inventory: Inventory | None,
    options: AnalysisOptions,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse flow records that are in memory already; `inputs` are their names in the report."""
    announce: Progress = progress or _ignore_progress
    reading = _with_hidden_rates(reading)
    flows, shared = apart_by_network(reading.flows, inventory)
    reading = replace(reading, flows=flows, notes=_with_networks(reading.notes, shared))
    del flows
    kept = select_primary(reading.flows)
    exporters = {s.agent: s.name for s in inventory.switches if s.agent is not None} if inventory else {}
    carried = _connections(reading, kept, exporters, inventory) if options.paths else None
    second, window = int(np.count_nonzero(~kept)), _window(reading.flows, reading.heard_ns)
    merged = by_endpoint(reading.flows, kept, inventory)
    reading, kept = _by_endpoint(reading, merged), merged.kept
    addresses, by_address = merged.addresses, merged.parts
    del merged
    unreported = find_unreported(inventory, *(_named(reading.flows, of) for of in ("src_addr", "sampler_address")))
    reading = replace(reading, flows=_with_addresses(reading.flows, unreported.addresses))
    place = locate_endpoints(inventory, reading.flows.addresses)
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
    summary = _summary(reading, second, _clocks(place.addresses, clocks, unknown), _unmatched(inventory, place))
    about_cables = cabling_findings(
        reading.flows, inventory, exporters, (window.start_ns, window.end_ns), options.cabling
    )
    useful = kept if kept.all() else kept | select_spare_samples(reading.flows, kept)
    flows, kept = (reading.flows, kept) if useful.all() else (reading.flows.take(useful), kept[useful])
    metered = reading.metered
    lossy = metered and max((account.loss_ratio for account in reading.accounts), default=0) >= SPOILS
    complete = is_unsampled(flows.frame)  # without any there are no streams whose paths could be asked for
    passing = select_uplink_records(reading.flows, exporters, place.links) if complete.any() else None
    reports_ns, accounts = _reports_ns(reading), reading.accounts
    del reading  # the streams hold what later stages need; all together is too much of a large cluster
    notices = _notices(flows, clocks)
    from_cache = comes_from_sampled_cache(flows, complete)
    flows = correct_times(Flows(flows.frame.without(SPENT), flows.addresses), clocks)
    services = _services(inventory, flows.addresses)
    codes = {address: code for code, address in enumerate(flows.addresses)} if unreported.addresses else {}
    ranks = frozenset(codes[a] for a in unreported.ranks & codes.keys())
    counted = resolve_buffered_times(flows if complete.all() else flows.take(complete))
    when, cached = dates(counted), cache_records(flows.take(from_cache & kept)) if from_cache.any() else None
    if cached is not None:
        counted, cached = with_cached(
            counted, cached, lambda streams, hidden: find_jobs(streams, services, options.jobs, hosts, ranks, hidden)
        )
    flow = fill_outages(build_streams(counted), options.jobs.coherence)
    del counted
    ways = paths(correct_times(passing, clocks), flow, exporters, place.links) if passing is not None else None
    hidden = hides_pauses(flow) if metered else np.zeros(len(flow), np.bool_)
    if cached is not None:
        hidden |= cached.hidden(flow)
    parts = split_records(flows, kept, complete, flow, hidden, metered=metered)
    samples = sampled_records(flows, kept & ~from_cache)
    del flows, passing
    found = find_jobs(flow, services, options.jobs, hosts, ranks, hidden)
    if cached is not None:
        found = without_fragments(found, cached, services, hosts)
    silent = np.zeros(len(flow.addresses), np.bool_)
    silent[[codes[a] for a in unreported.addresses if a in codes]] = True
    found = replace(found, jobs=add_unreported(flow, found.jobs, silent, hosts))
    where = seats(inventory, flow.addresses)
    scene = JobInputs(
        flow, window, place, where, last_sent_ns(flow), notices, inventory, metered, ways, when, silent, options.former,
        cached,
    )  # fmt: skip
    around = AnalysisContext(
        place, where, services, hosts, scene.labels(), exporters, options.diagnosis, reports_ns, metered=metered,
        tables=options.tables, former=options.former,
    )  # fmt: skip
    further, found = select_jobs(scene, parts, around, found)
    uses = account_traffic(
        TrafficInputs(flow, samples, services, inventory, found.stepping, hidden),
        found.jobs,
        [r.report for r in further],
        options.traffic,
    )
    del samples, parts
    results = _with_weights(_job_results(scene, found, uses, options, announce), post_training(uses, flow.addresses))
    linked, names = link_resized(flow, found.jobs, results, where)
    located = _findings(scene, found, results, names)
    if by_address is not None:
        located = at_attachments(located, by_address, addresses, inventory)
    findings = _by_severity(
        [
            *downgrade_findings(located, lossy=lossy and not flow.trains.any()),
            *(f for r in further for f in r.findings),
            *about_feed,
            *about_cables,
        ]
    )
    happened = tuple(
        sorted((e for r in [*linked, *further] for e in r.events), key=lambda e: (e.start_ns, e.job, e.kind))
    )
    report = Report(
        provenance=_provenance(inputs, inventory, options),
        window=window,
        feed=summary.model_copy(
            update={
                "traffic_classes": class_bytes(uses.traffic),
                "filled_records": len(flow.filled_rows) + (cached.unseen if cached is not None else 0),
                "warnings": (*summary.warnings, *outage_warnings(flow)),
            }
        ),
        serving=serving_summary(uses.serving),
        jobs=tuple(with_account(r.report, happened, findings) for r in [*linked, *further]),
        unassigned=_unassigned(found.unassigned, window),
        events=happened,
        findings=findings,
    )
    plan = plan_paths(carried, report, inventory) if carried is not None and inventory is not None else None
    report = report if plan is None else _with_paths(report, plan)
    tables = {r.report.id: r.tables for r in [*linked, *further] if r.tables is not None}
    pairs, *others = (
        {job: getattr(t, name) for job, t in tables.items()} for name in ("pairs", "rates", "patterns", "functions")
    )
    rates, behavior, functions = ({job: rows for job, rows in of.items() if len(rows)} for of in others)
    timelines = _timelines(flow.addresses, tables)
    return Analysis(report, timelines, pairs, rates, accounts, plan, uses.traffic, uses.serving, behavior, functions)


def _with_weights(results: Sequence[JobResult], weights: Mapping[int, PostTraining]) -> list[JobResult]:
    """Results with what jobs of reinforcement learning do between their steps."""
    return [
        replace(one, report=one.report.model_copy(update={"post_training": weights.get(number)}))
        for number, one in enumerate(results)
    ]


def _connections(
    reading: IngestResult, kept: Bool, exporters: Mapping[str, str], inventory: Inventory | None
) -> ConnectionTables | None:
    """Connections and the cables they were seen on; None where records name no interface, or the inventory no cable."""
    flows = reading.flows
    if inventory is None or not inventory.links or not any(flows.frame[side].any() for side, _ in SIDES):
        return None
    volume = sampled_volumes(flows, kept)
    found = connections(flows, kept, exporters, inventory.cables(), reading.counters, volume)
    return found if len(found.sightings) else None


def _with_paths(report: Report, plan: PathPlan) -> Report:
    """The report with how unevenly each job uses uplinks, and what the plan finds, in place of findings it explains."""
    worst: dict[str, float] = {}
    for one in plan.balance:
        worst[one.job] = max(one.now, worst.get(one.job, 0.0))
    jobs = tuple(job.model_copy(update={"uplink_imbalance": worst.get(job.id) or None}) for job in report.jobs)
    findings = {f.id: f for f in (*report.findings, *plan.findings)}
    return report.model_copy(update={"jobs": jobs, "findings": _by_severity([*findings.values()])})


def _with_networks(notes: IngestNotes, shared: tuple[str, ...]) -> IngestNotes:
    """The notes with a word on addresses that several networks use."""
    if not shared:
        return notes
    used = (
        f"{len(shared)} address{'es are' if len(shared) > 1 else ' is'} used in several networks (such as {shared[0]})"
    )
    said = f"{used}: each is an endpoint of its own, unless `networks` of a tenant in the inventory says they are one"
    return replace(notes, warnings=(*notes.warnings, said))


def _by_endpoint(reading: IngestResult, merged: Merged) -> IngestResult:
    """Merge each endpoint's addresses into one, with a warning on undeclared ones."""
    warnings = reading.notes.warnings
    if merged.inferred:
        found = f"{merged.inferred} endpoint{'s' if merged.inferred > 1 else ''}"
        said = f"{found} with several addresses that the inventory does not declare: they share packets of queue pairs"
        warnings = (*warnings, said)
    if merged.lost:
        said = f"{len(merged.lost)} destination{'s' if len(merged.lost) > 1 else ''} (such as {merged.lost[0]})"
        said += " that never send look like segments of SRv6: declare each among the addresses of its endpoint"
        warnings = (*warnings, said)
    return replace(reading, flows=merged.flows, notes=replace(reading.notes, warnings=warnings))


def _with_hidden_rates(reading: IngestResult) -> IngestResult:
    """The records with the sampling rates that exporters hid in their counts, and a warning for each."""
    flows, hidden = with_hidden_rates(reading.flows)
    if not hidden:
        return reading
    notes = replace(reading.notes, warnings=(*reading.notes.warnings, *(each.warning() for each in hidden)))
    return replace(reading, flows=flows, notes=notes)


def _notices(flows: Flows, clocks: Sequence[ClockOffset]) -> CongestionNotifications:
    """Congestion notifications of all records that count every packet, by corrected clocks."""
    notices = flows.take(np.flatnonzero(flows.frame["cnp_packets"]))
    return CongestionNotifications.of(correct_times(notices.take(is_unsampled(notices.frame)), clocks))


def _named(flows: Flows, column: str) -> frozenset[str]:
    """Addresses that a column names."""
    times = np.bincount(flows.frame[column] + 1, minlength=len(flows.addresses) + 1)[1:]
    return frozenset(flows.addresses[code] for code in np.flatnonzero(times).tolist())


def _with_addresses(flows: Flows, further: Sequence[str]) -> Flows:
    """The records with codes for further addresses too."""
    known = frozenset(flows.addresses)
    return Flows(flows.frame, (*flows.addresses, *(a for a in further if a not in known)))


def _reports_ns(reading: IngestResult) -> dict[tuple[int, int], int]:
    """Code of each exporter's address, and its domain -> when its last datagram arrived."""
    codes = {address: code for code, address in enumerate(reading.flows.addresses)}
    frame = reading.flows.frame
    if reading.heard_ns is not None:
        points = np.unique(frame["sampler_address"].astype(np.int64) << 32 | frame["observation_domain_id"])
        return dict.fromkeys(((point >> 32, point & 0xFFFFFFFF) for point in points.tolist()), reading.heard_ns)
    return {(codes[a.agent], a.domain): a.last_ns for a in reading.accounts if a.agent in codes}


def _ignore_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


def _job_results(
    scene: JobInputs, found: Recognition, uses: ClassifiedTraffic, options: AnalysisOptions, announce: Progress
) -> list[JobResult]:
    """Every job analysed, in the jobs' order."""
    jobs = len(found.jobs)
    results: list[JobResult] = []
    task = make_tasks(scene, found, uses, options.diagnosis, tables=options.tables)
    for result in map_ordered(analyze_job, task, jobs, options.crew):
        announce("analyzing jobs", len(results), jobs)
        results.append(result)
    announce("analyzing jobs", jobs, jobs)
    return results


def _services(inventory: Inventory | None, addresses: Sequence[str]) -> frozenset[int]:
    """Codes of addresses inside the inventory's service networks."""
    if inventory is None or not inventory.services:
        return frozenset()
    found = set()
    for code, text in enumerate(addresses):
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            continue  # an exporter's name, not an address
        if any(address in network for network in inventory.services):
            found.add(code)
    return frozenset(found)


def _window(flows: Flows, heard_ns: int | None) -> Window:
    if not len(flows):
        return Window(start_ns=0, end_ns=0)
    frame = flows.frame
    end_ns = max(int(frame["time_flow_end_ns"].max()), heard_ns or 0)
    return Window(start_ns=int(frame["time_flow_start_ns"].min()), end_ns=end_ns)


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
    observed = [
        ExporterClock(
            exporter=addresses[clock.sampler],
            offset_s=round(clock.offset_ns / 1e9, 9),
            drift_ppm=round(clock.drift_ppm, 3),
            error_s=round(clock.error_ns / 1e9, 9),
            against=clock.against,
        )
        for clock in known
    ]
    return (*observed, *(ExporterClock(exporter=addresses[clock.sampler], why=clock.why) for clock in unknown))


def _unmatched(inventory: Inventory | None, place: EndpointLocations) -> tuple[str, ...]:
    """The warning that an inventory names none of the addresses seen; it is another fabric's, or outdated."""
    if inventory is None or not inventory.hosts or place.host or not place.addresses:
        return ()
    return (f"the inventory names none of the {len(place.addresses)} addresses in the records",)


def _summary(
    reading: IngestResult, duplicate_observations: int, clocks: tuple[ExporterClock, ...], warnings: tuple[str, ...]
) -> FeedSummary:
    transports = bytes_by_transport(reading.flows.frame)
    return FeedSummary(
        records=reading.records,
        bytes=reading.bytes,
        exporters=reading.exporters,
        lost_datagrams=sum(account.lost_datagrams for account in reading.accounts),
        duplicate_observations=duplicate_observations,
        transports=transports,
        trimmed_packets=int(reading.flows.frame["trimmed_packets"].sum()),
        clocks=clocks,
        rejected=dict(reading.notes.rejected),
        warnings=(*reading.notes.warnings, *not_understood(transports), *warnings),
    )


def _findings(
    scene: JobInputs, found: Recognition, results: list[JobResult], names: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Diagnose each job, given what the others did; `names` are those of jobs that others go on as.

    What was on when such a job fell silent ended when it went on.
    """
    begins_ns = {r.report.id: job.start_ns for r, job in zip(results, found.jobs, strict=True)}
    endpoints = {r.report.id: job.endpoints for r, job in zip(results, found.jobs, strict=True)}
    periods_ns = {r.report.id: round((r.report.period_s or 0.0) * 1e9) for r in results}
    shared, alike = share_links([f for r in results for f in r.findings], periods_ns, scene.place, names)
    located = reclassify_contention(shared, endpoints, scene.flow, scene.place, scene.paths, alike)
    return tuple(
        f.model_copy(update={"job": later, "end_ns": begins_ns[later] if f.end_ns is None else f.end_ns})
        if (later := names.get(f.job or "")) is not None
        else f
        for f in located
    )


def _by_severity(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    order = {"critical": 0, "warning": 1, "info": 2}
    return tuple(sorted(findings, key=lambda f: (order[f.severity], f.start_ns, f.id)))


def _unassigned(reasons: Mapping[str, Int], window: Window) -> tuple[str, ...]:
    if not window.end_ns:
        return ("the input holds no usable flow record",)
    return tuple(f"{len(ends)} endpoint{'s' if len(ends) > 1 else ''}: {reason}" for reason, ends in reasons.items())


def _flat_options(options: AnalysisOptions) -> dict[str, str | int | float | bool | None]:
    flat: dict[str, str | int | float | bool | None] = {}
    for part, values in (
        ("jobs", options.jobs),
        ("diagnosis", options.diagnosis),
        ("traffic", options.traffic),
        ("cabling", options.cabling),
    ):
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
