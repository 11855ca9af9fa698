"""Analyses spread over a real dask scheduler and its worker processes: the same bytes, whoever dies on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client

from capture.records.record_writer import write_records
from datamodel.errors import InputError
from flowprism.pipeline import AnalysisOptions, analyze
from flowprism.rendering.formats.report_json import render_json
from flowprism.worker_pool import WorkerPool, map_ordered
from tests.house.checkout import ROOT
from tests.workloads.feed import Feed, flows
from tests.workloads.grid import Grid
from tests.workloads.training import Workload, train

pytestmark = pytest.mark.slow
STARTS_S = 60


def dask(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A process of the `dask` command line, as an operator starts it; its output lies in `folder`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-m", "dask", *arguments]
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler that has no workers yet."""
    folder = tmp_path_factory.mktemp("scheduler")
    written = folder / "scheduler.json"
    process = dask(
        folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", f"--scheduler-file={written}"
    )
    try:
        address = announced(written, process)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def scheduler(bare: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same scheduler with two worker processes, which a nanny starts anew when they die."""
    folder = tmp_path_factory.mktemp("workers")
    process = dask(folder, "worker", bare, "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
    try:
        assert threads(bare) == [1, 1]
        yield bare
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def announced(written: Path, process: subprocess.Popen[bytes]) -> str:
    """The address a scheduler has written down."""
    for _ in range(STARTS_S * 10):
        assert process.poll() is None, (written.parent / "scheduler.log").read_text()
        if written.exists() and written.stat().st_size:
            return str(json.loads(written.read_text())["address"])
        time.sleep(0.1)
    raise AssertionError("the scheduler did not start")


def threads(address: str) -> list[int]:
    """Threads of each worker, once there are two."""
    with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(2, timeout=STARTS_S)
        return list(client.nthreads().values())


def slowly(task: tuple[int, Path]) -> tuple[int, int]:
    """A task that takes a while: its number and the process that did it, which it also writes down when it begins."""
    number, folder = task
    (folder / f"{number}-{os.getpid()}").touch()
    time.sleep(0.5)
    return number, os.getpid()


def test_what_cannot_work_is_told_at_once(bare: str) -> None:
    """Nothing waits for workers that may never come, nor for a scheduler that is not there."""
    with pytest.raises(InputError, match="the dask scheduler has no workers"):
        list(map_ordered(abs, int, 1, WorkerPool(scheduler=bare)))
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:1: no dask scheduler answers"):
        list(map_ordered(abs, int, 1, WorkerPool(scheduler="tcp://127.0.0.1:1")))
    with pytest.raises(InputError, match="expected tcp://HOST:PORT"):
        list(map_ordered(abs, int, 1, WorkerPool(scheduler="127.0.0.1:8786")))


def test_two_workers_give_the_bytes_of_one_process(scheduler: str, tmp_path: Path) -> None:
    """Two jobs analysed by a cluster's workers: the report is the same."""
    jobs = [train(Workload(Grid(dp=4, pp=2), seed=3)), train(Workload(Grid(dp=4), placement=(8, 9, 10, 11), seed=5))]
    write_records(flows(jobs, Feed(trains=True)), tmp_path / "flows.parquet")
    alone = analyze([tmp_path / "flows.parquet"], None, AnalysisOptions(tables=False))
    spread = analyze(
        [tmp_path / "flows.parquet"], None, AnalysisOptions(tables=False, crew=WorkerPool(scheduler=scheduler))
    )
    assert len(alone.report.jobs) == 2
    assert render_json(spread.report) == render_json(alone.report)


def test_a_worker_that_is_killed_changes_nothing(scheduler: str, tmp_path: Path) -> None:
    """Its task is done by another worker; every result comes, once and in order."""
    results = map_ordered(slowly, lambda number: (number, tmp_path), 8, WorkerPool(scheduler=scheduler))
    given = [next(results)]
    begun = {int(path.name.partition("-")[2]) for path in tmp_path.iterdir()}
    victim = max(begun)
    os.kill(victim, signal.SIGKILL)
    given += results
    assert [number for number, _ in given] == list(range(8))
    again = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert len(again) > len(set(again)) or victim not in {process for _, process in given[1:]}
