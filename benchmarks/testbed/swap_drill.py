"""Judge a recorded drill: is the downtime of each swap what the swaps before it led to expect?

usage: python -m benchmarks.testbed.swap_drill RECORDING ...

For each swap: the host that left and the one that joined, as the packets of the mirror show them; which host the
packets until then blame, and the standby that fits best in its place; downtime that `diagnose.eviction.advice` expects
from the swaps before it, as the packets showed them; downtime as the training programs logged it, from the last end of
an iteration to the last begin of the next one; and the state that was copied, as the packets show it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from capture.reader import read_flows
from datamodel.cluster.inventory import Inventory
from datamodel.reports.findings import Place
from datamodel.reports.report import Report
from datamodel.telemetry.ingest_result import IngestResult
from diagnose.eviction.advice import PastChange, expected_downtime, slow_host
from diagnose.eviction.standby import Standby, Vacancy, assign_standbys, idle_hosts
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze_reading


def main() -> None:
    """A line for each swap."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, nargs="+", help="folders that `record_swaps.py` wrote")
    for folder in parser.parse_args().recordings:
        judge(folder)


def judge(folder: Path) -> None:
    """Print what each swap of a recording was planned to take, and took."""
    inventory, reading = load_inventory(folder / "inventory.yaml"), read_flows(folder / "mirror.pcap.gz")
    hosts = inventory.host_names()
    report = _report(reading, inventory)
    changes = [event for event in report.events if event.change is not None]
    logged = logged_downtimes(folder)
    print(f"{folder.name}: {len(report.jobs)} job(s), {len(changes)} of {len(logged)} swaps found")
    past: list[PastChange] = []
    for number, event in enumerate(changes):
        change, gpus = event.change, report.jobs[0].world_size
        if change is None or change.kind is None or change.down_ns is None:
            continue
        took_s = min(logged, key=lambda one: abs(one[0] - event.start_ns))[1]
        left, joined = _hosts(change.leavers, hosts), _hosts(change.joiners, hosts)
        planned_s, source = expected_downtime(past, (), change.kind, gpus)
        seen_s = change.down_ns / 1e9
        before = _until(reading, changes[number - 1].end_ns if number else None, event.start_ns)
        print(
            f"  {number}: {change.kind}, {left} left, {joined} joined; advised {_advised(before, inventory)};"
            f" planned {planned_s:.2f} s ({source}), logged {took_s:.2f} s ({planned_s / took_s - 1:+.1%}),"
            f" on the wire {seen_s:.2f} s, {change.state_bytes / 1e6:.0f} MB of state"
        )
        past.append(PastChange(change.kind, seen_s, gpus))


def logged_downtimes(folder: Path) -> list[tuple[int, float]]:
    """End of the last iteration before each swap, and the seconds until all ranks began the next one, by the logs.

    A swap lies between two iterations of different jobs, as each attempt is one, or of different ranks of one job.
    """
    rows = defaultdict[tuple[str, int], list[tuple[str, int, int]]](list)
    with gzip.open(folder / "truth" / "events.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["event"] == "iter" and row["t1_ns"]:
                rows[row["job"], int(row["iter"])].append((row["rank"], int(row["t0_ns"]), int(row["t1_ns"])))
    each = sorted(
        (max(end for _, _, end in own), max(begin for _, begin, _ in own), job, {rank for rank, _, _ in own})
        for (job, _), own in rows.items()
    )
    return [(end, (begin - end) / 1e9) for (end, _, *before), (_, begin, *after) in pairwise(each) if before != after]


def _hosts(places: tuple[Place, ...], hosts: dict[str, str]) -> str:
    return ", ".join(sorted({hosts.get(place.endpoint, place.endpoint) for place in places}))


def _report(reading: IngestResult, inventory: Inventory) -> Report:
    return analyze_reading(reading, (), inventory, AnalysisOptions(tables=False)).report


def _until(reading: IngestResult, begin_ns: int | None, end_ns: int) -> IngestResult:
    """What was recorded from the change before to this one."""
    times = reading.flows.frame["time_flow_end_ns"]
    rows = np.flatnonzero((times <= end_ns) & (times > (begin_ns or 0)))
    return replace(reading, flows=reading.flows.take(rows))


def _advised(reading: IngestResult, inventory: Inventory) -> str:
    """The slow host and its standby by what was recorded until a change."""
    report, by_name = _report(reading, inventory), {host.name: host for host in inventory.hosts}
    blamed = {slow_host(finding, inventory.host_names()) for finding in report.findings} - {None}
    busy = frozenset(name for job in report.jobs for name in job.hosts)
    free = [Standby(host, {}) for host in idle_hosts(inventory.hosts, busy, frozenset())]
    vacancies = [Vacancy(by_name[name]) for name in sorted(name for name in blamed if name)]
    return ", ".join(f"{old} -> {new}" for old, new in assign_standbys(vacancies, free).items()) or "nothing"


if __name__ == "__main__":
    main()
