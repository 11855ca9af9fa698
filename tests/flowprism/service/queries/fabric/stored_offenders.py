"""A month of scans that stored patterns: of twenty hosts one computes 3 % longer in every job."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.frame import Frame
from datamodel.reconstructed.patterns import PATTERN_STRETCH_NS, PATTERNS, StoredPatterns
from flowprism.service.stores import Stores
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results

DAY_NS = 86_400_000_000_000
NEWEST_NS = 1_790_000_000_000_000_000
HOSTS, JOBS, MEMBERS, NICS = 20, 12, 16, 2
SLOW = 3
TENANT = "research"


def stored_offenders(folder: Path, newest_ns: int = NEWEST_NS) -> Stores:
    """Twelve jobs of sixteen hosts in two roles, two days apart, two windows each; the last job is of a tenant."""
    database = Database(f"sqlite:///{folder}/results.sqlite")
    hosts = tuple(
        Host(
            name=f"node{host:02}", endpoints=tuple(Endpoint(address=address(host, nic), gpu=nic) for nic in range(NICS))
        )
        for host in range(HOSTS)
    )
    save_inventory(database, Inventory(hosts=hosts), "tests", 1)
    rng = np.random.default_rng(5)
    for job in range(JOBS):
        others = rng.permutation(np.setdiff1d(np.arange(HOSTS), SLOW))[: MEMBERS - 1]
        members, tenant = np.append(SLOW, others), TENANT if job == JOBS - 1 else None
        for window in range(2):
            end_ns = newest_ns - 2 * DAY_NS * (JOBS - 1 - job) - window * PATTERN_STRETCH_NS
            late = rng.normal(0, 0.002, MEMBERS) + np.where(members == SLOW, 0.03, 0)
            kept = results.kept(end_ns)
            found = ScanResult(
                kept, jobs=(results.job(f"j{job}", tenant=tenant),), patterns=(rows(f"j{job}", end_ns, members, late),)
            )
            save_scan(database, found)
    return Stores(database)


def address(host: int, nic: int) -> str:
    """Of a NIC of a host."""
    return f"10.0.{host}.{nic + 1}"


def rows(
    job: str,
    end_ns: int,
    members: np.ndarray[tuple[int], np.dtype[np.int64]],
    late: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> StoredPatterns:
    """Patterns of a job's hosts, each with its NICs, in two roles."""
    names = tuple(address(host, nic) for host in members.tolist() for nic in range(NICS))
    columns = {"endpoint": np.arange(len(names)), "role": np.repeat(np.arange(len(members)) % 2, NICS)}
    return StoredPatterns(job, end_ns, names, Frame(PATTERNS, {**columns, "late_ratio": np.repeat(late, NICS)}))
