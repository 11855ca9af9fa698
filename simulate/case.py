"""A case: flow records, truth, true timelines and inventory of a scenario, in memory or on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from datamodel.frame import Frame, concat
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS
from datamodel.reports.truth import TrueFault, TrueJob, Truth
from datamodel.telemetry.flows import FLOWS, IngestNotes, recode
from datamodel.telemetry.ingest_result import IngestResult
from simulate.bursts import BURSTS
from simulate.export.exported_feed import Export, export_feed, received
from simulate.export.traffic import traffic
from simulate.export.wire.pcap import write_pcap
from simulate.inventory import inventory_yaml, simulated_inventory
from simulate.network.fabric import SPINE_PORT
from simulate.run import Run
from simulate.scenario_runs import EPOCH_NS, ScenarioRun, flow_columns, iter_runs
from simulate.scenarios.scenario import Scenario
from simulate.table_file import TableFile
from simulate.true_paths import TRUE_PATHS, true_paths

SPANS_GPUS = 16_384  # beyond, true timelines would outgrow the flow records many times over
_ADDRESSES = ("src_addr", "dst_addr")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A case in memory.

    Attributes:
        readings: what reading each file of the case gives: "flows" (flow records), and each feed by its kind.
        truth: what was really so.
        inventory: what is known beforehand.
        size: how much it is.
    """

    readings: dict[str, IngestResult]
    truth: Truth
    inventory: Inventory
    size: CaseSize


@dataclass(frozen=True, slots=True)
class CaseSize:
    """How much there is in a case.

    Attributes:
        records: flow records.
        bytes: payload that crossed NICs.
        operations: of the graph.
        exact_ratio: share of rate changes that were max-min fair, the least of all parts.
    """

    records: int
    bytes: int
    operations: int
    exact_ratio: float


def simulate_case(scenario: Scenario, seed: int) -> Case:
    """The case that `write_case` writes, without files: the same rows, truth and inventory; no timelines."""
    totals = _CaseTotals(scenario, seed)
    flows: list[Frame] = []
    for part in iter_runs(scenario, seed):
        flows.append(part.flows)
        totals.add(part)
    exports = totals.exports()
    feeds: dict[str, IngestResult] = {export.feed.kind: received(export.datagrams) for export in exports}
    return Case(
        {"flows": flow_reading(scenario, flows), **feeds},
        totals.truth(exports),
        simulated_inventory(scenario),
        totals.size(),
    )


def simulate_feeds(scenario: Scenario, seed: int) -> list[Export]:
    """The feeds of the case as they reach a collector, not yet decoded."""
    totals = _CaseTotals(scenario, seed)
    for part in iter_runs(scenario, seed):
        totals.add(part)
    return totals.exports()


def write_case(scenario: Scenario, folder: Path, seed: int, progress: Progress | None = None) -> CaseSize:
    """Simulate and write `flows.parquet`, `truth/`, `inventory.yaml` and feeds.

    Truth is `truth.json`, `spans.parquet` and `paths.parquet`.
    A feed is a capture at its collector, `export/KIND.pcap.gz`. The same scenario and seed give the same bytes. A part
    (coupled jobs, or one job) is written before the next is run, but for feeds, which wait for all.

    Raises:
        InputError: the folder cannot be written.
    """
    try:
        (folder / "truth").mkdir(parents=True, exist_ok=True)
        (folder / "inventory.yaml").write_text(inventory_yaml(scenario))
        return _write(scenario, folder, seed, progress)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from None


def _write(scenario: Scenario, folder: Path, seed: int, progress: Progress | None) -> CaseSize:
    addresses = scenario.fabric.addresses()
    jobs = tuple(j.name for j in scenario.jobs)
    words = {"job": jobs, "endpoint": addresses, "peer": addresses, "span": SPAN_NAMES, "group": ()}
    totals = _CaseTotals(scenario, seed)
    with (
        TableFile(
            folder / "flows.parquet",
            FLOWS,
            flow_columns(scenario),
            dict(zip(_ADDRESSES, (addresses, scenario.fabric.destinations()), strict=True)),
        ) as flows,
        TableFile(folder / "truth" / "spans.parquet", SPANS, SPANS.names, words) as timelines,
        TableFile(
            folder / "truth" / "paths.parquet",
            TRUE_PATHS,
            TRUE_PATHS.names,
            {"job": jobs, **dict.fromkeys(_ADDRESSES, addresses)},
        ) as ways,
    ):
        leaf = np.tile(scenario.fabric.leaf_of_nic(np.arange(scenario.fabric.endpoints)), scenario.fabric.planes)
        for number, part in enumerate(iter_runs(scenario, seed)):
            flows.write(part.flows)
            if scenario.fabric.gpus <= SPANS_GPUS:
                timelines.write(part.spans())
                ways.write(true_paths(part.bursts, leaf, SPINE_PORT))
            totals.add(part)
            if progress is not None:
                progress("simulating", number + 1, 1 if scenario.coupled else len(scenario.jobs))
    exports = totals.exports()
    if exports:
        (folder / "export").mkdir(exist_ok=True)
    for export in exports:
        write_pcap(folder / "export" / f"{export.feed.kind}.pcap.gz", export.datagrams)
    truth = totals.truth(exports)
    # In lines where people may want to read it.
    text = json.dumps(truth.model_dump(by_alias=True), indent=1 if scenario.fabric.gpus <= SPANS_GPUS else None)
    (folder / "truth" / "truth.json").write_text(text + "\n")
    return totals.size()


@dataclass(frozen=True, slots=True)
class _CaseTotals:
    """Truth and sizes, gathered part by part, and what feeds are made from."""

    scenario: Scenario
    seed: int
    jobs: list[TrueJob] = field(default_factory=list)
    faults: list[TrueFault] = field(default_factory=list)
    sizes: list[CaseSize] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    bursts: list[Frame] = field(default_factory=list)

    def add(self, part: ScenarioRun) -> None:
        """Take in a part."""
        self.jobs.extend(part.jobs)
        self.faults.extend(part.faults)
        work, share = len(part.run.work), part.run.timing.share
        self.sizes.append(CaseSize(len(part.flows), int(part.bursts["bytes"].sum()), work, share))
        if self.scenario.feeds:
            self.runs.append(part.run)
            self.bursts.append(part.bursts)

    def exports(self) -> list[Export]:
        """The scenario's feeds."""
        made, seed = self.scenario, self.seed
        if not made.feeds:
            return []
        bursts = concat(BURSTS, self.bursts)
        passed = traffic(made.fabric, bursts, self.runs, EPOCH_NS, seed, answers=made.answers)
        return [export_feed(feed, passed, seed) for feed in made.feeds]

    def truth(self, exports: list[Export]) -> Truth:
        """The truth of all parts, and of the feeds."""
        made = {"case": self.scenario.name, "about": self.scenario.about, "seed": self.seed}
        telemetry = {"telemetry": json.loads(json.dumps([e.truth for e in exports]))} if exports else {}
        return Truth.model_validate({"jobs": self.jobs, "faults": self.faults, **made, **telemetry})

    def size(self) -> CaseSize:
        """The size of all parts."""
        return CaseSize(
            sum(s.records for s in self.sizes),
            sum(s.bytes for s in self.sizes),
            sum(s.operations for s in self.sizes),
            min(s.exact_ratio for s in self.sizes),
        )


def flow_reading(scenario: Scenario, parts: Sequence[Frame]) -> IngestResult:
    """The flow records of all parts as reading their file gives them."""
    names, rows = flow_columns(scenario), concat(FLOWS, parts)
    known = Frame(FLOWS, {name: column for name, column in rows.columns().items() if name in names})
    addresses = scenario.fabric.addresses()
    if (further := scenario.fabric.destinations()) != addresses:
        known = known.replace(dst_addr=known["dst_addr"] + len(addresses))
        addresses += further
    return IngestResult(recode(known, addresses), IngestNotes(), len(known), int(known["bytes"].sum()), ())
