"""A scenario run part by part: coupled jobs together, others one by one, each with its flow records and truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPANS
from datamodel.reports.truth import TrueFault, TrueJob
from simulate.bursts import Sequences, bursts
from simulate.export.congestion import Capacities, marked_ratio, notifications
from simulate.network.background import none
from simulate.network.sharing import NEVER_NS
from simulate.run import Run, run_jobs
from simulate.scenarios.scenario import Scenario, draw_traffic
from simulate.spans import list_spans
from simulate.telemetry import exact_flows, mirror_flows
from simulate.truth import true_faults, true_job, uneven_stages

EPOCH_NS = 1_780_000_000_000_000_000

# Columns of flow records that the feed of each kind fills.
EXACT_COLUMNS = (
    "time_flow_start_ns",
    "time_flow_end_ns",
    "src_addr",
    "dst_addr",
    "src_port",
    "dst_port",
    "proto",
    "bytes",
    "packets",
    "dst_qp",
    "psn_first",
    "psn_last",
    "roce_opcode_first",
    "roce_opcode_last",
    "message_bytes",
    "cnp_packets",
    "retransmitted_packets",
)
MIRROR_COLUMNS = (*EXACT_COLUMNS, "payload_bytes", "time_acknowledged_ns")


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """What one run of a scenario's jobs left.

    Attributes:
        run: the simulation.
        bursts: what the fabric carried.
        flows: rows of `FLOWS` of the scenario's flow records, by time; address codes are numbers of endpoints.
        jobs, faults: the truth of them.
    """

    run: Run
    bursts: Frame
    flows: Frame
    jobs: tuple[TrueJob, ...]
    faults: tuple[TrueFault, ...]

    def spans(self) -> Frame:
        """True timelines of the part's jobs."""
        each = zip(self.run.jobs, self.jobs, strict=True)
        return concat(SPANS, [list_spans(self.run, index, EPOCH_NS, job.iterations) for index, job in each])


def _faults(run: Run) -> tuple[TrueFault, ...]:
    """The faults that were asked for, and the imbalances that jobs have by themselves."""
    asked = [f for n in range(len(run.faults)) for f in true_faults(run, n, EPOCH_NS)]
    return (*asked, *(f for index in run.jobs for f in uneven_stages(run, index)))


def iter_runs(scenario: Scenario, seed: int) -> Iterator[ScenarioRun]:
    """The scenario's parts, one run after the other; equal scenarios and seeds give equal parts."""
    sequences = Sequences()
    for run in runs(scenario, seed):
        seen = bursts(run, EPOCH_NS, sequences, seed)
        notified = _notified(run, seen, seed) if scenario.answers else None
        rows = mirror_flows(seen, notified, scenario.gathered) if scenario.telemetry == "mirror" else None
        flows = exact_flows(seen, notified) if rows is None else rows
        yield ScenarioRun(
            run,
            seen,
            flows.sort("time_flow_start_ns", "src_addr", "dst_addr", "src_port", "dst_qp", "bytes"),
            tuple(true_job(run, index, EPOCH_NS, hosts_known=scenario.hosts_known) for index in run.jobs),
            _faults(run),
        )


def _notified(run: Run, seen: Frame, seed: int) -> Int:
    """(bursts,) congestion notifications that each one provokes."""
    return notifications(seen, marked_ratio(seen, Capacities.of(run.fabric, [run], EPOCH_NS)), seed)


def runs(scenario: Scenario, seed: int) -> Iterator[Run]:
    """The scenario's parts as they are run: all at once where jobs share links, else a job at a time."""
    until = scenario.window_s * 1e9 if scenario.window_s is not None else NEVER_NS
    if scenario.coupled:
        jobs = dict(enumerate(scenario.jobs))
        yield run_jobs(scenario.fabric, jobs, scenario.faults, draw_traffic(scenario, seed), seed, until)
        return
    for index, job in enumerate(scenario.jobs):
        faults = [f for f in scenario.faults if f.job == index]
        other = draw_traffic(scenario, seed) if index == 0 else none()
        yield run_jobs(scenario.fabric, {index: job}, faults, other, seed, until)


def flow_columns(scenario: Scenario) -> tuple[str, ...]:
    """Columns that the scenario's flow records fill."""
    return MIRROR_COLUMNS if scenario.telemetry == "mirror" else EXACT_COLUMNS
