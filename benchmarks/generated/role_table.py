"""Estimates what each role looks like over simulated jobs, and writes `strategy/candidates/role_table.json`.

    python -m benchmarks.generated.role_table [OUT]

Every class of edges is labeled by the plan that ran; how it looks is measured as the layout model measures it. Features
depend on one another, so each has a weight: those with which the table says best which role a class plays (maximum
likelihood of a softmax over the roles).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.truth import TrueJob
from flowprism.evaluation.suite import CaseName, build_scenario
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from simulate.case import simulate_case
from simulate.network.fabric import Fabric
from simulate.training.job import SimulatedJob
from strategy.candidates.grid_fit import build_pipelines
from strategy.candidates.labelings import find_passes
from strategy.candidates.role_table import ROLES
from strategy.current_members import select_current
from strategy.options import LayoutOptions
from strategy.traffic.class_features import SHAPE, TIMING, measure_shape, measure_timing, to_bins
from strategy.traffic.edge_classes import EdgeClass, classify
from strategy.traffic.stream_profiles import build_profiles
from strategy.traffic.traffic_edges import AT_ONCE, TrafficEdges, build_edges

CASES = [
    *(CaseName("random", n) for n in range(20_000, 22_000)),
    *(CaseName("layouts", n) for n in range(176)),
    *(CaseName("uneven", n) for n in range(16)),
]
BOUNDS = {**SHAPE, **TIMING}
# Added to every bin of what any role looks like: what was never seen is unlikely, not impossible.
PSEUDO_COUNT = 0.5
# Added to a collective's counts, spread as those of any: a feature that it was seen with too rarely is no evidence.
PRIOR_COUNT = 3.0
# Share of classes that look as no simulated one of their role does: buckets, messages and overlap are free to choose.
OUTLIERS = 0.05
# Rows come from jobs whose iterations end at most so far from the true ones, in iterations.
IN_PHASE = 0.05
# A class plays a role where so many of its edges link members of a group of that kind.
AGREED = 0.9
# Exchanges of the passes begin in their first third, embeddings in the last fifth of the iteration or at once.
EARLY, LATE = 0.35, 0.8
# No simulated job gathers parameters ahead of its passes (ZeRO-1 with overlapped gathering, as in Megatron-LM): an
# all-reduce's shape, but at the iteration's beginning and in few transfers. Shares of its bins.
GATHERED = {
    "start": (0.85, 0.1, 0.03, 0.01, 0.01),
    "transfers": (0.6, 0.2, 0.1, 0.07, 0.02, 0.01),
    "pass_thirds": (0.9, 0.08, 0.02),
    "after_passes": (0.9, 0.05, 0.03, 0.01, 0.01),
    "pass_end": (0.85, 0.1, 0.03, 0.01, 0.01),
    "ends_last": (0.97, 0.03),
}

# Nor does any sum gradients by direct exchange: an all-reduce in which each rank sends to all others at once.
DIRECT = {
    "concurrency": (0.02, 0.02, 0.04, 0.12, 0.8),
    "partners": (0.1, 0.1, 0.2, 0.6),
    "mesh": (0.02, 0.18, 0.8),
    "transfers": (0.4, 0.2, 0.15, 0.1, 0.1, 0.05),
}
FITTED = tuple(role for role in ROLES if role not in {"other", "param_gather", "direct"})
# Of the squares of log-weights, against the mean log-likelihood: keeps what no class depends on near one.
RIDGE = 1e-3

Features = dict[str, dict[str, Float]]
Pairs = set[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class LabeledClass:
    """How a class of edges looks: its role, its weight by the number of its edges, and the bins of its features."""

    role: str
    weight: float
    bins: dict[str, int]


def main(out: Path) -> None:
    """Measure all cases and write the table."""
    with ProcessPoolExecutor() as workers:
        rows = [row for found in workers.map(_measure_case, CASES, chunksize=8) for row in found]
    table = _count(rows)
    weights = _fit_weights(rows, table)
    rounded = {role: {name: own.round(3).tolist() for name, own in looks.items()} for role, looks in table.items()}
    out.write_text(json.dumps({"weights": weights, "log_probabilities": rounded}) + "\n")


def _count(rows: Sequence[LabeledClass]) -> Features:
    """Role -> feature -> (bins,) log-probability; a class that no role explains looks like any."""
    counts = {role: {n: np.zeros(len(b) + 1) for n, b in BOUNDS.items()} for role in FITTED}
    for row in rows:
        for name, n in row.bins.items():
            counts[row.role][name][n] += row.weight
    mixture = _mixture(counts)
    collective = _mixture({role: own for role, own in counts.items() if role != "pp"})
    usual = {role: mixture if role == "pp" else collective for role in counts}
    shares = {role: {n: c + PRIOR_COUNT * usual[role][n] for n, c in own.items()} for role, own in counts.items()}
    shares["param_gather"] = shares["all_reduce"] | {name: np.array(own) for name, own in GATHERED.items()}
    shares["direct"] = shares["all_reduce"] | {name: np.array(own) for name, own in DIRECT.items()}
    shares |= {"other": mixture, "any": mixture}
    return {role: {name: _log_shares(c) for name, c in own.items()} for role, own in shares.items()}


def _mixture(counts: Features) -> dict[str, Float]:
    """Feature -> (bins,) share of all classes."""
    every = {name: sum((own[name] for own in counts.values()), np.zeros(1)) + PSEUDO_COUNT for name in BOUNDS}
    return {name: c / c.sum() for name, c in every.items()}


def _log_shares(counts: Float) -> Float:
    shares: Float = (1 - OUTLIERS) * counts / counts.sum() + OUTLIERS / len(counts)
    return np.log(shares)


def _fit_weights(rows: Sequence[LabeledClass], table: Features) -> dict[str, float]:
    """Feature -> the weight of its log-probabilities, fitted together with how often simulated jobs have a role.

    Point-to-point classes have no timing, which is relative to them: shapes are compared over all roles, and timing
    adds to it among the others.
    """
    names = list(BOUNDS)
    looks = np.zeros((len(rows), len(FITTED), len(names)))
    for n, row in enumerate(rows):
        for name, at in row.bins.items():
            relative = [float(table[role][name][at] - table["any"][name][at]) for role in FITTED]
            looks[n, :, names.index(name)] = np.array(relative) * row.weight
    true = np.array([FITTED.index(row.role) for row in rows])
    weight = np.array([row.weight for row in rows])
    shape = np.array([name in SHAPE for name in names])
    collective = true != FITTED.index("pp")

    def mean_loss(log_weights: Float, shares: Float, some: Bool, used: Bool) -> float:
        score = looks[some] @ np.where(used, np.exp(log_weights), 0.0) + shares
        gain = score[np.arange(some.sum()), true[some]] - logsumexp(score, axis=1)
        return -float(np.average(gain, weights=weight[some]))

    def loss(at: Float) -> float:
        log_weights, shares, of_collectives = np.split(at, [len(names), len(names) + len(FITTED)])
        alone = mean_loss(log_weights, shares, np.ones(len(rows), np.bool_), shape)
        timed = mean_loss(log_weights, of_collectives, collective, np.ones(len(names), np.bool_))
        return alone + timed + RIDGE * float((log_weights**2).sum())

    best = minimize(loss, np.zeros(len(names) + 2 * len(FITTED)), method="L-BFGS-B").x
    return {name: round(float(np.exp(own)), 3) for name, own in zip(names, best[: len(names)], strict=True)}


def _measure_case(case: CaseName) -> list[LabeledClass]:
    return [row for job in _jobs(case) for row in _measure(*job)]


def _jobs(case: CaseName) -> Iterator[tuple[TrafficEdges, tuple[str, ...], Int, SimulatedJob, Fabric]]:
    """Edges of each job of a case that is found with its endpoints, and what ran."""
    scenario = build_scenario(case)
    case_data = simulate_case(scenario, case.number)
    rows = build_streams(case_data.readings["flows"].flows)
    for job in find_jobs(rows, frozenset(), JobOptions(), None).jobs:
        moved, endpoints = select_current(transfers(rows, job), job.endpoints, len(job.edges_ns))
        edges = build_edges(build_profiles(moved, job.edges_ns))
        for ran, true in zip(scenario.jobs, case_data.truth.jobs, strict=True):
            nics = np.unique(scenario.fabric.nic_of_gpu(ran.attempts[-1].gpus)).tolist()
            whole = {rows.addresses[e] for e in endpoints} == {scenario.fabric.address(n) for n in nics}
            if len(edges) and whole and _in_phase(job.edges_ns, true, np.sort(moved["end_ns"])):
                yield edges, rows.addresses, endpoints, ran, scenario.fabric


def _in_phase(edges_ns: Int, true: TrueJob, ends_ns: Int) -> bool:
    """Whether iterations end with the last byte of the job's; what follows without a byte shows to no one."""
    true_ns = np.array([end for _, end in true.iterations])
    last_ns = ends_ns[np.maximum(np.searchsorted(ends_ns, true_ns, side="right") - 1, 0)]
    off = np.abs(edges_ns[:, None] - last_ns).min(axis=1)
    return float(np.median(off)) <= IN_PHASE * float(np.median(np.diff(true_ns)))


def _measure(
    edges: TrafficEdges, addresses: tuple[str, ...], endpoints: Int, job: SimulatedJob, fabric: Fabric
) -> Iterator[LabeledClass]:
    host_of = {fabric.address(n): int(h) for n, h in enumerate(fabric.host_of_nic(np.arange(fabric.nics)))}
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    host = np.array([host_of.get(addresses[code], -1 - code) for code in range(codes)])
    pairs = _pairs(job, fabric)
    labeled = [pair for one in classify(edges) for pair in _label(edges, one, addresses, job, pairs)]
    p2p = np.sort(np.concatenate([np.zeros(0, np.int64), *(own for role, own in labeled if role == "pp")]))
    others = [own for role, own in labeled if role != "pp"]
    passes = find_passes(edges, build_pipelines(edges, p2p), others, len(endpoints), LayoutOptions())
    for role, own in labeled:
        if role == "other":
            continue  # pieces that mix two groups' traffic
        bins = to_bins(measure_shape(edges, own, host), SHAPE)
        if role != "pp":
            bins |= to_bins(measure_timing(edges, own, passes), TIMING)
        yield LabeledClass(role, min(1.0, 0.35 + len(own) / len(endpoints)), bins)


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
    closing = transfers_each <= 2 and (start > LATE or _at_once(edges, own))
    if plan.pp > 1 and work.shared_embedding and closing and agreed("embedding", own):
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


def _at_once(edges: TrafficEdges, own: Int) -> bool:
    """Whether both directions act together, as those of a reduction over two ranks do and messages of stages do not."""
    known = edges.concurrency[own][~np.isnan(edges.concurrency[own])]
    return bool(len(known)) and float(np.median(known)) >= AT_ONCE


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
    default = Path(__file__).parents[2] / "strategy" / "candidates" / "role_table.json"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
