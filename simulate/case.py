"""A case on disk: flow records, truth, true timelines and inventory of a scenario."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datamodel.errors import InputError
from datamodel.flows import FLOWS
from datamodel.frame import Frame, Schema
from datamodel.timeline import SPAN_NAMES, SPANS
from datamodel.truth import Fault as TrueFault
from datamodel.truth import TrueJob, Truth
from simulate.background import none
from simulate.bursts import Sequences, bursts
from simulate.known import inventory_yaml
from simulate.run import Run, run_jobs
from simulate.scenario import Scenario, traffic
from simulate.sharing import NEVER_NS
from simulate.spans import spans
from simulate.telemetry import exact_flows, mirror_flows
from simulate.truth import true_faults, true_job

EPOCH_NS = 1_780_000_000_000_000_000
SPANS_GPUS = 16_384  # beyond, true timelines would outgrow the flow records many times over
ROWS_A_GROUP = 1 << 20

_ADDRESSES = ("src_addr", "dst_addr")
_WRITTEN = (
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
    "retransmitted_packets",
)
_MIRROR_ONLY = ("payload_bytes", "time_acknowledged_ns")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class CaseSize:
    """What was written.

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


def write_case(scenario: Scenario, folder: Path, seed: int, progress: Progress | None = None) -> CaseSize:
    """Simulate and write `flows.parquet`, `truth/truth.json`, `truth/spans.parquet` and `inventory.yaml`.

    The same scenario and seed give the same bytes. A part (coupled jobs, or one job) is written before the next is run.

    Raises:
        InputError: the folder cannot be written.
    """
    try:
        (folder / "truth").mkdir(parents=True, exist_ok=True)
        (folder / "inventory.yaml").write_text(inventory_yaml(scenario))
        return _write(scenario, folder, seed, progress)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from None


def runs(scenario: Scenario, seed: int) -> Iterator[Run]:
    """The scenario's parts as they are run: all at once where jobs share links, else a job at a time."""
    until = scenario.window_s * 1e9 if scenario.window_s is not None else NEVER_NS
    if scenario.coupled:
        jobs = dict(enumerate(scenario.jobs))
        yield run_jobs(scenario.fabric, jobs, scenario.faults, traffic(scenario, seed), seed, until)
        return
    for index, job in enumerate(scenario.jobs):
        faults = [f for f in scenario.faults if f.job == index]
        other = traffic(scenario, seed) if index == 0 else none()
        yield run_jobs(scenario.fabric, {index: job}, faults, other, seed, until)


def _write(scenario: Scenario, folder: Path, seed: int, progress: Progress | None) -> CaseSize:
    addresses = scenario.fabric.addresses()
    truth = _Truth([], [])
    sizes = []
    sequences = Sequences()
    with (
        _Table(folder / "flows.parquet", FLOWS, _columns(scenario), addresses) as flows,
        _Table(folder / "truth" / "spans.parquet", SPANS, SPANS.names, addresses, scenario) as timelines,
    ):
        for number, run in enumerate(runs(scenario, seed)):
            seen = bursts(run, EPOCH_NS, sequences, seed)
            rows = _telemetry(scenario, seen)
            flows.write(rows.sort("time_flow_start_ns", "src_addr", "dst_addr", "src_port", "dst_qp", "bytes"))
            truth.add(run)
            if scenario.fabric.gpus <= SPANS_GPUS:
                for index, job in zip(run.jobs, truth.jobs[-len(run.jobs) :], strict=True):
                    timelines.write(spans(run, index, EPOCH_NS, job.iterations))
            sizes.append(CaseSize(len(rows), int(seen["bytes"].sum()), len(run.work), run.timing.share))
            if progress is not None:
                progress("simulating", number + 1, 1 if scenario.coupled else len(scenario.jobs))
    truth.write(scenario, seed, folder / "truth" / "truth.json")
    return CaseSize(
        sum(s.records for s in sizes),
        sum(s.bytes for s in sizes),
        sum(s.operations for s in sizes),
        min(s.exact_ratio for s in sizes),
    )


def _telemetry(scenario: Scenario, seen: Frame) -> Frame:
    if scenario.telemetry == "mirror":
        return mirror_flows(seen, scenario.answers, scenario.gathered)
    return exact_flows(seen, scenario.answers)


@dataclass(frozen=True, slots=True)
class _Truth:
    """What was really so, gathered run by run."""

    jobs: list[TrueJob]
    faults: list[TrueFault]

    def add(self, run: Run) -> None:
        """Take in the jobs of a run and the faults that set in."""
        self.jobs.extend(true_job(run, index, EPOCH_NS) for index in run.jobs)
        for n in range(len(run.faults)):
            self.faults.extend(true_faults(run, n, EPOCH_NS))

    def write(self, scenario: Scenario, seed: int, path: Path) -> None:
        """As JSON, in lines where people may want to read it."""
        made = {"case": scenario.name, "about": scenario.about, "seed": seed}
        truth = Truth.model_validate({"jobs": self.jobs, "faults": self.faults, **made})
        text = json.dumps(truth.model_dump(by_alias=True), indent=1 if scenario.fabric.gpus <= SPANS_GPUS else None)
        path.write_text(text + "\n")


def _columns(scenario: Scenario) -> tuple[str, ...]:
    return _WRITTEN + (_MIRROR_ONLY if scenario.telemetry == "mirror" else ())


class _Table:
    """A Parquet file written part by part; codes become text."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        names: tuple[str, ...],
        addresses: tuple[str, ...],
        scenario: Scenario | None = None,
    ) -> None:
        self._schema = schema
        self._words: dict[str, tuple[str, ...]] = dict.fromkeys(_ADDRESSES, addresses)
        if scenario is not None:
            jobs = tuple(j.name for j in scenario.jobs)
            self._words = {"job": jobs, "endpoint": addresses, "peer": addresses, "span": SPAN_NAMES, "group": ()}
        fields = [
            (c.name, pa.string() if c.name in self._words else _arrow(c.dtype)) for c in schema if c.name in names
        ]
        self._fields = pa.schema(fields)
        self._writer = pq.ParquetWriter(path, self._fields, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, frame: Frame) -> None:
        """Append rows."""
        columns = [self._column(frame, name) for name in self._fields.names]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._fields), row_group_size=ROWS_A_GROUP)

    def _column(self, frame: Frame, name: str) -> pa.Array:
        values = frame[name]
        if name not in self._words:
            return pa.array(values)
        indices = pa.array(values.astype(np.int32), mask=values < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(self._words[name], pa.string())).dictionary_decode()


def _arrow(dtype: str) -> pa.DataType:
    return pa.from_numpy_dtype(np.dtype(dtype))
