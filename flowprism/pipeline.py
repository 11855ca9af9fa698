"""The wiring: records -> streams -> jobs -> layout -> operations -> findings -> report. Readable in one sitting."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import numpy as np

from capture.sampling import SamplingRates
from datamodel.analysis import Analysis
from datamodel.fabric import Fabric, fabric
from datamodel.findings import Event, Finding
from datamodel.frame import Frame, concat
from datamodel.inventory import Inventory
from datamodel.reading import Reading
from datamodel.report import FeedSummary, Provenance, Report, Window
from datamodel.streams import Streams
from datamodel.timeline import SPANS, Timelines
from datamodel.transfers import ROLES
from diagnose.diagnosis import DiagnosisOptions, diagnose
from diagnose.events import events
from diagnose.job import JobView
from diagnose.pairs import pair_table
from flowprism import __version__
from flowprism.inputs import read_inputs
from flowprism.job_report import job_id, job_report
from flowprism.progress import Progress
from reconstruct.jobs import Job, JobOptions, Recognition, recognise
from reconstruct.operations import last_sent_ns, operations
from reconstruct.streams import streams
from reconstruct.timelines import group_names, spans
from reconstruct.transfers import transfers
from strategy.layout import Strategy, infer
from strategy.placement import Seat, seats


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """Thresholds of all stages, and sampling rates that the operator knows better than the feed."""

    jobs: JobOptions = field(default_factory=JobOptions)
    diagnosis: DiagnosisOptions = field(default_factory=DiagnosisOptions)
    rates: SamplingRates = field(default_factory=SamplingRates)


@dataclass(frozen=True, slots=True)
class _Feed:
    """What all jobs of one window are analysed from."""

    reading: Reading
    flow: Streams
    window: Window
    place: Fabric
    seats: dict[int, Seat]
    last_sent_ns: dict[int, int]


@dataclass(frozen=True, slots=True)
class _JobResult:
    view: JobView
    job: Job
    strategy: Strategy
    findings: list[Finding]
    events: list[Event]
    pairs: Frame


def analyze(
    paths: Sequence[Path], inventory: Inventory | None, options: AnalysisOptions, progress: Progress | None = None
) -> Analysis:
    """Analyse mirrors and flow records of one window.

    Args:
        paths: captures, flow-record files or folders of collected records.
        inventory: what is known of the fabric; None for nothing.
        options: thresholds.
        progress: told how far reading and analysing are.

    Raises:
        InputError: a file cannot be used at all.
    """
    told: Progress = progress or _nobody_listens
    reading = read_inputs(paths, lambda done, total: told("reading", done, total), options.rates)
    flow = streams(reading.flows)
    services = _services(inventory, flow.addresses)
    place = fabric(inventory, flow.addresses)
    hosts = [place.host.get(n) for n in range(len(flow.addresses))] if place.host else None
    found = recognise(flow, services, options.jobs, hosts)
    feed = _Feed(reading, flow, _window(reading), place, seats(inventory, flow.addresses), last_sent_ns(flow))
    results = []
    for n, job in enumerate(found.jobs):
        told("analysing jobs", n, len(found.jobs))
        results.append(_analysed(job, feed, options))
    told("analysing jobs", len(found.jobs), len(found.jobs))
    report = _report(paths, inventory, options, feed, found, results)
    return Analysis(report, _timelines(flow, results), {r.view.id: r.pairs for r in results})


def _nobody_listens(stage: str, done: int, total: int) -> None:
    """Progress of an analysis that nobody watches."""


def _analysed(job: Job, feed: _Feed, options: AnalysisOptions) -> _JobResult:
    flow = feed.flow
    strategy = infer(transfers(flow, job), job.edges_ns, job.endpoints, feed.seats)
    by_role = {ROLES.index(k): list(v) for k, v in strategy.groups.items() if k != "tp"}
    view = JobView(
        id=job_id([flow.addresses[e] for e in job.endpoints]),
        endpoints=job.endpoints,
        edges_ns=job.edges_ns,
        operations=operations(flow, job, strategy.role, by_role),
        stage=strategy.stage,
        groups=strategy.groups,
        sharded=strategy.layout.sharding == "fsdp",
        fabric=feed.place,
        window_end_ns=feed.window.end_ns,
        last_sent_ns=feed.last_sent_ns,
    )
    findings = diagnose(view, options.diagnosis)
    hangs = any(f.kind == "hang" for f in findings)
    happened = events(view, _outside(feed.reading, job), feed.window.start_ns, hangs=hangs)
    return _JobResult(view, job, strategy, findings, happened, pair_table(view))


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


def _outside(reading: Reading, job: Job) -> Frame:
    """Records between a job's endpoints and others."""
    frame = reading.flows.frame
    inside = np.isin(frame["src_addr"], job.endpoints), np.isin(frame["dst_addr"], job.endpoints)
    return frame.take(inside[0] != inside[1])


def _window(reading: Reading) -> Window:
    frame = reading.flows.frame
    if not len(frame):
        return Window(start_ns=0, end_ns=0)
    return Window(start_ns=int(frame["time_flow_start_ns"].min()), end_ns=int(frame["time_flow_end_ns"].max()))


def _timelines(flow: Streams, results: list[_JobResult]) -> Timelines:
    parts: list[Frame] = []
    names: list[str] = []
    for n, result in enumerate(results):
        own, offset = group_names(result.strategy.groups, flow.addresses)
        shifted = {role: first + len(names) for role, first in offset.items()}
        parts.append(spans(result.view.operations, result.job.edges_ns, result.job.endpoints, n, shifted))
        names += own
    return Timelines(concat(SPANS, parts), flow.addresses, tuple(r.view.id for r in results), tuple(names))


def _report(
    paths: Sequence[Path],
    inventory: Inventory | None,
    options: AnalysisOptions,
    feed: _Feed,
    found: Recognition,
    results: list[_JobResult],
) -> Report:
    reading = feed.reading
    order = {"critical": 0, "warning": 1, "info": 2}
    findings = [f for r in results for f in r.findings]
    return Report(
        provenance=Provenance(
            version=__version__,
            options=_flat_options(options),
            inventory_sha256=_digest(inventory),
            inputs=tuple(p.name for p in paths),
        ),
        window=feed.window,
        feed=FeedSummary(
            records=reading.records,
            bytes=reading.bytes,
            exporters=reading.exporters,
            lost_datagrams=sum(account.lost_datagrams for account in reading.accounts),
            rejected=dict(reading.notes.rejected),
            warnings=reading.notes.warnings,
        ),
        jobs=tuple(job_report(r.view, r.strategy, inventory) for r in results),
        unassigned=_unassigned(found, reading),
        events=tuple(sorted((e for r in results for e in r.events), key=lambda e: (e.start_ns, e.job, e.kind))),
        findings=tuple(sorted(findings, key=lambda f: (order[f.severity], f.start_ns, f.id))),
    )


def _unassigned(found: Recognition, reading: Reading) -> tuple[str, ...]:
    if not len(reading.flows):
        return ("the input holds no usable flow record",)
    return tuple(f"{n} endpoint{'s' if n > 1 else ''}: {reason}" for reason, n in found.unassigned.items())


def _flat_options(options: AnalysisOptions) -> dict[str, str | int | float | bool | None]:
    flat: dict[str, str | int | float | bool | None] = {}
    for part, values in (("jobs", options.jobs), ("diagnosis", options.diagnosis)):
        for name in values.__slots__:
            flat[f"{part}.{name}"] = getattr(values, name)
    for exporter, rate in options.rates.by_exporter.items():
        flat[f"rates.{exporter}"] = rate
    if options.rates.otherwise:
        flat["rates.otherwise"] = options.rates.otherwise
    return dict(sorted(flat.items()))


def _digest(inventory: Inventory | None) -> str | None:
    if inventory is None:
        return None
    text = json.dumps(inventory.model_dump(mode="json", by_alias=True), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
