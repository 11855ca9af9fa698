"""Processes that write into a lake, keep it, or keep results until they are killed; tests start them."""

from __future__ import annotations

import time
from ctypes import c_longlong
from pathlib import Path

from datamodel.service.incidents import IncidentChange
from storage.database.connection import Database
from storage.database.scans.scan_records import ScanResult, save_scan
from storage.lake import compaction
from storage.lake.compactor import Compactor
from storage.lake.lake_writer import LakeWriter
from tests.storage.database import results
from tests.storage.lake.test_lake_writer import WRITER
from tests.storage.records import batch, counters, flows

ROWS = 100


def write(folder: Path, done: c_longlong) -> None:
    """Commit records numbered on from the newest commit, and say how many are durable."""
    store = LakeWriter(folder, WRITER, 1)
    number = store.newest.until if store.newest else 0
    while True:
        store.commit(batch(flows(ROWS, first=number), counters(1), until=number + ROWS))
        number += ROWS
        done.value = number


def keep(folder: Path, rounds: c_longlong) -> None:
    """Pack at once, delete what was packed at once, and count how often."""
    compaction.MOST_ROWS, compaction.SETTLE_NS = 20 * ROWS, 0
    compactor = Compactor(folder, {}, grace_ns=0, clock=lambda: time.time_ns() + 7200 * 10**9)
    while True:
        compactor.run_round()
        rounds.value += 1


def scan(address: str, done: c_longlong) -> None:
    """Keep scans numbered on from what is known to be kept, an incident changed by each."""
    database = Database(address)
    while True:
        number = done.value + 1
        change = IncidentChange(incident="i1", time_ns=number, kind="eased", detail=str(number))
        incident = results.incident(seen_ns=number)
        save_scan(database, ScanResult(results.kept(number), [results.job()], [incident], [change]))
        done.value = number
