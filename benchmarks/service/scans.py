"""What scans cost in steady state: windows of 600 s every 60 s, at several sizes of a cluster.

usage: python -m benchmarks.service.scans [--gpus N ...] [--scans N] [--lakes DIR]

Each lake holds what the leaf switches of a simulated cluster of mixed jobs export, with a commit of each of two writers
every two seconds and packed once a minute; lakes are kept in DIR where one is given. A process of its own scans each as
the service does, with one worker, first once for compiled code. The share of reading is what a scan could save at most
if the one before handed its records over; the other shares follow from whole windows.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.analysis.stages import STAGES, timed
from datamodel.reports.report import Window
from datamodel.telemetry.flows import Flows
from flowprism.service.config.settings import Settings
from flowprism.service.scans.window_analysis import analyze_window
from simulate.case import flow_reading
from simulate.inventory import inventory_yaml, simulated_inventory
from simulate.scenario_runs import EPOCH_NS, iter_runs
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.cluster import WINDOW_S, cluster
from simulate.scenarios.scenario import Scenario
from storage.database.connection import Database
from storage.lake.compactor import Compactor
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders

GPUS = (1_000, 3_000)
LENGTH_S, EVERY_S, COMMIT_S, PACK_COMMITS = 600, 60, 2, 30
WRITERS = 2
CALLED = {"flowprism.service.scans.window_analysis": {"read_lake": "read"}, **STAGES}


@dataclass(frozen=True, slots=True)
class ScanCost:
    """One scan."""

    records: int
    jobs: int
    seconds: float
    processor_s: float
    resident_bytes: int
    peak_bytes: int
    stages: dict[str, float]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, nargs="+", default=GPUS, help="sizes of the cluster")
    parser.add_argument("--scans", type=int, default=3, help="scans of each, behind the one that compiles")
    parser.add_argument("--lakes", type=Path, help="where lakes are kept")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps([asdict(one) for one in scans(arguments.measure, arguments.scans)]))
        return
    with tempfile.TemporaryDirectory() as folder:
        table(arguments.gpus, arguments.scans, arguments.lakes or Path(folder))


def table(sizes: Sequence[int], count: int, folder: Path) -> None:
    """A row a scan and its stages; how time and memory grow between the first size and the last."""
    print(
        f"{'GPUs':>8} {'records':>11} {'jobs':>5} {'seconds':>8} {'processor':>9} {'M/s':>6} {'GB':>6} {'peak GB':>8}"
    )
    last = []
    for gpus in sizes:
        command = [sys.executable, "-m", "benchmarks.service.scans", "--scans", str(count), "--measure"]
        path = stored(gpus, count, folder)
        answer = subprocess.run([*command, str(path)], check=True, stdout=subprocess.PIPE).stdout
        rows = [ScanCost(**one) for one in json.loads(answer)]
        last.append(rows[-1])
        for row in rows:
            print(
                f"{gpus:8,} {row.records:11,} {row.jobs:5} {row.seconds:8.1f} {row.processor_s:9.1f}"
                f" {row.records / row.seconds / 1e6:6.3f} {row.resident_bytes / 1e9:6.2f} {row.peak_bytes / 1e9:8.2f}"
            )
        spent = {stage: seconds / rows[-1].processor_s for stage, seconds in rows[-1].stages.items()}
        print(" " * 9 + " · ".join(f"{stage} {share:.0%}" for stage, share in spent.items() if share >= 0.005))
    if len(last) > 1:
        grow = np.log(last[-1].records / last[0].records)
        time_power = np.log(last[-1].processor_s / last[0].processor_s) / grow
        memory_power = np.log(last[-1].peak_bytes / last[0].peak_bytes) / grow
        print(f"processor time grows as records to the power of {time_power:.2f}, peak memory {memory_power:.2f}")


def stored(gpus: int, count: int, folder: Path) -> Path:
    """The folder of a cluster's lake and inventory, filled unless it is there."""
    path = folder / f"scans-{gpus}-{count}"
    inventory = path / "inventory.yaml"
    if not inventory.exists():
        shutil.rmtree(path, ignore_errors=True)  # what an interrupted run left
        (path / "flows").mkdir(parents=True)
        scenario = lasting(gpus, LENGTH_S + EVERY_S * count + COMMIT_S)
        collect(exported(scenario), path / "flows")
        inventory.write_text(inventory_yaml(scenario))  # last, so that what was interrupted is not there
    return path


def lasting(gpus: int, seconds: float) -> Scenario:
    """The scenario `cluster`, for longer than its minute."""
    scenario, times = cluster(ScenarioOptions(gpus=gpus)), int(seconds / WINDOW_S) + 1
    jobs = [
        replace(job, attempts=tuple(replace(a, iterations=a.iterations * times) for a in job.attempts))
        for job in scenario.jobs
    ]
    return replace(scenario, jobs=tuple(jobs), window_s=seconds)


def exported(scenario: Scenario) -> Flows:
    """The cluster's records as leaf switches export them: each names the switch and the port its sender is at."""
    flows = flow_reading(scenario, [part.flows for part in iter_runs(scenario, 1)]).flows
    inventory = simulated_inventory(scenario)
    agents = {switch.name: switch.agent for switch in inventory.switches if switch.agent is not None}
    known = set(flows.addresses)
    book = (*flows.addresses, *sorted(agent for agent in agents.values() if agent not in known))
    code = {address: n for n, address in enumerate(book)}
    ends = [end for host in inventory.hosts for end in host.endpoints if end.address in code]
    sampler, port = np.full(len(book), -1, np.int32), np.zeros(len(book), np.int64)
    for end in ends:
        sampler[code[str(end.address)]] = code[agents[str(end.switch)]]
        port[code[str(end.address)]] = end.port or 0
    frame = flows.frame
    src, received_ns = frame["src_addr"], frame["time_flow_end_ns"]
    return Flows(frame.replace(sampler_address=sampler[src], in_if=port[src], time_received_ns=received_ns), book)


def collect(flows: Flows, lake: Path) -> None:
    """Commit records in the order of their ends, by several writers, packed now and then."""
    make_folders(lake)
    writers = [LakeWriter(lake, Writer("20260101T000000000000Z", n), WRITERS) for n in range(WRITERS)]
    turn = (flows.frame["time_flow_end_ns"] - EPOCH_NS) // (COMMIT_S * 1_000_000_000)
    whose = flows.frame["sampler_address"] % WRITERS
    order = np.lexsort([whose, turn])
    cuts = np.flatnonzero(np.diff(turn[order] * WRITERS + whose[order])) + 1
    compactor, until = Compactor(lake), 0
    for number, rows in enumerate(np.split(order, cuts)):
        until += len(rows)
        writers[int(whose[rows[0]])].commit(CommitBatch(until, (flows.frame.take(rows),), flows.addresses, b""))
        if number % (PACK_COMMITS * WRITERS) == 0:
            compactor.run_round()
    compactor.close()


def scans(path: Path, count: int) -> list[ScanCost]:
    """The scans of one lake, one after the other, as a scanner makes them."""
    asked = {"inventory": path / "inventory.yaml", "workers": 1}
    settings = Settings.model_validate({"store": {"folder": path}, "scans": asked})
    database = Database(f"sqlite:///{path / 'results.db'}")
    spent = timed(CALLED)
    found = []
    for number in range(count + 1):
        spent.update(dict.fromkeys(spent, 0.0))
        start_ns = EPOCH_NS + EVERY_S * number * 1_000_000_000
        window = Window(start_ns=start_ns, end_ns=start_ns + LENGTH_S * 1_000_000_000)
        wall, processor = time.perf_counter(), time.process_time()
        report = analyze_window(settings, database, window).report
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        stages = spent | {"other": processor - sum(spent.values())}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found.append(ScanCost(report.feed.records, len(report.jobs), wall, processor, resident_bytes(), peak, stages))
    return found[1:]


def resident_bytes() -> int:
    """What this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
