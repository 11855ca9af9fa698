"""How an analysis grows from 1,000 to 100,000 GPUs: seconds, memory, and the share of each stage.

usage: python -m benchmarks.analysis.scale [--gpus N ...] [--workers N] [--cases DIR]

Each case is a simulated minute of a cluster of mixed jobs with faults among them (`flowprism simulate cluster`), kept
in DIR where one is given. It is analysed from Parquet to the JSON report by `flowprism analyze`, compiled code at hand.
The memory is the sum over all its processes, libraries they share counted in each. The shares of the stages are those
of one process, by processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.analysis.stages import timed
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze

GPUS = (1_000, 3_000, 10_000, 30_000, 100_000)
CLI = (sys.executable, "-c", "from flowprism.cli import main; main()")
SAMPLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """One analysis: what went in and what it took."""

    gpus: int
    records: int
    jobs: int
    true_jobs: int
    seconds: float
    processor_s: float
    peak_bytes: int


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, nargs="+", default=GPUS, help="sizes of the cluster")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="threads of an analysis")
    parser.add_argument("--cases", type=Path, help="where cases are kept")
    parser.add_argument("--shares", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.shares:
        print(json.dumps(shares(arguments.shares)))
        return
    with tempfile.TemporaryDirectory() as folder:
        table(arguments.gpus, arguments.workers, arguments.cases or Path(folder))


def table(sizes: Sequence[int], workers: int, folder: Path) -> None:
    """A row a size, the growth between the first and the last, and the stages of each."""
    cases = {gpus: case(gpus, folder) for gpus in sizes}
    analysed(sizes[0], cases[sizes[0]], workers)  # compiles what is not compiled yet
    print(f"{'GPUs':>8} {'records':>11} {'jobs':>5} {'of':>4} {'seconds':>8} {'processor':>9} {'peak GB':>8}")
    rows = []
    for gpus in sizes:
        row = analysed(gpus, cases[gpus], workers)
        rows.append(row)
        print(
            f"{gpus:8,} {row.records:11,} {row.jobs:5} {row.true_jobs:4} {row.seconds:8.1f} {row.processor_s:9.1f}"
            f" {row.peak_bytes / 1e9:8.2f}"
        )
    if len(rows) > 1:
        print(f"seconds grow as records to the power of {exponent(rows):.2f}")
    for gpus in sizes:
        command = [sys.executable, "-m", "benchmarks.analysis.scale", "--shares", str(cases[gpus])]
        spent = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        print(f"{gpus:8,} " + " · ".join(f"{stage} {share:.0%}" for stage, share in spent.items() if share >= 0.005))


def case(gpus: int, folder: Path) -> Path:
    """The folder of a cluster's case, simulated unless it is there."""
    path = folder / f"cluster-{gpus}"
    if not (path / "truth" / "truth.json").exists():
        command = [*CLI, "simulate", "cluster", "--gpus", str(gpus), "--out", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def analysed(gpus: int, path: Path, workers: int) -> Figures:
    """One analysis by the command line, and what it took."""
    out = path / "report.json"
    inputs = [str(path / "flows.parquet"), "--inventory", str(path / "inventory.yaml")]
    command = [*CLI, "analyze", *inputs, "--format", "json", "--out", str(out), "--workers", str(workers)]
    before, processor = time.perf_counter(), os.times()
    with subprocess.Popen(command) as process:
        peak = Peak(process.pid)
        peak.start()
        if process.wait() != 0:
            raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    seconds, after = time.perf_counter() - before, os.times()
    peak.join()
    report, truth = json.loads(out.read_text()), json.loads((path / "truth" / "truth.json").read_text())
    return Figures(
        gpus=gpus,
        records=report["feed"]["records"],
        jobs=len(report["jobs"]),
        true_jobs=len(truth["jobs"]),
        seconds=seconds,
        processor_s=after.children_user + after.children_system - processor.children_user - processor.children_system,
        peak_bytes=peak.bytes,
    )


def exponent(rows: Sequence[Figures]) -> float:
    """Slope of log seconds over log records, from the first row to the last."""
    first, last = rows[0], rows[-1]
    return float(np.log(last.seconds / first.seconds) / np.log(last.records / first.records))


def shares(path: Path) -> dict[str, float]:
    """What each stage takes of the processor time of an analysis by this process, the rest under "other"."""
    inventory = load_inventory(path / "inventory.yaml")
    spent = timed()
    before = time.process_time()
    analyze([path / "flows.parquet"], inventory, AnalysisOptions(tables=False))
    total = time.process_time() - before
    return {stage: seconds / total for stage, seconds in spent.items()} | {"other": 1 - sum(spent.values()) / total}


class Peak(threading.Thread):
    """Samples the resident memory of a process and its children for as long as it lives."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid
        self.bytes = 0

    def run(self) -> None:
        """Keep the largest sum."""
        page = os.sysconf("SC_PAGE_SIZE")
        while family := self._family():
            resident = [_resident_pages(pid) for pid in family]
            if not resident[0]:
                return
            self.bytes = max(self.bytes, sum(resident) * page)
            time.sleep(SAMPLE_S)

    def _family(self) -> list[int]:
        """The process and all processes below it."""
        family = [self._pid]
        for pid in family:
            try:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            except OSError:
                continue
            family += [int(child) for child in children.split()]
        return family


def _resident_pages(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0


if __name__ == "__main__":
    main()
