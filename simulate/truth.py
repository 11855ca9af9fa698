"""The truth of a simulation: jobs as they ran, and faults with every name that is right for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from datamodel.streams import Float, Int
from datamodel.truth import AcceptedSubject, Fault, TrueJob
from simulate import faults
from simulate.collective import by_host
from simulate.fabric import Fabric
from simulate.job import Job
from simulate.run import Run

# An iteration that takes less than this longer is reported by nobody (design: thresholds).
LEAST_SLOWDOWN_RATIO = 1.05
_HANGS = ("hang_compute", "hang_communication")
_KINDS = {
    "straggler": ("straggler",),
    "slow_nic": ("slow_link",),
    "flap": ("slow_link",),
    "slow_uplink": ("slow_uplink",),
    "ecmp_collision": ("slow_uplink",),
    "contention": ("contention",),
    "hang_compute": ("hang",),
    "hang_communication": ("hang",),
    "regression": ("regression",),
    "stage_imbalance": ("imbalance",),
    "sequence_imbalance": ("imbalance",),
}


def iterations_ns(run: Run, job: int, epoch_ns: int) -> tuple[tuple[int, int], ...]:
    """First beginning and last end of each training step that all its cells have ended, UTC."""
    found = []
    for instance in run.instances:
        if instance.job == job:
            start = run.timing.start_ns[instance.first + instance.seat.iteration.started]
            end = run.timing.end_ns[instance.first + instance.seat.iteration.done]
            if not np.isnan(end).any():
                found.append((epoch_ns + round(float(start.min())), epoch_ns + round(float(end.max()))))
    return tuple(found)


def true_job(run: Run, index: int, epoch_ns: int) -> TrueJob:
    """A job as it ran: endpoints of all attempts, groups of the last."""
    job = run.jobs[index]
    nics = np.unique(np.concatenate([run.fabric.nic_of_gpu(a.gpus) for a in job.attempts]))
    groups, layout = _groups(run.fabric, job)
    return TrueJob(
        id=job.name,
        endpoints=tuple(run.fabric.address(int(n)) for n in nics),
        layout=layout,
        groups=groups,
        iterations=iterations_ns(run, index, epoch_ns),
    )


Groups = dict[str, tuple[tuple[str, ...], ...]]


def _groups(fabric: Fabric, job: Job) -> tuple[Groups, dict[str, int]]:
    """Process groups as endpoints, and sizes; what never leaves a host is tp's, by the convention for layouts."""
    plan, nic = job.plan, fabric.nic_of_gpu(job.attempts[-1].gpus)
    host = job.attempts[-1].gpus // fabric.gpus_per_host
    sizes = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
    ranks = {
        "tp": plan.tp_groups(), "dp": plan.gradient_groups(), "pp": plan.pp_groups(), "ep": plan.ep_groups(),
        "cp": plan.cp_groups(),
    }  # fmt: skip
    _inside_hosts(fabric, job, host, sizes, ranks)
    _keep_to_rails(fabric, job, nic, sizes, ranks)
    named = {
        kind: _addresses(fabric, nic[groups], ordered=kind != "pp")
        for kind, groups in ranks.items()
        if sizes[kind] > 1 or (kind == "dp" and groups.shape[1] > 1)
    }
    return {kind: groups for kind, groups in named.items() if groups}, sizes


def _inside_hosts(fabric: Fabric, job: Job, host: Int, sizes: dict[str, int], ranks: dict[str, Int]) -> None:
    """Expert and context groups that never leave a host: ranks that work in step, as those of a tensor group do.

    Where gradient rings cross from one member's NIC to another's, the fabric shows them all in one gradient group.
    """
    plan, nic = job.plan, fabric.nic_of_gpu(job.attempts[-1].gpus)
    members = by_host(plan.gradient_groups(), host).members
    inside = {kind: _inside(host, ranks[kind]) for kind in ("ep", "cp")}
    sizes |= {kind: 1 for kind in inside if inside[kind]}
    if not inside["cp"]:
        return
    step = max(plan.ep, plan.cp) if inside["ep"] and plan.ep % plan.cp == 0 else plan.cp
    crossing = _crossing(job) and members.shape[1] > 1 and len(np.unique(nic[members[0, 0]])) > 1
    replicas = plan.dp * plan.cp // (1 if crossing else step)
    sizes["dp"] = replicas
    if not crossing:
        sizes["tp"] = plan.tp * step
        grid = plan.ranks().reshape(plan.pp, replicas, step * plan.tp)
        ranks["tp"], ranks["dp"] = grid.reshape(-1, step * plan.tp), grid.transpose(0, 2, 1).reshape(-1, replicas)


def _crossing(job: Job) -> bool:
    """Whether gradient rings leave a host by another NIC than they enter; trees do not."""
    how = job.workload.collectives
    return how.crossing and not (how.tree and job.workload.sharding == "none")


def _inside(host: Int, groups: Int) -> bool:
    """Whether no group leaves its host."""
    return bool((host[groups] == host[groups][:, :1]).all())


def _keep_to_rails(fabric: Fabric, job: Job, nic: Int, sizes: dict[str, int], ranks: dict[str, Int]) -> None:
    """Members of a gradient group on one host that never meet on the fabric count as tp's too.

    They do not where rings stay on their rails and no other exchange of the group crosses them.
    """
    host = fabric.host_of_nic(nic)
    members = by_host(ranks["dp"], host).members
    local = members.shape[2]
    apart = local > 1 and len(np.unique(nic[members[0, 0]])) == local
    on_rails = job.proxied and fabric.rail_optimised
    crossed = (_crossing(job) and members.shape[1] > 1) or sizes["cp"] > 1 or (sizes["ep"] > 1 and not on_rails)
    if not apart or crossed:
        return
    sizes["tp"], sizes["dp"] = sizes["tp"] * local, sizes["dp"] // local
    ranks["dp"] = members.swapaxes(1, 2).reshape(-1, members.shape[1])
    ranks["tp"] = np.stack([np.sort(np.concatenate(cells)) for cells in _fellows(ranks["tp"], members)])
    if sizes["ep"] > 1:
        experts = by_host(ranks["ep"], host).members
        sizes["ep"] = experts.shape[1]
        ranks["ep"] = experts.swapaxes(1, 2).reshape(-1, experts.shape[1])


def _fellows(tensor: Int, members: Int) -> list[list[Int]]:
    """Tensor groups that the same gradient groups hold on one host, together."""
    cell = {int(rank): n for n, group in enumerate(tensor) for rank in group}
    found: dict[tuple[int, ...], list[Int]] = {}
    for host in members.reshape(-1, members.shape[2]):
        cells = tuple(sorted({cell[int(rank)] for rank in host}))
        found.setdefault(cells, [tensor[n] for n in cells])
    return list(found.values())


def _addresses(fabric: Fabric, groups: Int, *, ordered: bool) -> tuple[tuple[str, ...], ...]:
    """Each group's endpoints, each once; groups of one left out, equal ones too."""
    found: dict[tuple[str, ...], None] = {}
    for group in groups.tolist():
        members = list(dict.fromkeys(group))
        if len(members) > 1:
            found[tuple(fabric.address(n) for n in (sorted(members) if ordered else members))] = None
    return tuple(found)


def true_faults(run: Run, number: int, epoch_ns: int) -> list[Fault]:
    """A fault of a run with what it may be called; none where the run stopped before it set in.

    Who contends with a job suffers as well, from its own beginning on: that may be reported too.
    """
    fault = run.faults[number]
    found = _true_fault(run, number, iterations_ns(run, fault.job, epoch_ns), epoch_ns)
    if found is None:
        return []
    if fault.kind != "contention":
        return [found]
    undated = {"start_ns": None, "iteration": None, "iteration_ns": None}
    return [found, found.model_copy(update={"job": run.jobs[fault.other].name, "optional": True, **undated})]


def _true_fault(run: Run, number: int, iterations: Sequence[tuple[int, int]], epoch_ns: int) -> Fault | None:
    fault = run.faults[number]
    job = run.jobs[fault.job]
    since = run.fault_ns[number]
    always = fault.kind in {"stage_imbalance", "sequence_imbalance"}
    if np.isnan(since) and not always:
        return None
    before, after = _durations(iterations, fault)
    count = len(iterations)
    hardly = bool(before and after) and median(after) / median(before) < LEAST_SLOWDOWN_RATIO
    dated = fault.first > 0
    start = (
        iterations[fault.first][0]
        if np.isnan(since) and fault.first < count
        else epoch_ns + round(np.nan_to_num(since))
    )
    return Fault(
        kinds=_KINDS[fault.kind],
        accept=tuple(_accepted(run, job, fault)),
        job=job.name,
        start_ns=start if dated else None,
        iteration=fault.first if dated else None,
        iteration_ns=round(median(before or after)) if dated and (before or after) else None,
        periods=faults.flap_periods(fault, count) if fault.kind == "flap" else 1,
        what=fault.kind if fault.kind != "straggler" else f"straggler_{fault.shape}",
        optional=_negligible(job) if fault.kind == "stage_imbalance" else hardly and fault.kind not in _HANGS,
    )


def uneven_stages(run: Run, index: int) -> list[Fault]:
    """Work that a job's own model spreads unevenly over its stages, as an optional fault: to name it is right.

    The output projection of a large vocabulary makes a last stage of few layers half as heavy again as the others.
    """
    job = run.jobs[index]
    asked = any(f.kind == "stage_imbalance" and f.job == index for f in run.faults)
    if asked or _negligible(job):
        return []
    accept = (*_heavy_stages(run.fabric, job), AcceptedSubject(type="job", ids="*"))
    return [Fault(kinds=("imbalance",), accept=accept, job=job.name, what="uneven_stages", optional=True)]


def _stage_s(job: Job) -> Float:
    """(pp,) forward time of a micro-batch in each stage."""
    volumes, pp = job.workload.volumes, job.plan.pp
    seconds = np.full(pp, volumes.forward_s)
    seconds[-1] += volumes.last_stage_s
    scaled: Float = seconds * (job.workload.stage_scale or 1.0)
    return scaled


def _negligible(job: Job) -> bool:
    """Whether even stages would hardly shorten the passes: the slowest paces all micro-batches but one."""
    stage_s, others = _stage_s(job), job.workload.batches - 1
    return bool(
        stage_s.sum() + others * stage_s.max() < LEAST_SLOWDOWN_RATIO * (stage_s.sum() + others * stage_s.mean())
    )


def _durations(iterations: Sequence[tuple[int, int]], fault: faults.Fault) -> tuple[list[int], list[int]]:
    """From end to end: iterations before the fault, and with it."""
    ends = [end for _, end in iterations]
    every = [b - a for a, b in pairwise(ends)]  # of iteration n + 1
    first = max(fault.first - 1, 0)
    last = len(every) if fault.last is None else fault.last
    with_it = every[first:last]
    if fault.kind == "flap":
        with_it = [d for n, d in enumerate(with_it) if n // fault.every % 2 == 0]
    if fault.kind == "straggler" and fault.shape == "sporadic":
        with_it = sorted(with_it)[len(with_it) * 2 // 3 :]
    if fault.kind == "straggler" and fault.shape == "thermal":
        with_it = with_it[faults.THERMAL_STEPS :]
    return every[:first], with_it


def _accepted(run: Run, job: Job, fault: faults.Fault) -> list[AcceptedSubject]:
    fabric = run.fabric
    if fault.kind in {"straggler", "hang_compute"}:
        return _at_rank(fabric, job, fault.rank)
    if fault.kind in {"slow_nic", "flap"}:
        return _at_nic(fabric, job, fault.rank)
    if fault.kind == "hang_communication":
        return _at_nic(fabric, job, fault.rank) + _at_rank(fabric, job, fault.rank)
    if fault.kind == "contention":
        return [s for leaf in _shared_leaves(run, fault) for s in _at_leaf(fabric, leaf, range(fabric.spines))]
    if fault.kind in {"slow_uplink", "ecmp_collision"}:
        spines = [fault.spine or 0] if fault.kind == "slow_uplink" else range(fabric.spines)
        return _at_leaf(fabric, fault.leaf, spines)
    if fault.kind == "stage_imbalance":
        return [*_heavy_stages(fabric, job), AcceptedSubject(type="job", ids="*")]
    return [AcceptedSubject(type="job", ids="*")]


def _at_leaf(fabric: Fabric, leaf: int, spines: Sequence[int]) -> list[AcceptedSubject]:
    """Cables of a leaf, and the leaf: flows do not say which one they took, it is what holds all suspects."""
    name = fabric.leaf_name(leaf)
    cables = [AcceptedSubject(type="link", ids=(name, f"spine{s}")) for s in spines]
    return [AcceptedSubject(type="switch", ids=(name,)), *cables]


def _shared_leaves(run: Run, fault: faults.Fault) -> list[int]:
    """Leaves whose cables both jobs of a contention use."""
    used = []
    for job in (fault.job, fault.other):
        seat = next(i.seat for i in run.instances if i.job == job)
        crosses = seat.path[:, 2] >= 0
        used.append({int(n) for end in (seat.src, seat.dst) for n in np.unique(run.fabric.leaf_of_nic(end[crosses]))})
    return sorted(used[0] & used[1])


def _at_rank(fabric: Fabric, job: Job, rank: int) -> list[AcceptedSubject]:
    """A rank's endpoint, its tensor group's as the layout's truth has it, or its host.

    Replicas on one host whose rings keep to their rails wait for one another before they send: they count as tp's.
    """
    gpus = job.attempts[0].gpus
    cell = job.plan.tp_groups()[rank // job.plan.tp]
    nics = dict.fromkeys(fabric.nic_of_gpu(gpus[cell]).tolist())
    own = {fabric.address(n) for n in nics}
    seen = next((g for g in _groups(fabric, job)[0].get("tp", ()) if own <= set(g)), tuple(own))
    group = tuple(sorted(seen))
    host = fabric.host_name(int(gpus[rank]) // fabric.gpus_per_host)
    return [
        AcceptedSubject(type="endpoint", ids=group, within=True),
        AcceptedSubject(type="host", ids=(host,)),
        AcceptedSubject(type="group", ids=group, within=True),
    ]


def _at_nic(fabric: Fabric, job: Job, rank: int) -> list[AcceptedSubject]:
    """A rank's NIC, or its cable to the leaf."""
    nic = faults.nic_of_rank(fabric, job, rank)
    leaf = fabric.leaf_name(int(fabric.leaf_of_nic(np.array([nic]))[0]))
    host = fabric.host_name(int(fabric.host_of_nic(np.array([nic]))[0]))
    address = fabric.address(nic)
    return [
        AcceptedSubject(type="endpoint", ids=(address,)),
        AcceptedSubject(type="link", ids=(leaf, address)),
        AcceptedSubject(type="link", ids=(leaf, host)),
    ]


def _heavy_stages(fabric: Fabric, job: Job) -> list[AcceptedSubject]:
    """The heaviest stage, and those that are as heavy within the least slowdown."""
    stage_s = _stage_s(job)
    found = []
    for stage in np.flatnonzero(stage_s * LEAST_SLOWDOWN_RATIO >= stage_s.max()).tolist():
        ranks = job.plan.ranks()[stage].ravel()
        nics = np.unique(fabric.nic_of_gpu(job.attempts[-1].gpus[ranks])).tolist()
        found.append(AcceptedSubject(type="group", ids=tuple(sorted(fabric.address(n) for n in nics))))
    return found
