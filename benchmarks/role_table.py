"""Counts what each role looks like over simulated jobs, and writes `strategy/role_table.json`.

    python -m benchmarks.role_table [OUT]

Every class of edges is labeled by the plan that ran; how it looks is measured as the layout model measures it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from datamodel.streams import Int
from flowprism.evaluation.suite import CaseName, build_scenario
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from simulate.case import simulate_case
from simulate.network.fabric import Fabric
from simulate.training.job import SimulatedJob
from strategy.class_features import SHAPE, TIMING, measure_shape, measure_timing, to_bins
from strategy.current_members import select_current
from strategy.edge_classes import EdgeClass, classify
from strategy.grid_fit import build_pipelines
from strategy.labelings import find_passes
from strategy.options import LayoutOptions
from strategy.role_table import ROLES
from strategy.stream_profiles import build_profiles
from strategy.traffic_edges import TrafficEdges, build_edges

CASES = [
    *(CaseName("random", n) for n in range(1000, 1150)),
    *(CaseName("layouts", n) for n in range(176)),
    *(CaseName("uneven", n) for n in range(16)),
]
BOUNDS = {**SHAPE, **TIMING}
# Added to every bin: what was never seen is unlikely, not impossible.
PSEUDO_COUNT = 0.5
# A class plays a role where so many of its edges link members of a group of that kind.
AGREED = 0.9
# Exchanges of the passes begin in their first third, embeddings in the last fifth of the iteration.
EARLY, LATE = 0.35, 0.8
# No simulated job gathers parameters ahead of its passes (ZeRO-1 with overlapped gathering, as in Megatron-LM): an
# all-reduce's shape, but at the iteration's beginning and in few transfers. Shares of its bins.
GATHERED = {
    "start": (0.85, 0.1, 0.03, 0.01, 0.01),
    "transfers": (0.6, 0.2, 0.1, 0.07, 0.02, 0.01),
    "pass_start": (0.75, 0.1, 0.05, 0.05, 0.03, 0.02),
    "pass_thirds": (0.9, 0.08, 0.02),
    "after_passes": (0.9, 0.05, 0.03, 0.01, 0.01),
    "pass_end": (0.85, 0.1, 0.03, 0.01, 0.01),
    "ends_last": (0.97, 0.03),
}

Counts = dict[str, dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]]
Pairs = set[tuple[str, str]]


def main(out: Path) -> None:
    """Count all cases and write the table."""
    counts: Counts = {
        role: {n: np.full(len(b) + 1, PSEUDO_COUNT) for n, b in BOUNDS.items()} for role in (*ROLES, "any")
    }
    for case in CASES:
        for edges, addresses, endpoints, job, fabric in _jobs(case):
            _count(edges, addresses, endpoints, job, fabric, counts)
        print(case, flush=True)
    total = counts["all_reduce"]["mesh"].sum()
    gathered = {name: np.array(shares) * total for name, shares in GATHERED.items()}
    counts["param_gather"] = counts["all_reduce"] | gathered
    table = {
        role: {name: [round(float(x), 3) for x in np.log(c / c.sum())] for name, c in features.items()}
        for role, features in counts.items()
    }
    out.write_text(json.dumps(table) + "\n")


def _jobs(case: CaseName) -> Iterator[tuple[TrafficEdges, tuple[str, ...], Int, SimulatedJob, Fabric]]:
    """Edges of each job of a case that is found with its endpoints, and what ran."""
    scenario = build_scenario(case)
    rows = build_streams(simulate_case(scenario, case.number).readings["flows"].flows)
    for job in find_jobs(rows, frozenset(), JobOptions(), None).jobs:
        moved, endpoints = select_current(transfers(rows, job), job.endpoints, len(job.edges_ns))
        edges = build_edges(build_profiles(moved, job.edges_ns))
        for ran in scenario.jobs:
            nics = np.unique(scenario.fabric.nic_of_gpu(ran.attempts[-1].gpus)).tolist()
            if len(edges) and {rows.addresses[e] for e in endpoints} == {scenario.fabric.address(n) for n in nics}:
                yield edges, rows.addresses, endpoints, ran, scenario.fabric


def _count(
    edges: TrafficEdges, addresses: tuple[str, ...], endpoints: Int, job: SimulatedJob, fabric: Fabric, counts: Counts
) -> None:
    host_of = {fabric.address(n): int(h) for n, h in enumerate(fabric.host_of_nic(np.arange(fabric.nics)))}
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    host = np.array([host_of.get(addresses[code], -1 - code) for code in range(codes)])
    pairs = _pairs(job, fabric)
    labeled = [pair for one in classify(edges) for pair in _label(edges, one, addresses, job, pairs)]
    p2p = np.sort(np.concatenate([np.zeros(0, np.int64), *(own for role, own in labeled if role == "pp")]))
    others = [own for role, own in labeled if role != "pp"]
    passes = find_passes(edges, build_pipelines(edges, p2p), others, len(endpoints), LayoutOptions())
    for role, own in labeled:
        bins = to_bins(measure_shape(edges, own, host), SHAPE)
        if role != "pp":
            bins |= to_bins(measure_timing(edges, own, passes), TIMING)
        for name, n in bins.items():
            weight = min(1.0, 0.35 + len(own) / len(endpoints))
            counts[role][name][n] += weight
            counts["any"][name][n] += weight


def _label(
    edges: TrafficEdges, one: EdgeClass, addresses: tuple[str, ...], job: SimulatedJob, pairs: dict[str, Pairs]
) -> list[tuple[str, Int]]:
    """Roles of a class's pieces; point-to-point pieces are one."""

    def agreed(kind: str, own: Int) -> bool:
        links = zip(edges.src[own].tolist(), edges.dst[own].tolist(), strict=True)
        return float(np.mean([(addresses[a], addresses[b]) in pairs[kind] for a, b in links])) > AGREED

    roles = [(_role(edges, own, job, agreed), own) for own in one.pieces]
    p2p = [own for role, own in roles if role == "pp"]
    return [(r, own) for r, own in roles if r != "pp"] + ([("pp", np.sort(np.concatenate(p2p)))] if p2p else [])


def _role(edges: TrafficEdges, own: Int, job: SimulatedJob, agreed: Callable[[str, Int], bool]) -> str:
    """The role of some edges by the plan, and by when they act where pairs of several groups coincide."""
    plan, work = job.plan, job.workload
    start = float(np.median(edges.first_ns[own])) / max(edges.period_ns, 1.0)
    transfers_each = float(np.median(edges.transfers[own]))
    if plan.pp > 1 and work.shared_embedding and agreed("embedding", own) and start > LATE and transfers_each <= 2:
        return "embedding"
    if plan.pp > 1 and agreed("pp", own) and not agreed("dp", own):
        return "pp"
    if plan.tp > 1 and agreed("tp", own) and not agreed("dp", own):
        return "tp"
    if not agreed("dp", own):
        return "other"
    if work.sharding == "fsdp":
        return "fsdp"
    if start < EARLY and (transfers_each >= 2 or work.batches == 1):
        for kind, size in (("cp", plan.cp), ("ep", plan.ep)):
            if size > 1 and agreed(kind, own):
                return kind
    return "tree" if work.collectives.tree and work.sharding == "none" else "all_reduce"


def _pairs(job: SimulatedJob, fabric: Fabric) -> dict[str, Pairs]:
    """Kind -> ordered pairs of addresses that such a group links."""
    plan, nic = job.plan, fabric.nic_of_gpu(job.attempts[-1].gpus)
    groups = {
        "tp": plan.tp_groups(), "cp": plan.cp_groups(), "ep": plan.ep_groups(), "dp": plan.gradient_groups()
    }  # fmt: skip
    found: dict[str, Pairs] = {}
    for kind, ranks in groups.items():
        members = [{fabric.address(n) for n in row} for row in nic[ranks].tolist()]
        found[kind] = {(a, b) for group in members for a in group for b in group if a != b}
    chains = [[fabric.address(n) for n in row] for row in nic[plan.pp_groups()].tolist()]
    steps = [(a, b) for chain in chains for a, b in pairwise(chain)]
    ends = [(chain[0], chain[-1]) for chain in chains]
    found["embedding"] = {*ends, *((b, a) for a, b in ends)}
    found["pp"] = {*steps, *((b, a) for a, b in steps)} | (found["embedding"] if job.workload.chunks > 1 else set())
    return found


if __name__ == "__main__":
    default = Path(__file__).parent.parent / "strategy" / "role_table.json"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
