"""Serving, reinforcement learning and storage, alone and with training, for the family `classes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from flowprism.evaluation.cases.training import Training, draw, hosts_of
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import BackgroundTraffic, Scenario
from simulate.training.job import SimulatedJob
from simulate.training.plan import Plan
from simulate.training.workload import PostTrainingLoop
from simulate.workloads.serving import Kind as ServingKind
from simulate.workloads.serving import Serving
from simulate.workloads.storing import Kind as StoringKind
from simulate.workloads.storing import Storing

SECONDS = 40.0
ITERATIONS = 14
SERVING: tuple[ServingKind, ...] = ("disaggregated", "tensor", "expert")
POST_TRAINING = ("broadcast", "direct", "asynchronous")
STORING: tuple[StoringKind, ...] = ("checkpoints", "reads", "parameters")
KINDS = tuple(f"{kind}{also}" for kind in (*SERVING, *POST_TRAINING, *STORING) for also in ("", " with training"))
# What the analysis is given: services named by the inventory, an inventory that does not name them, or nothing.
KNOWN = ("services named", "services not named", "no inventory")
_PLANS = (
    Plan(tp=8, dp=2, pp=2),
    Plan(tp=4, dp=4, pp=2),
    Plan(tp=8, dp=4),
    Plan(tp=8, dp=3, pp=2),
    Plan(tp=4, dp=2, pp=2),
)
_TRAININGS = (
    Training(_PLANS, batches=(2, 4), units=2),
    Training(_PLANS, batches=(2, 4), units=2, workload={"buckets": 2, "overlap": True}),
    Training(_PLANS, batches=(2, 4), units=2, workload={"sharding": "zero"}),
)
_STORAGE_PORTS = (None, 2049, 17_000)  # RDMA, a port that says what it is, and one that does not


@dataclass(frozen=True, slots=True)
class ClassCase:
    """A case of the family.

    Attributes:
        scenario: what is run.
        kind: of traffic, and whether there is training too.
        known: what the analysis is given, of `KNOWN`.
    """

    scenario: Scenario
    kind: str
    known: str


def class_case(number: int) -> ClassCase:
    """Draw the case of a number."""
    kind = KINDS[number % len(KINDS)]
    known = KNOWN[number // len(KINDS) % len(KNOWN)]
    random = np.random.default_rng(np.random.SeedSequence([number, *b"classes"]))
    what, _, also = kind.partition(" ")
    jobs: list[SimulatedJob] = [_training(random, "job0", 0)] if also else []
    first = sum(hosts_of(job.plan) for job in jobs)
    made = _MAKERS[what](what, first, random)
    about = f"{kind}, {known}"
    scenario = replace(
        made, name=f"classes-{number:03}", about=about, jobs=(*jobs, *made.jobs), services_named=known == KNOWN[0]
    )
    return ClassCase(scenario, kind, known)


def _training(random: np.random.Generator, name: str, first_host: int) -> SimulatedJob:
    training = _TRAININGS[int(random.integers(len(_TRAININGS)))]
    job = draw(training, random, ITERATIONS, name, first_host * GPUS_PER_HOST).job
    least_s = (job.workload.volumes.forward_s + job.workload.volumes.backward_s) * job.workload.batches
    times = int(np.clip(SECONDS / least_s / 1.5, ITERATIONS, 60))
    return replace(job, attempts=(replace(job.attempts[0], iterations=times),))


def _on(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


def _served(kind: str, first: int, random: np.random.Generator) -> Scenario:
    """A model that is served, with calls and storage of hosts that do nothing else."""
    count = {"disaggregated": int(random.integers(3, 7)), "tensor": 2 * int(random.integers(1, 4)), "expert": 4}[kind]
    served = Serving(
        next(k for k in SERVING if k == kind),
        _on(first, count),
        SECONDS,
        prefill_hosts=int(random.integers(1, count - 1)) if kind == "disaggregated" else 1,
        load_ratio=float(random.uniform(0.15, 1.1)),
        prompt_tokens=float(random.uniform(800, 3000)),
        answer_tokens=float(random.uniform(80, 400)),
    )
    fabric = fabric_for((first + count + 2) * GPUS_PER_HOST, services=4)
    return Scenario("", "", fabric, (), alongside=(served,), bustle=BackgroundTraffic(seconds=SECONDS))


def _post_trained(kind: str, first: int, random: np.random.Generator) -> Scenario:
    """A job of reinforcement learning with its engines on hosts of their own."""
    job = _training(random, "rl", first)
    own, engines = hosts_of(job.plan), int(random.integers(1, 5))
    rl = PostTrainingLoop(
        sync="broadcast" if kind == "broadcast" else "direct",
        weight_bytes=float(random.uniform(8e9, 60e9)),
        every=1 if kind != "asynchronous" else 2,
        rollout_s=float(random.uniform(2, 12)) if kind != "asynchronous" else 0.0,
        answer_bytes=float(random.uniform(1e6, 2e7)),
    )
    takers = tuple(range((first + own) * GPUS_PER_HOST, (first + own + engines) * GPUS_PER_HOST))
    times = ITERATIONS + int(random.integers(6))
    job = replace(
        job,
        workload=replace(job.workload, post_training=rl),
        attempts=(replace(job.attempts[0], iterations=times),),
        takers=takers,
    )
    fabric = fabric_for((first + own + engines + 2) * GPUS_PER_HOST, services=4)
    return Scenario("", "", fabric, (job,), bustle=BackgroundTraffic(seconds=SECONDS))


def _stored(kind: str, first: int, random: np.random.Generator) -> Scenario:
    """Hosts that do nothing but read and write."""
    count = int(random.integers(3, 7))
    every_s, size = {
        "checkpoints": (random.uniform(5, 12), random.uniform(0.5e9, 4e9)),
        "reads": (random.uniform(0.1, 0.6), random.uniform(4e6, 64e6)),
        "parameters": (random.uniform(0.3, 1.2), random.uniform(4e6, 40e6)),
    }[kind]
    storing = Storing(
        next(k for k in STORING if k == kind), _on(first, count), SECONDS, float(every_s), float(size),
        _STORAGE_PORTS[int(random.integers(len(_STORAGE_PORTS)))],
    )  # fmt: skip
    fabric = fabric_for((first + count + 2) * GPUS_PER_HOST, services=int(random.integers(2, 5)))
    return Scenario("", "", fabric, (), alongside=(storing,), bustle=BackgroundTraffic(seconds=SECONDS))


_Maker = Callable[[str, int, np.random.Generator], Scenario]
_MAKERS: Mapping[str, _Maker] = (
    dict.fromkeys(SERVING, _served) | dict.fromkeys(POST_TRAINING, _post_trained) | dict.fromkeys(STORING, _stored)
)
