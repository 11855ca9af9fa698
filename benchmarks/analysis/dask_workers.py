"""What two dask workers make of an analysis that one thread makes alone: the same bytes, and how much sooner.

usage: python -m benchmarks.analysis.dask_workers [--gpus N] [--case DIR] [--rounds N]

A simulated minute of a cluster of mixed jobs is analysed by `flowprism analyze`, by one thread, by two threads
and by two workers of a real dask scheduler, in turn and with compiled code at hand; the best round
counts. All of it runs here, so the scheduler has no core of its own. What is not spread is recognising the jobs; its
share bounds the speed-up (Amdahl).
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from benchmarks.analysis.scale import CLI, case

STARTS_S = 60.0


def main() -> None:
    """A line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=4_000, help="size of the cluster")
    parser.add_argument("--case", type=Path, help="a simulated cluster")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, scheduler(Path(name)) as address:
        folder = Path(name)
        flows = (asked.case or case(asked.gpus, folder)) / "flows.parquet"
        ways = {
            "one thread": ["--workers", "1"],
            "two threads": ["--workers", "2"],
            "two dask workers": ["--scheduler", address],
        }
        reports = {what: analysed(flows, options, folder)[0] for what, options in ways.items()}  # compiles
        if len(set(reports.values())) != 1:
            sys.exit("the reports are not the same bytes")
        taken = [{what: analysed(flows, ways[what], folder)[1] for what in ways} for _ in range(asked.rounds)]
    alone_s = min(one["one thread"] for one in taken)
    print(f"{len(reports['one thread']):,} bytes of report, the same each way")
    for what in ways:
        best_s = min(one[what] for one in taken)
        print(f"{what:20}{best_s:8.2f} s {alone_s / best_s:8.2f} times as fast")


def analysed(flows: Path, options: list[str], folder: Path) -> tuple[bytes, float]:
    """The report of one analysis, and the seconds that it took from command to exit."""
    out = folder / "report.json"
    began_s = time.perf_counter()
    subprocess.run([*CLI, "analyze", str(flows), "--format", "json", "--out", str(out), *options], check=True)
    return out.read_bytes(), time.perf_counter() - began_s


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """Address of a dask scheduler with two workers of a thread each, for the time of the block."""
    written = folder / "scheduler.json"
    at_hand = ["--no-dashboard", f"--scheduler-file={written}"]
    started = [
        dask(folder, "scheduler", "--host", "127.0.0.1", "--port", "0", *at_hand),
        dask(folder, "worker", "--nworkers", "2", "--nthreads", "1", *at_hand),
    ]
    try:
        deadline_s = time.monotonic() + STARTS_S
        while not written.exists() and time.monotonic() < deadline_s:
            time.sleep(0.1)
        with Client(scheduler_file=str(written), set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, STARTS_S)
            address = str(client.scheduler.address)
        yield address
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def dask(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A process of the `dask` command line, as an operator starts it."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "dask", *arguments]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet, process_group=0)


if __name__ == "__main__":
    main()
