"""Three days of jobs whose time is known: a crash, a slow host, a hole of the feed, a host replaced."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.frame import Frame
from datamodel.reports.findings import Event, Membership, Place, Subject
from datamodel.reports.report import JobReport
from datamodel.service.incidents import Incident
from datamodel.service.scan_history import ITERATIONS
from flowprism.service.stores import Stores
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.scans.scan_records import ScanResult, save_scan
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.storage.database import results

HOUR_NS = 3_600_000_000_000
DAY_NS = 24 * HOUR_NS
BEGIN_NS = 1_790_000_000_000_000_000 // DAY_NS * DAY_NS
END_NS = BEGIN_NS + 3 * DAY_NS - HOUR_NS
STEP_NS = 60_000_000_000
JOBS = ("crashing", "steady", "unsized")


def at(day: int, hour: float) -> int:
    """A time of one of the days."""
    return BEGIN_NS + day * DAY_NS + round(hour * HOUR_NS)


def stored_fleet(folder: Path) -> Stores:
    """Three jobs of two hosts with eight GPUs each, from the first midnight on, scanned twice."""
    database = Database(f"sqlite:///{folder}/results.sqlite")
    hosts = tuple(Host(name=f"s{n}", endpoints=(Endpoint(address=f"10.0.0.{n}"),)) for n in range(1, 8))
    save_inventory(database, Inventory(hosts=hosts), "tests", 1)
    before = [job("crashing", (1, 2)), job("steady", (4, 5), tenant="t2"), job("unsized", (6, 7), gpus=None)]
    now = [job("crashing", (1, 3)), *before[1:]]
    save_scan(database, ScanResult(results.kept(BEGIN_NS + 1, "health"), before))
    save_scan(database, ScanResult(results.kept(END_NS, "health"), now, [slow_host()], events=happened()))
    lake = folder / "analyses"
    make_folders(lake)
    writer = LakeWriter(lake, Writer("scan", 0), 1)
    writer.commit(CommitBatch(END_NS, (iterations(),), JOBS, b""))
    return Stores(database, None, str(lake))


def job(name: str, endpoints: tuple[int, ...], tenant: str = "t1", gpus: int | None = 16) -> JobReport:
    """A job on some endpoints."""
    changed = {"endpoints": tuple(f"10.0.0.{n}" for n in endpoints), "world_size": gpus}
    return results.job(name, tenant=tenant).model_copy(update=changed)


def slow_host() -> Incident:
    """s1 slows its job by a quarter for six hours of the last day: for four, and after an hour of health for two."""
    return results.incident(
        "i1", "crashing", state="resolved", subject=Subject(type="host", ids=("s1",)), slowdown_ratio=1.25,
        start_ns=at(2, 0), end_ns=at(2, 7), seen_ns=at(2, 7), resolved_ns=at(2, 8),
        earlier_ns=((at(2, 0), at(2, 4)),), since_ns=at(2, 5),
    )  # fmt: skip


def happened() -> list[Event]:
    """A checkpoint of 6 minutes at 23:00, a crash at 0:30 for half an hour, a live migration on the last day."""
    crash = Membership(kind="restart")
    moved = Membership(
        kind="live_migration", leavers=(Place(endpoint="10.0.0.2"),), joiners=(Place(endpoint="10.0.0.3"),)
    )
    return [
        Event(job="crashing", kind="checkpoint", start_ns=at(0, 22.9), end_ns=at(0, 23), detail=""),
        Event(job="crashing", kind="restart", start_ns=at(1, 0.5), end_ns=at(1, 1), detail="", change=crash),
        Event(
            job="crashing", kind="membership_change", start_ns=at(2, 10), end_ns=at(2, 10), detail="", change=moved
        ),
    ]  # fmt: skip


def iterations() -> Frame:
    """One a minute, but for the crash, and for a hole of an hour at the steady job's first noon."""
    start: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    for name in JOBS:
        own = np.arange(BEGIN_NS, END_NS, STEP_NS, dtype=np.int64)
        away = {"crashing": (at(1, 0.5), at(1, 1)), "steady": (at(0, 12), at(0, 13))}.get(name, (0, 0))
        start.append(own[(own < away[0]) | (own >= away[1])])
    starts = np.concatenate(start)
    columns = {
        "job": np.repeat(np.arange(len(JOBS)), [len(one) for one in start]),
        "index": np.concatenate([np.arange(len(one)) for one in start]),
        "start_ns": starts,
        "end_ns": starts + STEP_NS,
        "duration_error_ns": np.full(len(starts), -1),
    }
    return Frame(ITERATIONS, columns)
