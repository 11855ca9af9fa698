"""Families with a fault: every kind of fault on several layouts, its place, onset and size drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import PIPELINES, REPLICAS, Drawn, Training, draw
from simulate.faults import Fault
from simulate.network.fabric import Fabric
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import BackgroundTraffic, Scenario
from simulate.training.job import SimulatedJob
from simulate.training.plan import Plan, pack_ranks
from simulate.training.workload import Noise

_ITERATIONS = 28
_ONSETS = (8, 18)
_HANG_WINDOW_S = 90.0
_MIRROR_EVERY, _GATHERED = 4, 256
_TRAININGS = (
    Training(PIPELINES),
    Training(REPLICAS, workload={"buckets": 2}),
    Training(PIPELINES, workload={"sharding": "zero"}),
    Training((Plan(dp=16), Plan(dp=32)), ("llama2-7b", "llama3-8b"), (1,), {"sharding": "fsdp", "overlap": True}),
    Training(PIPELINES, workload={"buckets": 4, "overlap": True}),
)
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of fault.

    Attributes:
        fault: what all of the kind share.
        sizes: least and most; drawn so that each doubling is as likely.
        trainings: the jobs it befalls, in turn.
        fabric: fields of `Fabric` that it takes.
        dated: it sets in amid the run; else it is there from the beginning.
    """

    fault: Fault
    sizes: tuple[float, float] = (1.0, 1.0)
    trainings: tuple[Training, ...] = _TRAININGS
    fabric: Mapping[str, Any] = field(default_factory=dict)
    dated: bool = True

    def draw(self, job: SimulatedJob, random: Random) -> Fault:
        """One of the kind: its onset, size and rank drawn."""
        least, most = np.log(self.sizes)
        size = float(np.exp(random.uniform(least, most)))
        first, rank = int(random.integers(*_ONSETS)), int(random.integers(job.plan.world))
        return replace(self.fault, first=first if self.dated else 0, size=size, rank=rank)


_PIPED = (Training(PIPELINES), Training(PIPELINES, workload={"buckets": 4, "overlap": True}))
_SPREAD = (
    Training(
        (Plan(tp=8, dp=8, pp=2), Plan(tp=8, dp=4, pp=2), Plan(tp=8, dp=8), Plan(tp=4, dp=8, pp=2)), batches=(2, 4)
    ),
)
_WIDE = (
    Training(tuple(p for p in (*PIPELINES, *REPLICAS) if p.world >= 32), workload={"buckets": 2}, batches=(2, 4)),
    Training(tuple(p for p in PIPELINES if p.world >= 32), batches=(2, 4)),
)
_RAILS: dict[str, Any] = {"hosts_per_leaf": 2, "spines": 2}
_SHARED: dict[str, Any] = {"rail_optimised": False, "hosts_per_leaf": 2, "spines": 4, "uplink_gbps": 3200.0}
KINDS: dict[str, _Kind] = {
    "straggler": _Kind(Fault("straggler"), (1.25, 1.8)),
    "straggler-thermal": _Kind(Fault("straggler", shape="thermal"), (1.4, 1.8)),
    "straggler-sporadic": _Kind(Fault("straggler", shape="sporadic"), (1.4, 1.8)),
    "slow-nic": _Kind(Fault("slow_nic"), (5, 40)),
    "slow-nic-tx": _Kind(Fault("slow_nic", direction="tx"), (5, 40)),
    "slow-nic-rx": _Kind(Fault("slow_nic", direction="rx"), (5, 40)),
    "flap": _Kind(Fault("flap", every=3), (10, 40)),
    "slow-uplink": _Kind(Fault("slow_uplink"), (20, 80), _WIDE, _RAILS),
    "slow-uplink-shared": _Kind(Fault("slow_uplink"), (20, 80), _WIDE, _SHARED),
    "lossy-uplink": _Kind(Fault("slow_uplink", loss_ratio=0.01), (20, 80), _WIDE, _RAILS),
    "ecmp-collision": _Kind(Fault("ecmp_collision"), (1, 1), _WIDE, _SHARED | {"uplink_gbps": 400.0}),
    "contention": _Kind(Fault("contention")),
    "hang-compute": _Kind(Fault("hang_compute")),
    "hang-communication": _Kind(Fault("hang_communication")),
    "stage-imbalance": _Kind(Fault("stage_imbalance"), trainings=_PIPED, dated=False),
    "sequence-imbalance": _Kind(Fault("sequence_imbalance"), trainings=_SPREAD, dated=False),
    "regression": _Kind(Fault("regression"), (1.12, 1.5)),
}


def faults(number: int, random: Random) -> Scenario:
    """Each kind of fault in turn; every fourth round as a mirror sees it."""
    name = list(KINDS)[number % len(KINDS)]
    if name == "contention":
        return _contention(random)
    kind, turn = KINDS[name], number // len(KINDS)
    drawn = draw(kind.trainings[turn % len(kind.trainings)], random, _ITERATIONS)
    if kind.fabric:
        drawn = Drawn(drawn.job, fabric_for(drawn.fabric.gpus, **kind.fabric))
    fault = kind.draw(drawn.job, random)
    drawn = _worked(name, drawn, random)
    made = plain(drawn, about=name, faults=(fault,))
    if name.startswith("hang"):
        return hanging(made, fabric_for(drawn.fabric.gpus + 2 * GPUS_PER_HOST, services=2), _HANG_WINDOW_S)
    return replace(made, telemetry="mirror", gathered=_GATHERED) if turn % _MIRROR_EVERY == 3 else made


def hanging(made: Scenario, fabric: Fabric, window_s: float) -> Scenario:
    """The scenario on a fabric with hosts and services to spare, whose other traffic goes on when the job hangs."""
    return replace(made, fabric=fabric, window_s=window_s, bustle=BackgroundTraffic(seconds=window_s))


def _worked(name: str, drawn: Drawn, random: Random) -> Drawn:
    """The job with the uneven work that the imbalances consist of."""
    job = drawn.job
    if name == "stage-imbalance":
        heavy = int(random.integers(job.plan.pp))
        scale = tuple(float(random.uniform(1.3, 1.6)) if s == heavy else 1.0 for s in range(job.plan.pp))
        job = replace(job, workload=replace(job.workload, stage_scale=scale))
    if name == "sequence-imbalance":
        noise = Noise(replica_ratio=float(random.uniform(0.7, 0.9)))
        job = replace(job, workload=replace(job.workload, noise=noise))
    return Drawn(job, drawn.fabric)


def _contention(random: Random) -> Scenario:
    """Two jobs on alternate hosts under the same leaves; the second begins amid the first one's run."""
    plans = (Plan(tp=8, dp=8), Plan(tp=8, dp=4), Plan(tp=4, dp=8), Plan(tp=4, dp=16))
    job = draw(Training(plans, ("llama2-7b", "llama3-8b"), (1, 2)), random, _ITERATIONS).job
    seats = pack_ranks(job.plan, 0)
    gpus = seats // GPUS_PER_HOST * 2 * GPUS_PER_HOST + seats % GPUS_PER_HOST
    first = replace(job, attempts=(replace(job.attempts[0], gpus=gpus),))
    late = replace(first, name="job1", tenant="t2", attempts=(replace(job.attempts[0], gpus=gpus + GPUS_PER_HOST),))
    fabric = fabric_for(2 * job.plan.world, rail_optimised=False, hosts_per_leaf=4, spines=2, uplink_gbps=800.0)
    fault = KINDS["contention"].draw(first, random)
    return Scenario("", "contention", fabric, (first, late), faults=(fault,))
