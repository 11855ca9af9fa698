"""The service killed by force again and again in the middle of its work: it starts by itself, and all is right."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from flowprism.demo.demo_player import HEALTHY, play_demo
from flowprism.service.config.settings_file import load_settings
from storage.database.components import components as told
from storage.database.connection import Database
from storage.database.scans.scan_records import scans
from storage.lake.lake_reader import read_lake
from storage.lake.snapshot import snapshot
from tests.flowprism.service.running import children, command, components, settings, wait_for
from tests.flowprism.service.scans.feeding import fabric
from tests.storage.lake.test_killed import in_manifest, in_segments

ROUNDS = 8
# So long a service lives once all of its parts are there: a scanner is ready in the middle of it, the others before.
LIFE_S = (0.0, 12.0)


@pytest.mark.slow
def test_the_service_is_killed(tmp_path: Path) -> None:
    """After each of eight kills it comes up, and lake and database hold each thing that was kept once."""
    chance = random.Random(1)  # noqa: S311 - a fixed seed is the point
    keep = {"flows": {"age_h": 0.05}}
    file = settings(tmp_path, store={"keep_every_s": 1, "keep": keep}, scans={"settle_s": 1, "patience_s": 5})
    what, stop = load_settings(file, {}), threading.Event()
    port = int(what.collect.listen[0].rpartition(":")[2])
    feed = threading.Thread(target=play_demo, args=(fabric(), "127.0.0.1", port, stop, repeat(HEALTHY)), daemon=True)
    feed.start()
    lake, database = Path(what.store.flow_lake), Database(what.store.database)
    for _ in range(ROUNDS):
        began_ns = time.time_ns()
        with command(tmp_path / "log", "serve", str(file)) as service:
            wait_for(lambda: _is_up(service.pid, database, began_ns, lake), 600)  # noqa: B023 - asked at once
            time.sleep(chance.uniform(*LIFE_S))
            _kill(service.pid)
        _check_lake(lake)
        _check_results(database, what.store.folder / "results.sqlite")
    stop.set()
    feed.join()
    assert snapshot(lake).of_kind("flows")
    assert scans(database, most=1)
    database.close()


def _is_up(service: int, database: Database, since_ns: int, lake: Path) -> bool:
    """Whether all parts have said that they are there, and records are stored again."""
    there = {part.kind for part in told(database) if part.seen_ns > since_ns}
    newest_ns = max((head.time_ns for head in snapshot(lake).heads.values()), default=0)
    return len(components(service)) == len(there) == 5 and newest_ns > since_ns


def _kill(service: int) -> None:
    """End the service and all its processes at once, with no chance to do anything more."""
    for pid in _family(service):
        os.kill(pid, signal.SIGSTOP)  # nobody notices the death of another
    for pid in _family(service):
        os.kill(pid, signal.SIGKILL)


def _family(pid: int) -> list[int]:
    return [pid, *(one for child in children(pid) for one in _family(child))]


def _check_lake(lake: Path) -> None:
    """The manifest's sums are those of the records, and no record is there twice."""
    assert in_segments(lake)[0] == in_manifest(lake)
    frame = read_lake(lake).flows.frame
    names = ("time_flow_start_ns", "time_flow_end_ns", "src_addr", "dst_addr", "src_port", "dst_port", "bytes")
    rows = np.stack([frame[name].astype(np.int64) for name in names], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)


def _check_results(database: Database, file: Path) -> None:
    """The database is whole, and each window of the policy was kept once."""
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    ends = [one.scan.window.end_ns for one in scans(database, most=10_000)]
    assert len(set(ends)) == len(ends)
