"""A copy made while everything runs is what was committed when it began, as docs/operations.md says."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from storage.database.connection import Database
from storage.database.scans.scan_records import save_scan, scans
from storage.lake import writer_session
from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import Compactor
from storage.lake.lake_reader import read_lake
from storage.lake.object_store import LocalStore
from storage.lake.snapshot import snapshot, write_checkpoint
from tests.storage.database import results
from tests.storage.lake.test_lake_writer import kept, opened
from tests.storage.records import batch, flows


def test_a_lake_is_copied_while_it_changes(tmp_path: Path) -> None:
    """Names first, then what they name: commits, packing and checkpoints in between do not matter."""
    lake, backup = tmp_path / "lake", tmp_path / "backup"
    store = opened(lake)
    for first in (0, 100):
        store.commit(batch(flows(100, first=first)))
    write_checkpoint(LocalStore(lake), snapshot(lake))
    store.commit(batch(flows(100, first=200)))
    for part in ("checkpoint", "manifest"):
        shutil.copytree(lake / part, backup / part)
    store.commit(batch(flows(100, first=300)))
    newest_ns = max(segment.written_ns for segment in snapshot(lake).segments.values())
    compactor = Compactor(lake, {}, clock=lambda: newest_ns + SETTLE_NS)
    assert compactor.run_round().packed_rows == 400
    for part in ("segments", "state"):
        shutil.copytree(lake / part, backup / part)
    assert kept(backup) == list(range(300))
    assert read_lake(backup).notes.warnings == ()
    begun = writer_session.begin_session(backup, 0)
    assert begun.removed == 2  # the fourth commit's segment and state
    assert kept(backup) == list(range(300))
    assert kept(lake) == list(range(400))


def test_results_are_copied_while_they_are_used(tmp_path: Path) -> None:
    """SQLite's own copy holds all that was committed."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    save_scan(database, results.result(end_ns=100))
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.sqlite"),))
    connection.close()
    save_scan(database, results.result(end_ns=200))
    copy = Database(f"sqlite:///{tmp_path}/copy.sqlite")
    assert len(scans(copy)) == 1
    for opened_one in (database, copy):
        opened_one.close()
