"""A disk that is full is one clear error; nothing is damaged, and work goes on when there is room again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from datamodel.errors import StorageError
from storage.database.connection import Database
from storage.database.scans.scan_records import save_scan, scans
from storage.lake import compaction
from storage.lake.compactor import Compactor
from storage.lake.snapshot import snapshot
from tests.storage.database import results
from tests.storage.lake.test_lake_writer import kept, opened
from tests.storage.records import batch, flows

DISK_KIB = 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one mebibyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all room but a page or two."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    assert os.statvfs(disk).f_bavail == 0
    return filler


def keep_scans(database: Database, numbers: Iterator[int]) -> None:
    """Keep scans of these numbers."""
    for number in numbers:
        save_scan(database, results.result(end_ns=number))


def test_ingest_resumes(disk: Path) -> None:
    """Commits are there wholly until the disk is full; the one that failed is repeated when there is room."""
    store = opened(disk / "lake")
    store.commit(batch(flows(1000)))
    filler = fill(disk)
    with pytest.raises(OSError, match="No space left on device"):
        store.commit(batch(flows(1000, first=1000)))
    assert kept(disk / "lake") == list(range(1000))
    again = opened(disk / "lake")  # a process that is started again meanwhile finds its place too
    with pytest.raises(OSError, match="No space left on device"):
        again.commit(batch(flows(1000, first=1000)))
    filler.unlink()
    again.commit(batch(flows(1000, first=1000)))
    assert kept(disk / "lake") == list(range(2000))


def test_packing_waits(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compactor that has no room changes nothing, and does its work when there is."""
    monkeypatch.setattr(compaction, "SETTLE_NS", 0)
    store = opened(disk / "lake")
    for first in range(0, 3000, 1000):
        store.commit(batch(flows(1000, first=first)))
    compactor = Compactor(disk / "lake", {})
    filler = fill(disk)
    with pytest.raises(OSError, match="No space left on device"):
        compactor.run_round()
    assert kept(disk / "lake") == list(range(3000))
    filler.unlink()
    assert compactor.run_round().packed_rows == 3000
    assert kept(disk / "lake") == list(range(3000))
    assert all(segment.group >= 0 for segment in snapshot(disk / "lake").segments.values())


def test_results_resume(disk: Path) -> None:
    """The database says in one line what is wrong, keeps what it has, and goes on."""
    database = Database(f"sqlite:///{disk}/results.sqlite")
    save_scan(database, results.result(end_ns=100))
    filler = fill(disk)
    numbers = iter(range(101, 400))
    with pytest.raises(StorageError, match=r"disk is full$"):
        keep_scans(database, numbers)
    refused = next(numbers) - 1
    assert len(scans(database, most=1000)) == refused - 100
    filler.unlink()
    assert save_scan(database, results.result(end_ns=refused))
    assert len(scans(database, most=1000)) == refused - 99
    database.close()
