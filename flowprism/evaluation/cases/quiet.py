"""Families in which nothing is wrong: noise, pauses, restarts, neighbours. What is reported there is false."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import SMALL_PIPELINES, TRAININGS, Drawn, Training, draw, hosts_of
from simulate.network.fabric import Fabric
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import BackgroundTraffic, Scenario
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.plan import Plan
from simulate.training.workload import Noise, Pauses

_ITERATIONS, _LONG = 40, 400
# Small jobs, so that a case has many iterations: how rarely nothing is reported is counted in them.
_SMALL = (Plan(tp=8, dp=2, pp=2), Plan(tp=4, dp=4, pp=2), Plan(tp=8, dp=4), Plan(tp=8, dp=3), Plan(tp=4, dp=2, pp=2))
_LASTING = (
    Training(_SMALL, batches=(2, 4), units=2),
    Training(_SMALL, batches=(2, 4), units=2, workload={"buckets": 2, "overlap": True}),
    Training(_SMALL, batches=(2, 4), units=2, workload={"sharding": "zero"}),
    Training((Plan(dp=16),), ("llama2-7b", "llama3-8b"), (1,), {"sharding": "fsdp", "overlap": True}, units=2),
)
NOISES: dict[str, dict[str, Any]] = {
    "calm": {},
    "jitter": {"noise": Noise(jitter_ratio=0.06)},
    "strong-jitter": {"noise": Noise(jitter_ratio=0.1)},
    "spikes": {"noise": Noise(jitter_ratio=0.02, spike_probability=0.002)},
    "breathing": {"noise": Noise(common_ratio=0.03)},
    "variable-length": {"noise": Noise(sequence_ratio=0.2)},
    "data-loading": {"pauses": Pauses(data_bytes=4e6)},
    "checkpoints": {"pauses": Pauses(checkpoint_every=50, checkpoint_bytes=1e9, checkpoint_s=1.0)},
}
_NEIGHBOUR_GPUS = 64
RESTARTS = ("restart", "host-replaced")
EVENTS = ("checkpoints", "evaluations", "both", *RESTARTS)


def clean(number: int, random: np.random.Generator) -> Scenario:
    """Long runs of small jobs, each with a noise of its own."""
    noise = list(NOISES)[number % len(NOISES)]
    drawn = draw(_LASTING[number // len(NOISES) % len(_LASTING)], random, _LONG)
    job = replace(drawn.job, workload=replace(drawn.job.workload, **NOISES[noise]))
    return plain(Drawn(job, replace(drawn.fabric, services=2)), about=noise)


def events(number: int, random: np.random.Generator) -> Scenario:
    """Checkpoints, evaluations, restarts and replaced hosts."""
    event = EVENTS[number % len(EVENTS)]
    drawn = draw(Training(SMALL_PIPELINES), random, _ITERATIONS)
    if event in RESTARTS:
        hosts = hosts_of(drawn.job.plan) + (event == "host-replaced")
        return restarted(drawn.job, fabric_for(hosts * GPUS_PER_HOST), random, event)
    return paused(drawn, random, event)


def paused(drawn: Drawn, random: np.random.Generator, event: str) -> Scenario:
    """Checkpoints, evaluations or both every so many iterations."""
    job = drawn.job
    every = int(random.integers(6, 14))
    size = float(random.uniform(0.5e9, 3e9))
    writing = {"checkpoint_every": every, "checkpoint_bytes": size, "checkpoint_s": float(random.uniform(1, 4))}
    judging = {"evaluation_every": every + 3, "evaluation_batches": 2 * job.workload.batches}
    chosen = {"checkpoints": writing, "evaluations": judging, "both": writing | judging}[event]
    job = replace(job, workload=replace(job.workload, pauses=Pauses(**chosen)))  # type: ignore[arg-type]  # by name
    return plain(Drawn(job, replace(drawn.fabric, services=4)), about=event)


def restarted(job: SimulatedJob, fabric: Fabric, random: np.random.Generator, event: str) -> Scenario:
    """A crash about the middle, and a second attempt; `host-replaced`: with the fabric's last host in place of any."""
    times = int(random.integers(14, 26))
    before = job.attempts[0].gpus
    after = before.copy()
    hosts = hosts_of(job.plan)
    if event == "host-replaced":
        lost = before // GPUS_PER_HOST == int(random.integers(hosts))
        after[lost] = hosts * GPUS_PER_HOST + before[lost] % GPUS_PER_HOST
    down = Attempt(after, _ITERATIONS - times, down_s=float(random.uniform(5, 15)))
    job = replace(job, attempts=(Attempt(before, times, crashes=True), down))
    return Scenario("", event, fabric, (job,))


def neighbours(number: int, random: np.random.Generator) -> Scenario:
    """Two to five jobs of any kind on one fabric, half of the time with storage and call traffic."""
    kinds = [name for name, kind in TRAININGS.items() if not kind.fabric and kind.placement == "packed"]
    jobs, first = [], 0
    chosen = random.choice(len(kinds), int(random.integers(2, 6)), replace=False)
    for n, kind in enumerate(chosen):
        training = TRAININGS[kinds[int(kind)]]
        small = replace(training, plans=tuple(p for p in training.plans if p.world <= _NEIGHBOUR_GPUS), units=2)
        job = draw(small, random, _ITERATIONS // 2, f"job{n}", first).job
        jobs.append(replace(job, start_s=float(random.uniform(0, 3)), tenant=f"t{n % 3}"))
        first += hosts_of(job.plan) * GPUS_PER_HOST
    bustling = number % 2 == 1
    fabric = fabric_for(first + 16 * bustling, services=4 * bustling)
    about = f"{len(jobs)} jobs{', bustle' if bustling else ''}"
    return Scenario("", about, fabric, tuple(jobs), bustle=BackgroundTraffic(seconds=30.0) if bustling else None)
