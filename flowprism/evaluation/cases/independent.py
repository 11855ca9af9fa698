"""Random layouts: each dimension of a job is drawn independently, for combinations not thought of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.errors import InputError
from datamodel.reconstructed.streams import Int
from flowprism.evaluation.cases.faulty import KINDS, hanging
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.quiet import EVENTS, RESTARTS, paused, restarted
from flowprism.evaluation.cases.training import Drawn, hosts_of
from simulate.network.fabric import Fabric
from simulate.network.graph import TENSOR
from simulate.scenarios.base_job import GPUS_PER_HOST, dense_volumes, fabric_for, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions, by_host
from simulate.training.job import SimulatedJob, place_iteration
from simulate.training.model import MODELS
from simulate.training.plan import Plan, pack_ranks, shuffled_hosts, tensor_across_hosts
from simulate.training.workload import Noise, Sharding, Workload

Random = np.random.Generator
# What is drawn from; a size that stands twice is twice as likely.
SIZES = {
    "tp": (1, 2, 4, 8, 8, 16),
    "cp": (1, 1, 1, 2, 4),
    "ep": (1, 1, 2, 4, 8, 16),
    "dp": (1, 2, 3, 4, 5, 6, 8, 12, 16, 32),
    "pp": (1, 1, 2, 3, 4, 6, 8),
}
BATCHES, CHUNKS, UNITS, BUCKETS = (1, 2, 4, 6, 8, 12), (1, 1, 2), (2, 4), (1, 2, 4)
MODEL_NAMES = ("llama2-7b", "llama3-8b", "llama2-70b", "llama3-70b", "mixtral-8x7b", "mixtral-8x7b", "deepseek-v3")
SHARDINGS: tuple[Sharding, ...] = ("none", "zero", "fsdp")
CHANNELS, QUEUE_PAIRS, NICS = (1, 1, 2, 4), (1, 1, 2, 4), (8, 8, 8, 4, 2, 1)
PLACEMENTS = ("packed", "packed", "shuffled", "tensor")
JITTERS = (0.003, 0.01, 0.03)
_GPUS, _LEAST_GPUS = 128, 16
_ITERATIONS, _WITH_FAULT = 16, 28
_LEAST_WINDOW_S = 90.0
# So much more than its NICs send can a leaf's cables carry.
_HEADROOM = 4
# Messages of an iteration; more would make cases that take minutes.
_MOST_MESSAGES = 8_000
_FAULT_EVERY, _EVENT_EVERY = 3, 4
# Faults of one job that any job can have.
_FAULTS = tuple(name for name in KINDS if name not in {"contention", "stage-imbalance", "sequence-imbalance"})


def independent(number: int, random: Random) -> Scenario:  # noqa: ARG001 -- cases differ by their seed alone
    """Draw each dimension of a job independently; again until it can be run and all its NICs send."""
    fault = str(random.choice(_FAULTS)) if random.integers(_FAULT_EVERY) == 0 else None
    event = str(random.choice(EVENTS)) if random.integers(_EVENT_EVERY) == 0 else None
    drawn, about = _drawn(random, _WITH_FAULT if fault else _ITERATIONS)
    if fault and event in RESTARTS:
        event = None  # a fault is given by ranks, which a restart may move
    about += "".join(f", {what}" for what in (fault, event) if what)
    made = plain(drawn, about=about)
    if event:
        made = _restarted(drawn, random, event) if event in RESTARTS else paused(drawn, random, event)
    if fault:
        made = replace(made, faults=(KINDS[fault].draw(drawn.job, random),))
        made = _hanging(made) if fault.startswith("hang") else made
    return replace(made, about=about)


def _restarted(drawn: Drawn, random: Random, event: str) -> Scenario:
    spare = event == "host-replaced"
    return restarted(drawn.job, replace(drawn.fabric, hosts=drawn.fabric.hosts + spare), random, event)


def _hanging(made: Scenario) -> Scenario:
    """For twice as long as the iterations would compute; the other half is for what they send."""
    (job,), fabric = made.jobs, replace(made.fabric, hosts=made.fabric.hosts + 2, services=2)
    volumes, passes = job.workload.volumes, job.workload.batches + job.plan.pp - 1
    pass_s = volumes.forward_s + volumes.backward_s + 3 * volumes.last_stage_s
    window_s = 2 * job.attempts[0].iterations * (passes * pass_s + volumes.optimizer_s)
    return hanging(made, fabric, max(window_s, _LEAST_WINDOW_S))


def _drawn(random: Random, iterations: int) -> tuple[Drawn, str]:
    """A job that can be run, on its fabric, and what it is in words."""
    while True:
        sizes = {name: _one(random, of) for name, of in SIZES.items()}
        workload = _workload(random)
        model, units = MODEL_NAMES[int(random.integers(len(MODEL_NAMES)))], _one(random, UNITS)
        placement = PLACEMENTS[int(random.integers(len(PLACEMENTS)))]
        seed, proxied, queue_pairs = int(random.integers(1 << 30)), bool(random.integers(2)), _one(random, QUEUE_PAIRS)
        fabric = _fabric(random)
        try:
            plan = Plan(**sizes)
        except InputError:
            continue
        if not _makes_sense(plan, workload, model, placement):
            continue
        fabric = replace(fabric, hosts=hosts_of(plan))
        volumes = dense_volumes(plan, model, workload.chunks, units, gpu_tflops=float(random.uniform(300, 500)))
        workload = replace(workload, volumes=volumes)
        gpus = _seats(plan, placement, seed)
        job = one_job(plan, workload, iterations, gpus=gpus, proxied=proxied, queue_pairs=queue_pairs)
        if _can_be_run(job, fabric):
            return Drawn(job, fabric), _about(job, fabric, model, placement)


def _one(random: Random, of: tuple[int, ...]) -> int:
    return of[int(random.integers(len(of)))]


def _workload(random: Random) -> Workload:
    """What an iteration does, but for its volumes, which the sizes decide."""
    return Workload(
        volumes=dense_volumes(Plan()),
        batches=_one(random, BATCHES),
        chunks=_one(random, CHUNKS),
        sharding=SHARDINGS[int(random.integers(len(SHARDINGS)))],
        buckets=_one(random, BUCKETS),
        overlap=bool(random.integers(2)),
        shared_embedding=bool(random.integers(4) == 0),
        collectives=CollectiveOptions(
            channels=_one(random, CHANNELS),
            tree=bool(random.integers(4) == 0),
            crossing=bool(random.integers(4) == 0),
        ),
        noise=Noise(jitter_ratio=float(random.choice(JITTERS)), sequence_ratio=float(random.choice((0.0, 0.0, 0.2)))),
    )


def _fabric(random: Random) -> Fabric:
    """A fabric but for its hosts; cables that NICs could fill would be slow without a fault."""
    made = fabric_for(
        GPUS_PER_HOST,
        nics_per_host=_one(random, NICS),
        rail_optimised=bool(random.integers(3)),
        hosts_per_leaf=_one(random, (2, 4, 8)),
        spines=_one(random, (2, 4, 8)),
        nic_gbps=float(random.choice((200.0, 400.0))),
    )
    under_a_leaf = made.hosts_per_leaf * (1 if made.rail_optimised else made.nics_per_host)
    return replace(made, uplink_gbps=_HEADROOM * under_a_leaf * made.nic_gbps / made.spines)


def _makes_sense(plan: Plan, workload: Workload, model: str, placement: str) -> bool:
    """Whether there is such training, and it is of the size asked for."""
    config = MODELS[model]
    if not _LEAST_GPUS <= plan.world <= _GPUS or config.layers < plan.pp * workload.chunks:
        return False
    if placement == "tensor" and (plan.tp == 1 or plan.world % (plan.tp * GPUS_PER_HOST)):
        return False
    if (config.experts > 1) != (plan.ep > 1) or config.experts % plan.ep:
        return False
    if workload.sharding == "fsdp" and plan != Plan(dp=plan.dp):  # the simulator shards replicas of one GPU each
        return False
    if workload.chunks > 1 and (plan.pp == 1 or workload.batches % plan.pp):
        return False
    return not (workload.shared_embedding and plan.pp == 1)


def _can_be_run(job: SimulatedJob, fabric: Fabric) -> bool:
    """Check whether it is simulated in seconds and visible: all NICs send, all stages are on different hosts."""
    gpus = job.attempts[0].gpus
    host = gpus // fabric.gpus_per_host
    hops = host[job.plan.pp_groups()]
    if (hops[:, 1:] == hops[:, :-1]).any():
        return False
    try:
        for groups in (job.plan.gradient_groups(), job.plan.ep_groups(), job.plan.tp_groups()):
            by_host(groups, host)
        seat = place_iteration(fabric, job, 0, checkpoint=False, evaluation=False)
    except InputError:
        return False
    if int((seat.src >= 0).sum()) > _MOST_MESSAGES:
        return False
    out = fabric.host_of_nic(np.maximum(seat.src, 0)) != fabric.host_of_nic(np.maximum(seat.dst, 0))
    if (seat.graph.purpose[out] == TENSOR).all():
        return False  # every sum looks like the next: steps of a small model on replicas, as well
    seen = np.unique(np.concatenate([seat.src[out], seat.dst[out]]))
    return bool(np.isin(fabric.nic_of_gpu(gpus), seen).all())


def _seats(plan: Plan, placement: str, seed: int) -> Int:
    if placement == "shuffled":
        return shuffled_hosts(plan, 0, GPUS_PER_HOST, seed)
    return tensor_across_hosts(plan, 0, GPUS_PER_HOST) if placement == "tensor" else pack_ranks(plan, 0)


def _about(job: SimulatedJob, fabric: Fabric, model: str, placement: str) -> str:
    """The draw in words, what is usual left out."""
    plan, work, how = job.plan, job.workload, job.workload.collectives
    sizes = " ".join(f"{kind}{getattr(plan, kind)}" for kind in ("tp", "cp", "ep", "dp", "pp"))
    said = {
        f"{work.chunks} chunks": work.chunks > 1,
        work.sharding: work.sharding != "none",
        "overlap": work.overlap,
        "embedding": work.shared_embedding,
        "trees": how.tree,
        "crossing": how.crossing,
        f"{how.channels} channels": how.channels > 1,
        f"{job.queue_pairs} queue pairs": job.queue_pairs > 1,
        f"{fabric.nics_per_host} NICs": fabric.nics_per_host < GPUS_PER_HOST,
        "proxied": job.proxied,
        "plain leaves": not fabric.rail_optimised,
        placement: placement != "packed",
        "lengths": work.noise.sequence_ratio > 0,
    }
    extras = ", ".join(name for name, so in said.items() if so)
    return f"{sizes}, {model}, {work.batches} batches" + (f", {extras}" if extras else "")
