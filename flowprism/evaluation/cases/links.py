"""Families with a slow link of any size: each side of a NIC, and cables, under several trainings on one fabric."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flowprism.evaluation.cases.training import Training, draw
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Direction, Fault
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions
from simulate.training.job import SimulatedJob
from simulate.training.plan import Plan

SIDES = ("tx", "rx", "both", "cable")
SIZES = (1.2, 1.3, 1.5, 2.0, 5.0, 20.0)
_DIRECTIONS: dict[str, Direction] = {"tx": "tx", "rx": "rx", "both": "both", "cable": "both"}
KINDS = len(SIDES) * len(SIZES)
MOST_JOBS = 4
_ITERATIONS, _ONSETS = 26, (9, 15)
_GATHERED, _SAMPLED = 256, 1_000
_NIC_GBPS = 200.0
# So many NICs fill a link: one that is slower by that much more slows a single flow by the size drawn.
_NICS_A_CABLE = 4
_PIPED = (Plan(tp=8, dp=2, pp=2), Plan(tp=8, dp=4, pp=2), Plan(tp=4, dp=4, pp=2), Plan(tp=8, dp=2, pp=4))
_REPLICAS = (Plan(tp=8, dp=4), Plan(tp=4, dp=8), Plan(tp=8, dp=6))
# Few micro-batches, so that what is sent is a share of the iteration that a mildly slow link shows in.
TRAININGS: dict[str, Training] = {
    "dense": Training(_PIPED, batches=(2, 4), units=2),
    "replicas": Training(_REPLICAS, batches=(1, 2), units=2, workload={"buckets": 2}),
    "overlap": Training(_PIPED, batches=(2, 4), units=2, workload={"buckets": 4, "overlap": True}),
    "zero": Training(_PIPED, batches=(2, 4), units=2, workload={"sharding": "zero", "buckets": 2}),
    "trees": Training(_PIPED, batches=(2, 4), units=2, workload={"collectives": CollectiveOptions(tree=True)}),
    "fsdp": Training(
        (Plan(dp=16), Plan(dp=32)),
        ("llama2-7b", "llama3-8b"),
        (1,),
        {"sharding": "fsdp", "overlap": True},
        units=2,
    ),
    "ring-attention": Training(
        (Plan(tp=8, cp=2, dp=2), Plan(tp=8, cp=4, dp=2)), ("llama3-8b", "llama3-70b"), (2,), units=2
    ),
    "embedding": Training(_PIPED, batches=(2, 4), units=2, workload={"shared_embedding": True}),
}


@dataclass(frozen=True, slots=True)
class Watched:
    """How a family of cases is watched.

    Attributes:
        feed: exact flow records, a mirror, or sFlow.
        answers: what flows back is seen too: clear-to-send messages, notifications, a mirror's acknowledgements.
        rounds: of all kinds, in the full suite.
    """

    feed: str
    answers: bool
    rounds: int


WATCHED: dict[str, Watched] = {
    "exact": Watched("exact", answers=True, rounds=5),
    "exact-mute": Watched("exact", answers=False, rounds=5),
    "mirror": Watched("mirror", answers=True, rounds=2),
    "mirror-mute": Watched("mirror", answers=False, rounds=2),
    "sflow": Watched("sflow", answers=True, rounds=4),
}


def links(watched: Watched, number: int, random: np.random.Generator) -> Scenario:
    """The side and size of a number, under each training in turn; onset, rank and the number of jobs are drawn."""
    side, size = SIDES[number % len(SIDES)], SIZES[number // len(SIDES) % len(SIZES)]
    turn = (number + 3 * (number // KINDS)) % len(TRAININGS)
    name = list(TRAININGS)[turn]
    jobs = _side_by_side(TRAININGS[name], random)
    hosts = 1 + max(int(job.attempts[0].gpus.max()) for job in jobs) // GPUS_PER_HOST
    fabric = fabric_for(
        hosts * GPUS_PER_HOST, hosts_per_leaf=2, spines=2, nic_gbps=_NIC_GBPS, uplink_gbps=_NICS_A_CABLE * _NIC_GBPS
    )
    first, rank = int(random.integers(*_ONSETS)), int(random.integers(jobs[0].plan.world))
    fault = Fault("slow_nic", first=first, rank=rank, size=size, direction=_DIRECTIONS[side])
    if side == "cable":
        fault = replace(fault, kind="slow_uplink", rank=0, size=_NICS_A_CABLE * size)
    about = f"{name}, {len(jobs)} jobs, {side} {size:g}"
    made = Scenario("", about, fabric, jobs, faults=(fault,), answers=watched.answers)
    if watched.feed == "mirror":
        return replace(made, telemetry="mirror", gathered=_GATHERED)
    return replace(made, feeds=(FeedSpec("sflow", _SAMPLED),)) if watched.feed == "sflow" else made


def _side_by_side(training: Training, random: np.random.Generator) -> tuple[SimulatedJob, ...]:
    """One to four jobs of a kind whose hosts take turns under the same leaves, so that they share the cables."""
    count = int(random.integers(1, MOST_JOBS + 1))
    jobs = []
    for n in range(count):
        job = draw(training, random, _ITERATIONS, f"job{n}").job
        gpus = job.attempts[0].gpus
        seats = (gpus // GPUS_PER_HOST * count + n) * GPUS_PER_HOST + gpus % GPUS_PER_HOST
        jobs.append(replace(job, attempts=(replace(job.attempts[0], gpus=seats),)))
    return tuple(jobs)
