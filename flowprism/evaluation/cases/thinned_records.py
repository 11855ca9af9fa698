"""Records of a case thinned: single ones lost on their way, and switches that export none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datamodel.cluster.inventory import Inventory
from datamodel.reports.truth import TrueJob, Truth

MOMENT_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Thinning:
    """What is missing of a case's records.

    Attributes:
        lost_ratio: share of the records that are lost, each by itself.
        lost_moments_ratio: share of moments of `MOMENT_NS` in which all records that end are lost: datagrams that come
            while a receive buffer is full.
        away_iterations: how long a collector is away, at a moment of the middle half: all that ends meanwhile is lost.
        away_ratio: share of the senders, one at least, whose records go to this collector.
        silent_ratio: share of the leaves, one at least but never all, that export nothing: what their NICs send is not
            seen.
    """

    lost_ratio: float = 0.0
    lost_moments_ratio: float = 0.0
    away_iterations: float = 0.0
    away_ratio: float = 1.0
    silent_ratio: float = 0.0


COMPLETE = Thinning()


def thin_records(path: Path, inventory: Inventory, thinning: Thinning, iteration_ns: float, seed: int) -> None:
    """Rewrite a file of flow records without what is lost; equal seeds lose the same."""
    random = np.random.default_rng(seed)
    records = pq.read_table(path)
    kept = pc.invert(
        pc.is_in(records["src_addr"], pa.array(_unseen(inventory, thinning.silent_ratio, random), pa.string()))
    )
    kept = pc.and_(kept, pa.array(random.random(len(records)) >= thinning.lost_ratio))
    end_ns = records["time_flow_end_ns"].to_numpy()
    moment = (end_ns - end_ns.min()) // MOMENT_NS
    full = random.random(int(moment.max()) + 1) < thinning.lost_moments_ratio
    kept = pc.and_(kept, pa.array(~full[moment]))
    if thinning.away_iterations:
        kept = pc.and_(kept, pc.invert(_away(records, thinning, iteration_ns, random)))
    pq.write_table(records.filter(kept), path)


def restrict_truth(truth: Truth, inventory: Inventory, path: Path) -> Truth:
    """What is left to be found where records are missing.

    A host none of whose endpoints a record of the job names, neither as sender nor as receiver, leaves no trace: its
    endpoints are none of the job's that can be found, and the job's sizes are not asked. Jobs that keep fewer than two
    endpoints are none.
    """
    on_host = [[address for e in host.endpoints for address in e.all_addresses] for host in inventory.hosts]
    on_its_host = {address: every for every in on_host for address in every}
    ends = pq.read_table(path, columns=["src_addr", "dst_addr"]).group_by(["src_addr", "dst_addr"]).aggregate([])
    pairs = list(zip(*(ends[name].to_pylist() for name in ("src_addr", "dst_addr")), strict=True))
    jobs = [_restricted(job, on_its_host, pairs) for job in truth.jobs]
    left = tuple(job for job in jobs if len(job.endpoints) > 1)
    faults = tuple(fault for fault in truth.faults if fault.job in {job.id for job in left})
    return truth.model_copy(update={"jobs": left, "faults": faults})


def _restricted(job: TrueJob, on_its_host: dict[str, list[str]], pairs: list[tuple[str, str]]) -> TrueJob:
    own = set(job.endpoints)
    ends = {end for src, dst in pairs if src in own and dst in own for end in (src, dst)}
    named = own.intersection(address for end in ends for address in on_its_host[end])
    if named == own:
        return job
    groups = {size: tuple(g for g in every if named.issuperset(g)) for size, every in job.groups.items()}
    endpoints = tuple(end for end in job.endpoints if end in named)
    not_asked = job.layout | job.not_asked
    return job.model_copy(update={"endpoints": endpoints, "layout": {}, "not_asked": not_asked, "groups": groups})


def _away(records: pa.Table, thinning: Thinning, iteration_ns: float, random: np.random.Generator) -> pa.ChunkedArray:
    """Which records a collector misses that is away for a while."""
    end_ns = records["time_flow_end_ns"].to_numpy()
    gone_ns = end_ns.min() + (0.25 + 0.5 * random.random()) * np.ptp(end_ns)
    senders = sorted(pc.unique(records["src_addr"]).to_pylist())
    own = random.permutation(len(senders))[: max(round(thinning.away_ratio * len(senders)), 1)]
    meanwhile = (end_ns >= gone_ns) & (end_ns < gone_ns + thinning.away_iterations * iteration_ns)
    sent = pc.is_in(records["src_addr"], pa.array([senders[n] for n in own.tolist()], pa.string()))
    return pc.and_(sent, pa.array(meanwhile))


def _unseen(inventory: Inventory, silent_ratio: float, random: np.random.Generator) -> list[str]:
    """Addresses of the NICs behind leaves that export nothing."""
    behind: dict[str, list[str]] = {}
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            behind.setdefault(endpoint.switch or "", []).extend(endpoint.all_addresses)
    names = sorted(behind)
    silent = random.permutation(len(names))[: min(math.ceil(silent_ratio * len(names)), len(names) - 1)]
    return [address for n in silent.tolist() for address in behind[names[n]]]
