"""`kill -9` at random moments costs nothing that was committed, and leaves nothing twice."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_longlong
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storage.database.connection import Database
from storage.database.incidents.incident_records import history, incident
from storage.database.scans.scan_records import scans
from storage.lake.lake_reader import read_lake
from storage.lake.object_names import make_folders
from storage.lake.snapshot import snapshot
from tests.storage.lake import working

Target = tuple[Callable[..., None], tuple[Any, ...]]


class Nursery:
    """Starts processes that have everything imported already."""

    def __init__(self) -> None:
        """Have a server that forks."""
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests.storage.lake.working"])
        self.chance = random.Random(1)  # noqa: S311 - a fixed seed is the point

    def counter(self) -> c_longlong:
        """A number that processes share, without a lock: one that is killed while it holds a lock never lets go."""
        return self.context.RawValue(c_longlong, 0)

    def kill(self, targets: Sequence[Target], begun: Callable[[], bool]) -> None:
        """Run processes until they have begun to work and for a random moment longer, then kill all at once."""
        processes = [self.context.Process(target=run, args=given, daemon=True) for run, given in targets]
        for process in processes:
            process.start()
        deadline = time.monotonic() + 120
        while not begun() and time.monotonic() < deadline and all(process.is_alive() for process in processes):
            time.sleep(0.002)
        assert begun()
        time.sleep(self.chance.uniform(0, 0.2))
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what a process wrote outlives it there too, without waiting for a disk."""
    if not Path("/dev/shm").is_dir():  # noqa: S108 - nobody else can guess the folder's name
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def in_manifest(folder: Path) -> Counter[str]:
    """Bytes and rows of flow records by exporter, by the manifest."""
    sums = Counter[str]()
    for segment in snapshot(folder).of_kind("flows"):
        for exporter, (rows, volume) in segment.exporters.items():
            sums.update({f"{exporter} rows": rows, f"{exporter} bytes": volume})
    return +sums


def in_segments(folder: Path) -> tuple[Counter[str], list[int]]:
    """The same by the records, and the number of each record, sorted."""
    reading = read_lake(folder)
    assert reading.notes.warnings == ()
    frame = reading.flows.frame
    sums = Counter[str]()
    for code in np.unique(frame["sampler_address"]):
        mine = frame["sampler_address"] == code
        name = reading.flows.addresses[code] if code >= 0 else ""
        sums.update({f"{name} rows": int(mine.sum()), f"{name} bytes": int(frame["bytes"][mine].sum())})
    return +sums, np.sort(frame["bytes"]).tolist()


def kill_writers_and_compactors(folder: Path, rounds: int) -> None:
    """After each kill, all that was committed is there once, and the manifest's sums are the records'."""
    make_folders(folder)
    nursery = Nursery()
    done, tended = nursery.counter(), nursery.counter()
    for _ in range(rounds):
        begun_at, tended_at = done.value, tended.value
        targets = [(working.write, (folder, done)), (working.keep, (folder, tended))]
        nursery.kill(targets, lambda a=begun_at, b=tended_at: done.value > a and tended.value > b)  # type: ignore[misc]
        promised = done.value
        sums, numbers = in_segments(folder)
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= promised
        assert sums == in_manifest(folder)
    assert any(segment.group >= 0 for segment in snapshot(folder).segments.values())


def settled(database: Database) -> list[int]:
    """Scans that are kept, once no more come: a server still carries out what a client asked before it was killed."""
    kept: list[int] = []
    deadline = time.monotonic() + 60
    while (not kept or len(history(database, "i1")) != len(kept)) and time.monotonic() < deadline:
        kept = sorted(scan.scan.window.end_ns for scan in scans(database, most=1 << 20))
        time.sleep(0.01)
    return kept


def kill_scans(where: str, rounds: int) -> None:
    """After each kill every scan that was kept is there once, with its change; one that was not left nothing."""
    nursery = Nursery()
    database = Database(where)
    done = nursery.counter()
    for _ in range(rounds):
        begun_at = done.value
        nursery.kill([(working.scan, (where, done))], lambda a=begun_at: done.value > a)  # type: ignore[misc]
        kept = settled(database)
        assert kept == list(range(1, len(kept) + 1))
        assert len(kept) in {done.value, done.value + 1}
        assert [change.time_ns for change in history(database, "i1")] == kept
        newest = incident(database, "i1")
        assert newest is not None
        assert newest.seen_ns == kept[-1]
    database.close()


def test_killed_writers_and_compactors(folder: Path) -> None:
    """A few rounds of what the slow test does for long."""
    kill_writers_and_compactors(folder, 3)


@pytest.mark.slow
def test_killed_writers_and_compactors_for_long(folder: Path) -> None:
    """A hundred kills during ingest and packing, in ten lakes: each round reads all that its lake holds."""
    for lake in map(str, range(10)):
        kill_writers_and_compactors(folder / lake, 10)
        shutil.rmtree(folder / lake)


def test_killed_scans(address: str) -> None:
    """A few rounds of what the slow test does for long, on both engines."""
    kill_scans(address, 3)


@pytest.mark.slow
def test_killed_scans_for_long(address: str) -> None:
    """A hundred kills while results are kept, on both engines."""
    kill_scans(address, 100)
