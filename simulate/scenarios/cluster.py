"""A whole cluster for a minute: tens of jobs of mixed layouts, some with faults, from a thousand GPUs up.

Jobs are simulated one by one: leaves have four times the uplinks their NICs can fill, so that jobs hardly compete.
Volumes are gathered into few units of layers and collectives into few pieces, so that a GPU leaves a few hundred flow
records a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.errors import InputError
from simulate.faults import Fault, FaultKind
from simulate.scenarios.base_job import GPUS_PER_HOST, ScenarioOptions, dense_volumes, fabric_for
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.plan import Plan, pack_ranks
from simulate.training.workload import Workload

WINDOW_S = 60.0
GPUS, LEAST_GPUS = 10_000, 1_000
_GPUS_A_JOB, _MOST_JOBS, _LEAST_JOBS = 320, 40, 5
_FAULT_EVERY, _ONSET = 4, 3
_TFLOPS, _BATCHES = (320.0, 460.0), (0.8, 1.2)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of job: its share of the jobs, its plan with dp left open, its workload and how that is gathered."""

    share: float
    plan: Plan
    model: str
    workload: dict[str, object]
    units: int = 1
    micro_batch: int = 1
    pieces: int = 4


_KINDS = (
    _Kind(0.45, Plan(tp=8, pp=4), "llama3-70b", {"batches": 12, "buckets": 2, "overlap": True}),
    _Kind(0.25, Plan(tp=8, pp=8), "gpt3-175b", {"batches": 8, "sharding": "zero"}, 1, 4),
    _Kind(0.18, Plan(tp=8, pp=4), "llama3-70b", {"batches": 12, "chunks": 2}),
    _Kind(0.08, Plan(tp=1), "llama3-8b", {"batches": 1, "sharding": "fsdp", "overlap": True}, 8, 4, 2),
    _Kind(0.04, Plan(tp=4, ep=8, dp=8, pp=2), "mixtral-8x7b", {"batches": 4}, 2, 4),
)
_FAULTS: tuple[tuple[FaultKind, float], ...] = (
    ("straggler", 1.4),
    ("slow_nic", 6.0),
    ("regression", 1.3),
    ("hang_compute", 1.0),
)


def cluster(options: ScenarioOptions) -> Scenario:
    """The cluster of the given size.

    Raises:
        InputError: fewer than a thousand GPUs.
    """
    gpus = options.gpus or GPUS
    if gpus < LEAST_GPUS:
        raise InputError(f"--gpus {gpus}: a cluster has at least {LEAST_GPUS}")
    jobs = _jobs(gpus, options)
    faults = [_fault(n, jobs[n]) for n in range(0, len(jobs), _FAULT_EVERY)]
    return Scenario(
        "",
        "",
        fabric_for(gpus, spines=32),
        tuple(jobs),
        faults=tuple(faults),
        answers=False,
        coupled=False,
        window_s=WINDOW_S,
    )


def _jobs(gpus: int, options: ScenarioOptions) -> list[SimulatedJob]:
    """Jobs of very different sizes that fill the cluster, each on hosts of its own."""
    random = np.random.default_rng(np.random.SeedSequence((options.seed, 0xC1)))
    count = int(np.clip(gpus // _GPUS_A_JOB, _LEAST_JOBS, _MOST_JOBS))
    weight = np.sort(random.lognormal(0.0, 0.9, count))[::-1]
    kinds = [_KINDS[0], _KINDS[1], *random.choice(np.arange(len(_KINDS)), count - 2, p=[k.share for k in _KINDS])]
    jobs: list[SimulatedJob] = []
    first = 0
    for n in range(count):
        kind = kinds[n] if isinstance(kinds[n], _Kind) else _KINDS[int(kinds[n])]
        plan = _sized(kind.plan, int(gpus * weight[n] / weight.sum()), gpus - first)
        if plan is not None:
            jobs.append(_job(f"job{len(jobs)}", kind, plan, first, options, random))
            first += -(-plan.world // GPUS_PER_HOST) * GPUS_PER_HOST
    return jobs


def _sized(plan: Plan, wanted: int, left: int) -> Plan | None:
    """The plan with dp for about so many GPUs, whole hosts and whole ep groups; None where they are not left."""
    replica = plan.tp * plan.pp
    step = max(plan.ep, GPUS_PER_HOST // plan.tp, 1)
    dp = max(round(wanted / replica / step), 2 if step == 1 else 1) * step
    while dp > step and dp * replica > left:
        dp -= step
    return replace(plan, dp=dp) if dp * replica <= left and dp > 1 else None


def _job(
    name: str, kind: _Kind, plan: Plan, first_gpu: int, options: ScenarioOptions, random: np.random.Generator
) -> SimulatedJob:
    """A job of its kind with a speed and a batch size of its own: no two trainings keep the same pace."""
    chunks = int(str(kind.workload.get("chunks", 1)))
    tflops = float(random.uniform(*_TFLOPS))
    volumes = dense_volumes(plan, kind.model, chunks, kind.units, micro_batch=kind.micro_batch, gpu_tflops=tflops)
    workload = replace(Workload(volumes=volumes, collectives=CollectiveOptions(steps=kind.pieces)), **kind.workload)  # type: ignore[arg-type]
    groups = plan.pp if workload.chunks > 1 else 1  # an interleaved pipeline takes whole rounds of its stages
    batches = max(round(workload.batches * random.uniform(*_BATCHES) / groups), 1) * groups
    workload = replace(workload, batches=batches)
    least_s = (volumes.forward_s + volumes.backward_s) * (workload.batches + plan.pp - 1)
    iterations = options.times(int(WINDOW_S / least_s) + 1)
    attempt = Attempt(pack_ranks(plan, first_gpu), iterations)
    tenant = f"t{(first_gpu // 512) % 5}"
    return SimulatedJob(name, plan, workload, (attempt,), tenant=tenant, start_s=first_gpu % 4096 / 4096)


def _fault(number: int, job: SimulatedJob) -> Fault:
    kind, size = _FAULTS[number // _FAULT_EVERY % len(_FAULTS)]
    iterations = job.attempts[0].iterations
    rank = job.plan.world // 2 + 3 if job.plan.world > 8 else 0
    return Fault(kind, job=number, first=min(_ONSET, iterations - 1), rank=rank, size=size)
