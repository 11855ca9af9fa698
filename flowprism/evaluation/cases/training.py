"""Kinds of training that the suite draws its jobs from: sizes, models, schedules, collectives and placements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from datamodel.reconstructed.streams import Int
from simulate.network.fabric import Fabric
from simulate.scenarios.base_job import GPUS_PER_HOST, dense_volumes, fabric_for, one_job
from simulate.training.collective import CollectiveOptions
from simulate.training.job import SimulatedJob
from simulate.training.plan import Plan, pack_ranks, shuffled_hosts, tensor_across_hosts
from simulate.training.workload import Workload


@dataclass(frozen=True, slots=True)
class Training:
    """A kind of training; what is a tuple is drawn from, case by case.

    Attributes:
        plans, models, batches: sizes of the grid, published models, micro-batches of an iteration.
        workload, job, fabric: fields of `Workload`, `SimulatedJob` and `Fabric` that make the kind what it is.
        placement: packed, shuffled (hosts in any order) or tensor (tensor groups across hosts).
        units: into how many its layers are gathered: fewer make smaller cases.
        iterations: of a case; None: as the family says.
    """

    plans: tuple[Plan, ...]
    models: tuple[str, ...] = ("llama2-7b", "llama3-8b", "llama2-70b")
    batches: tuple[int, ...] = (4, 8)
    workload: Mapping[str, Any] = field(default_factory=dict)
    job: Mapping[str, Any] = field(default_factory=dict)
    fabric: Mapping[str, Any] = field(default_factory=dict)
    placement: str = "packed"
    units: int = 4
    iterations: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """A job, and the fabric that it asks for."""

    job: SimulatedJob
    fabric: Fabric


PIPELINES = (
    Plan(tp=8, dp=2, pp=2),
    Plan(tp=8, dp=4, pp=2),
    Plan(tp=8, dp=2, pp=4),
    Plan(tp=8, dp=3, pp=4),
    Plan(tp=8, dp=4, pp=4),
    Plan(tp=4, dp=4, pp=4),
    Plan(tp=4, dp=8, pp=2),
    Plan(tp=2, dp=8, pp=4),
    Plan(tp=2, dp=4, pp=2),
    Plan(tp=8, dp=2, pp=8),
    Plan(tp=8, dp=6, pp=3),
    Plan(tp=8, dp=4, pp=8),
)
SMALL_PIPELINES = PIPELINES[:9]
REPLICAS = (
    Plan(tp=8, dp=4),
    Plan(tp=8, dp=8),
    Plan(tp=4, dp=8),
    Plan(tp=8, dp=3),
    Plan(tp=2, dp=16),
    Plan(tp=8, dp=16),
)
SHARING = (Plan(tp=8, dp=4, pp=4), Plan(tp=4, dp=8, pp=2), Plan(tp=4, dp=4, pp=4), Plan(tp=8, dp=2, pp=4))
SHARDED = (Plan(dp=16), Plan(dp=32), Plan(dp=64))

DENSE = Training(PIPELINES)
TRAININGS: dict[str, Training] = {
    "dense": DENSE,
    "overlap": Training(PIPELINES, workload={"buckets": 4, "overlap": True}),
    "zero": Training(PIPELINES, workload={"sharding": "zero", "buckets": 2}),
    "zero-overlap": Training(PIPELINES, workload={"sharding": "zero", "buckets": 4, "overlap": True}),
    "interleaved": Training(
        (Plan(tp=8, dp=2, pp=4), Plan(tp=8, dp=4, pp=4), Plan(tp=4, dp=4, pp=4)), batches=(8,), workload={"chunks": 2}
    ),
    "embedding": Training(PIPELINES, workload={"shared_embedding": True}),
    "trees": Training(PIPELINES, workload={"collectives": CollectiveOptions(tree=True)}),
    "channels": Training(
        SMALL_PIPELINES,
        batches=(4,),
        workload={"collectives": CollectiveOptions(channels=2)},
        job={"queue_pairs": 4},
    ),
    "shuffled": Training(PIPELINES, placement="shuffled"),
    "plain-leaves": Training(PIPELINES, fabric={"rail_optimised": False, "hosts_per_leaf": 4}),
    "tensor-across-hosts": Training(
        (Plan(tp=8, dp=4, pp=2), Plan(tp=8, dp=2, pp=4), Plan(tp=8, dp=4, pp=4)),
        batches=(4,),
        placement="tensor",
        units=2,
    ),
    "nics-4": Training(SHARING, fabric={"nics_per_host": 4}),
    "nics-2": Training(SHARING, fabric={"nics_per_host": 2}),
    "nics-1": Training(SHARING, fabric={"nics_per_host": 1}),
    "replicas": Training(REPLICAS, workload={"buckets": 4}),
    "replicas-one-bucket": Training(REPLICAS),
    "replicas-zero": Training(REPLICAS, workload={"sharding": "zero", "buckets": 3, "overlap": True}),
    "fsdp": Training(SHARDED, ("llama2-7b", "llama3-8b"), (1, 2), {"sharding": "fsdp", "overlap": True}),
    "fsdp-crossing": Training(
        SHARDED,
        ("llama2-7b", "llama3-8b"),
        (1,),
        {"sharding": "fsdp", "overlap": True, "collectives": CollectiveOptions(crossing=True)},
    ),
    "moe": Training(
        (Plan(tp=4, ep=8, dp=8, pp=2), Plan(tp=4, ep=4, dp=8, pp=2), Plan(tp=8, ep=4, dp=4, pp=2)),
        ("mixtral-8x7b",),
        (2,),
        units=2,
        iterations=14,
    ),
    "moe-proxied": Training(
        (Plan(tp=1, ep=16, dp=32), Plan(tp=1, ep=8, dp=32)),
        ("mixtral-8x7b",),
        (1,),
        job={"proxied": True},
        units=2,
        iterations=14,
    ),
    "ring-attention": Training(
        (Plan(tp=8, cp=4, dp=4), Plan(tp=8, cp=2, dp=4), Plan(tp=8, cp=2, dp=2, pp=2)),
        ("llama3-8b", "llama3-70b"),
        (4,),
        units=2,
    ),
}


def draw(
    training: Training, random: np.random.Generator, iterations: int, name: str = "job0", first_gpu: int = 0
) -> Drawn:
    """A job of the kind, its sizes, model, batches and pace drawn."""
    plan = training.plans[int(random.integers(len(training.plans)))]
    model = training.models[int(random.integers(len(training.models)))]
    batches = training.batches[int(random.integers(len(training.batches)))]
    chunks = int(training.workload.get("chunks", 1))
    volumes = dense_volumes(plan, model, chunks, training.units, gpu_tflops=float(random.uniform(300, 500)))
    workload = Workload(volumes=volumes, batches=batches)
    made = one_job(
        plan,
        replace(workload, **training.workload),
        training.iterations or iterations,
        name,
        _seats(training, plan, first_gpu, int(random.integers(1 << 30))),
        **training.job,
    )
    return Drawn(made, fabric_for(first_gpu + hosts_of(plan) * GPUS_PER_HOST, **training.fabric))


def hosts_of(plan: Plan) -> int:
    """Whole hosts that a plan needs."""
    return -(-plan.world // GPUS_PER_HOST)


def _seats(training: Training, plan: Plan, first_gpu: int, seed: int) -> Int:
    if training.placement == "shuffled":
        return shuffled_hosts(plan, first_gpu, GPUS_PER_HOST, seed)
    if training.placement == "tensor":
        return tensor_across_hosts(plan, first_gpu, GPUS_PER_HOST)
    return pack_ranks(plan, first_gpu)
