"""What a sampling rate shows of a job, by analyzing a simulated one, or the user's own samples thinned to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from capture.configured_rates import SamplingRates
from datamodel.cluster.inventory import Inventory
from datamodel.reports.report import JobReport, Report
from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.feed_plan.goal import FEWEST_ITERATIONS, FeedGoal
from flowprism.feed_plan.shown_by_rate import ShownByRate
from flowprism.inputs.feed_files import read_inputs
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep

_SAMPLES = 60_000  # a cell's bound, as in the sweep of docs/sampled.md
_STRAGGLER, _SLOW_NIC = 1.5, 4.0  # in the middle of what the sweep draws
_TABLES = AnalysisOptions(tables=False)


def shown_in_simulation(goal: FeedGoal, gbps: int, rate: int, iterations: int, seed: int = 1) -> ShownByRate:
    """What so many iterations show of the goal's job, without a fault and with each of two."""
    if iterations < FEWEST_ITERATIONS:
        return ShownByRate(rate, None, None, ())
    cell = Cell(
        FeedSpec("sflow", rate), float(gbps), goal.iteration_s, goal.members, iterations=iterations,
        busy_ratio=goal.busy_ratio, samples=_SAMPLES,
    )  # fmt: skip
    found = _shown(rate, _simulated(cell, seed)[1], goal.members)
    onset, rank = iterations // 2, goal.members // 2
    named = tuple(
        fault.kind
        for fault in (
            Fault("straggler", first=onset, rank=rank, size=_STRAGGLER),
            Fault("slow_nic", first=onset, rank=rank, size=_SLOW_NIC),
        )
        if found.smallest_slowdown_ratio is not None and _is_named(cell, fault, seed)
    )
    return replace(found, named=named)


def _simulated(cell: Cell, seed: int, *faults: Fault) -> tuple[Case, Report]:
    case = simulate_case(sweep(cell, *faults), seed)
    return case, analyze_reading(case.readings["sflow"], ("simulated",), case.inventory, _TABLES).report


def _shown(rate: int, report: Report, members: int) -> ShownByRate:
    """Of the job with most endpoints; one with other endpoints than those that train is none."""
    job = max(report.jobs, key=lambda job: len(job.endpoints), default=None)
    if job is None or len(job.endpoints) != members:
        return ShownByRate(rate, None, None)
    return _detectable(rate, job)


def _detectable(rate: int, job: JobReport) -> ShownByRate:
    return ShownByRate(rate, job.detectability.timeline_error_ratio, job.detectability.smallest_slowdown_ratio)


def _is_named(cell: Cell, fault: Fault, seed: int) -> bool:
    """Whether a finding's subject is the faulty rank's endpoint, host or link."""
    case, report = _simulated(cell, seed, fault)
    host = case.inventory.hosts[fault.rank or 0]
    names = {host.name, *(address for endpoint in host.endpoints for address in endpoint.all_addresses)}
    return any(names & set(finding.subject.ids) and finding.subject.type != "job" for finding in report.findings)


def thinned_reading(reading: IngestResult, factor: int, seed: int = 0) -> IngestResult:
    """One in `factor` of the samples, by a hash of exporter, time and sequence number; rates are multiplied.

    The same samples remain whatever the order of rows, and those of a larger multiple of `factor` are among them.
    """
    if factor == 1:
        return reading
    frame = reading.flows.frame
    key = np.zeros(len(frame), np.uint64)
    for name in ("sampler_address", "time_received_ns", "psn_first", "src_port", "src_addr", "dst_addr", "in_if"):
        if name in frame.schema.names:
            key = _mixed(key ^ frame[name].astype(np.int64).view(np.uint64) ^ np.uint64(seed))
    kept = key % np.uint64(factor) == 0
    left = frame.take(np.flatnonzero(kept))
    rates = left["sampling_rate"]
    left = left.replace(sampling_rate=np.where(rates > 0, rates * factor, rates).astype(rates.dtype))
    return replace(reading, flows=Flows(left, reading.flows.addresses), records=len(left))


def _mixed(key: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finalizer (Steele, Lea and Flood 2014)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = key ^ (key >> np.uint64(31))
    return mixed


def shown_in_own_samples(
    paths: Sequence[Path], inventory: Inventory | None, factors: Sequence[int]
) -> dict[int, list[tuple[str, ShownByRate]]]:
    """By factor, each job's label or id with what one in `factor` of the recorded samples shows of it.

    Raises:
        InputError: a file cannot be used.
    """
    reading = read_inputs(paths, None, SamplingRates())
    found: dict[int, list[tuple[str, ShownByRate]]] = {}
    for factor in factors:
        report = analyze_reading(thinned_reading(reading, factor), ("samples",), inventory, _TABLES).report
        found[factor] = [(job.label or job.id, _detectable(factor, job)) for job in report.jobs]
    return found
