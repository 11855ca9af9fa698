"""The truth of a simulation: jobs as they ran, and faults with every name that is right for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.truth import AcceptedSubject, TrueChange, TrueFault, TrueJob
from simulate import faults
from simulate.decidable import SIZES, decidable_sizes
from simulate.network.fabric import Fabric
from simulate.network.graph import COMPUTE, NO_INDEX, STATE
from simulate.run import Instance, Run
from simulate.training.job import SimulatedJob

# Smaller slowdowns of an iteration are not reported (design: thresholds).
LEAST_SLOWDOWN_RATIO = 1.05
_HANGS = ("hang_compute", "hang_communication")
_UNEVEN = ("sequence_imbalance", "expert_imbalance")
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
    "expert_imbalance": ("imbalance",),
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


def true_job(run: Run, index: int, epoch_ns: int, *, hosts_known: bool = True) -> TrueJob:
    """A job as it ran: endpoints of all attempts, layout and groups of the last.

    Sizes that no traffic decides are not asked, and neither are the groups of their kind; `not_asked` has their values.
    """
    job = run.jobs[index]
    nics = np.unique(np.concatenate([run.fabric.nic_of_gpu(a.gpus) for a in job.attempts]))
    asked = decidable_sizes(run.fabric, job, hosts_known=hosts_known)
    sizes = {name: int(getattr(job.plan_of(-1), name)) for name in SIZES}
    return TrueJob(
        id=job.name,
        endpoints=tuple(run.fabric.address(int(n)) for n in nics),
        layout={name: size for name, size in sizes.items() if name in asked},
        not_asked={name: size for name, size in sizes.items() if name not in asked},
        groups={kind: groups for kind, groups in _groups(run.fabric, job).items() if kind in asked},
        iterations=iterations_ns(run, index, epoch_ns),
        changes=tuple(_change(run, index, number, epoch_ns) for number in range(1, len(job.attempts))),
    )


def _change(run: Run, index: int, number: int, epoch_ns: int) -> TrueChange:
    """What an attempt changed against the one before."""
    job, nic = run.jobs[index], run.fabric.nic_of_gpu
    before, after = (
        {int(n): rank for rank, n in zip(range(len(a.gpus)), nic(a.gpus), strict=True)}
        for a in job.attempts[number - 1 : number + 1]
    )
    own = [i for i in run.instances if i.job == index]
    former, later = ([i for i in own if i.attempt == n] for n in (number - 1, number))
    complete = former[:-1] if job.attempts[number - 1].crashes else former
    joined, left = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    same = len(job.attempts[number - 1].gpus) == len(job.attempts[number].gpus)
    at_rank = {rank: n for n, rank in before.items()}
    live = job.attempts[number].live
    stages = {n: rank * job.plan.pp // len(before) for n, rank in before.items() if n in left}
    stages |= {n: rank * job.plan.pp // len(after) for n, rank in after.items() if n in joined}
    name = run.fabric.address
    copies = later[0].seat.graph.purpose == STATE
    return TrueChange(
        kind="elastic" if not same else "live_migration" if live else "restart",
        leavers=tuple(name(n) for n in left),
        joiners=tuple(name(n) for n in joined),
        replaces={name(n): name(at_rank[after[n]]) for n in joined} if same else {},
        stages={name(n): stage for n, stage in stages.items()},
        start_ns=epoch_ns + round(_ended(run, complete[-1]) if complete else _began(run, former[0])),
        end_ns=epoch_ns + round(_began(run, later[0])),
        state_bytes=round(float(later[0].seat.graph.work[copies & (later[0].seat.path[:, 0] >= 0)].sum())),
        repeated=_since_checkpoint(job, complete[-1].iteration) if complete and complete != former else 0,
    )


def _began(run: Run, instance: Instance) -> float:
    return float(run.timing.start_ns[instance.first + instance.seat.iteration.started].min())


def _ended(run: Run, instance: Instance) -> float:
    return float(run.timing.end_ns[instance.first + instance.seat.iteration.done].max())


def _since_checkpoint(job: SimulatedJob, last: int) -> int:
    """Complete iterations up to the last one that no checkpoint holds."""
    every = job.workload.pauses.checkpoint_every
    return (last + 1) % every if every else last + 1


Groups = dict[str, tuple[tuple[str, ...], ...]]


def _groups(fabric: Fabric, job: SimulatedJob) -> Groups:
    """Process groups of more than one endpoint, as endpoints; dp groups are those that reduce dense gradients."""
    plan, nic = job.plan_of(-1), fabric.nic_of_gpu(job.attempts[-1].gpus)
    ranks = {
        "tp": plan.tp_groups(), "dp": plan.gradient_groups(), "pp": plan.pp_groups(), "ep": plan.ep_groups(),
        "cp": plan.cp_groups(),
    }  # fmt: skip
    named = {kind: _addresses(fabric, nic[groups], ordered=kind != "pp") for kind, groups in ranks.items()}
    return {kind: groups for kind, groups in named.items() if groups}


def _addresses(fabric: Fabric, groups: Int, *, ordered: bool) -> tuple[tuple[str, ...], ...]:
    """Each group's endpoints, each once; groups of one left out, equal ones too."""
    found: dict[tuple[str, ...], None] = {}
    for group in groups.tolist():
        members = list(dict.fromkeys(group))
        if len(members) > 1:
            found[tuple(fabric.address(n) for n in (sorted(members) if ordered else members))] = None
    return tuple(found)


def true_faults(run: Run, number: int, epoch_ns: int) -> list[TrueFault]:
    """A fault of a run with what it may be called; none where the run stopped before it set in.

    A job that contends with another is slowed too, from its own start on, and a link may slow every job that uses it:
    that may be reported too.
    """
    fault = run.faults[number]
    found = _true_fault(run, number, iterations_ns(run, fault.job, epoch_ns), epoch_ns)
    if found is None:
        return []
    others = {"contention": [fault.other], "slow_uplink": [n for n in run.jobs if n != fault.job]}.get(fault.kind, [])
    undated = {"start_ns": None, "iteration": None, "iteration_ns": None, "optional": True}
    return [found, *(found.model_copy(update={"job": run.jobs[n].name, **undated}) for n in others)]


def _true_fault(run: Run, number: int, iterations: Sequence[tuple[int, int]], epoch_ns: int) -> TrueFault | None:
    fault = run.faults[number]
    job = run.jobs[fault.job]
    since = run.fault_ns[number]
    always = fault.kind in {"stage_imbalance", *_UNEVEN}
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
    return TrueFault(
        kinds=_KINDS[fault.kind],
        accept=tuple(_accepted(run, job, fault)),
        job=job.name,
        start_ns=start if dated else None,
        iteration=fault.first if dated else None,
        iteration_ns=round(median(before or after)) if dated and (before or after) else None,
        periods=faults.flap_periods(fault, count) if fault.kind == "flap" else 1,
        what=fault.kind if fault.kind != "straggler" else f"straggler_{fault.shape}",
        optional=_optional(run, fault, iterations, hardly=hardly),
    )


def _optional(run: Run, fault: faults.Fault, iterations: Sequence[tuple[int, int]], *, hardly: bool) -> bool:
    """Whether a fault costs too little to be asked for; `hardly`: by the iteration times before it and with it."""
    if fault.kind == "stage_imbalance":
        return _negligible(run.jobs[fault.job])
    if fault.kind in _UNEVEN:
        return _uneven_cost(run, fault, iterations) < 1 - 1 / LEAST_SLOWDOWN_RATIO
    return hardly and fault.kind not in _HANGS


def _uneven_cost(run: Run, fault: faults.Fault, iterations: Sequence[tuple[int, int]]) -> float:
    """Share of the usual iteration by which the last of a group computes longer than the group's mean.

    Replicas meet once an iteration, members of a group of experts in each pass: those of one micro-batch are counted
    together. Stages work side by side: the one that loses most counts.
    """
    plan, batches = run.jobs[fault.job].plan, run.jobs[fault.job].workload.batches
    experts = fault.kind == "expert_imbalance"
    groups = np.unique((plan.ep_groups() if experts else plan.gradient_groups()) // plan.tp, axis=0)
    costs = []
    for instance, (begin, end) in zip([i for i in run.instances if i.job == fault.job], iterations, strict=False):
        graph, lengths = instance.seat.graph, plan.dp * batches
        own = (graph.kind == COMPUTE) & (graph.batch != NO_INDEX)
        own &= graph.batch >= lengths if experts else graph.batch < lengths
        place = graph.src[own] * batches + graph.batch[own] % batches
        work_ns = np.bincount(place, run.work[instance.first + np.flatnonzero(own)], plan.cells * batches)
        spent_ns = work_ns.reshape(plan.cells, batches) if experts else work_ns.reshape(plan.cells, batches).sum(1)
        late_ns = spent_ns[groups].max(axis=1) - spent_ns[groups].mean(axis=1)
        costs.append(float(late_ns.reshape(len(groups), -1).sum(axis=1).max()) / (end - begin))
    return median(costs) if costs else 0.0


def uneven_stages(run: Run, index: int) -> list[TrueFault]:
    """Work that a job's own model spreads unevenly over its stages, as an optional fault: to name it is right.

    The output projection of a large vocabulary makes a last stage of few layers half as heavy again as the others.
    """
    job = run.jobs[index]
    asked = any(f.kind == "stage_imbalance" and f.job == index for f in run.faults)
    if asked or _negligible(job):
        return []
    accept = (*_heavy_stages(run.fabric, job), AcceptedSubject(type="job", ids="*"))
    return [TrueFault(kinds=("imbalance",), accept=accept, job=job.name, what="uneven_stages", optional=True)]


def _stage_s(job: SimulatedJob) -> Float:
    """(pp,) forward time of a micro-batch in each stage."""
    volumes, pp = job.workload.volumes, job.plan.pp
    seconds = np.full(pp, volumes.forward_s)
    seconds[-1] += volumes.last_stage_s
    scaled: Float = seconds * (job.workload.stage_scale or 1.0)
    return scaled


def _negligible(job: SimulatedJob) -> bool:
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


def _accepted(run: Run, job: SimulatedJob, fault: faults.Fault) -> list[AcceptedSubject]:
    fabric = run.fabric
    if fault.kind in {"straggler", "hang_compute"}:
        return _at_rank(fabric, job, fault.rank)
    if fault.kind in {"slow_nic", "flap"}:
        return _at_nic(fabric, job, fault.rank, fault.plane)
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


def _at_rank(fabric: Fabric, job: SimulatedJob, rank: int) -> list[AcceptedSubject]:
    """A rank's endpoint, its tensor group's, or its host.

    Where no traffic shows a tensor group's members, any endpoint of the host may be in it: rails that start together
    wait for one another before they send.
    """
    gpus = job.attempts[0].gpus
    host = gpus // fabric.gpus_per_host
    cell = job.plan.tp_groups()[rank // job.plan.tp]
    if "tp" not in decidable_sizes(fabric, job, hosts_known=True):
        stage = job.plan.ranks().reshape(job.plan.pp, -1)[rank // (job.plan.world // job.plan.pp)]
        cell = np.union1d(cell, stage[host[stage] == host[rank]])
    group = tuple(sorted({fabric.address(n) for n in fabric.nic_of_gpu(gpus[cell]).tolist()}))
    return [
        AcceptedSubject(type="endpoint", ids=group, within=True),
        AcceptedSubject(type="host", ids=(fabric.host_name(int(host[rank])),)),
        AcceptedSubject(type="group", ids=group, within=True),
    ]


def _at_nic(fabric: Fabric, job: SimulatedJob, rank: int, plane: int | None = None) -> list[AcceptedSubject]:
    """A rank's NIC by its first address, or its cable to the leaf, in one plane or in all."""
    nic = faults.nic_of_rank(fabric, job, rank)
    leaf = int(fabric.leaf_of_nic(np.array([nic]))[0])
    host = fabric.host_name(int(fabric.host_of_nic(np.array([nic]))[0]))
    planes = range(fabric.planes) if plane is None else (plane,)
    ends = (fabric.address(nic), host)
    return [
        AcceptedSubject(type="endpoint", ids=ends[:1]),
        *(AcceptedSubject(type="link", ids=(fabric.leaf_name(leaf, p), end)) for p in planes for end in ends),
    ]


def _heavy_stages(fabric: Fabric, job: SimulatedJob) -> list[AcceptedSubject]:
    """The heaviest stage, and those that are as heavy within the least slowdown."""
    stage_s = _stage_s(job)
    found = []
    for stage in np.flatnonzero(stage_s * LEAST_SLOWDOWN_RATIO >= stage_s.max()).tolist():
        ranks = job.plan_of(-1).ranks()[stage].ravel()
        nics = np.unique(fabric.nic_of_gpu(job.attempts[-1].gpus[ranks])).tolist()
        found.append(AcceptedSubject(type="group", ids=tuple(sorted(fabric.address(n) for n in nics))))
    return found
