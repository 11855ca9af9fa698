"""Families with several faults at once: two in one job, and one in every fourth of many jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowprism.evaluation.cases.faulty import KINDS
from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import PIPELINES, REPLICAS, TRAININGS, Training, draw, hosts_of
from simulate.faults import Direction, Fault
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import Scenario
from simulate.training.job import SimulatedJob

_ITERATIONS = 34
_FIRST, _APART = (8, 13), (7, 12)
_TRAININGS = (
    Training(tuple(p for p in PIPELINES if p.dp > 2), batches=(2, 4), units=2),
    Training(REPLICAS, batches=(1, 2), units=2, workload={"buckets": 2}),
    Training(tuple(p for p in PIPELINES if p.dp > 2), batches=(2, 4), units=2, workload={"sharding": "zero"}),
    Training(
        tuple(p for p in PIPELINES if p.dp > 2), batches=(2, 4), units=2, workload={"buckets": 4, "overlap": True}
    ),
)
PAIRS = (
    "late rank and slow NIC at once",
    "late rank, then slow NIC",
    "slow NIC, then late rank",
    "slow NIC, then a slower one",
    "late rank, then a later one",
)
_DIRECTIONS: tuple[Direction, ...] = ("both", "tx", "rx")
# A second fault of the same sort is hidden behind the first unless it is graver: three times as slow a NIC.
_LATE, _LATER, _SLOW, _SLOWER = (1.25, 1.6), (1.9, 2.4), (4.0, 8.0), (16.0, 30.0)

_JOBS, _GPUS, _KINDS_AT_ONCE = (24, 41), 64, 3
_FAULTS, _FAULT_EVERY = ("straggler", "slow-nic", "regression"), 4
_COMPUTED_ITERATIONS = 40
# Jobs whose iterations are longer or shorter than the first one's by more than this are drawn again: all have enough.
_ALIKE_RATIO = 2.0


def two_faults(number: int, random: np.random.Generator) -> Scenario:
    """Each pair in turn, under each training; the two are on different hosts."""
    kind = PAIRS[number % len(PAIRS)]
    drawn = draw(_TRAININGS[number // len(PAIRS) % len(_TRAININGS)], random, _ITERATIONS)
    ranks, hosts = drawn.job.plan.world, drawn.job.attempts[0].gpus // drawn.fabric.gpus_per_host
    one = int(random.integers(ranks))
    other = int(random.choice(np.flatnonzero(hosts != hosts[one])))
    begin = int(random.integers(*_FIRST))
    later = begin + int(random.integers(*_APART))
    late = Fault("straggler", first=begin, rank=one, size=_drawn(_LATE, random))
    slow = Fault(
        "slow_nic",
        first=begin,
        rank=other,
        size=_drawn(_SLOW, random),
        direction=_DIRECTIONS[int(random.integers(len(_DIRECTIONS)))],
    )
    pairs = {
        PAIRS[0]: (late, slow),
        PAIRS[1]: (late, replace(slow, first=later)),
        PAIRS[2]: (slow, replace(late, first=later)),
        PAIRS[3]: (slow, replace(slow, first=later, rank=one, size=_drawn(_SLOWER, random))),
        PAIRS[4]: (late, replace(late, first=later, rank=other, size=_drawn(_LATER, random))),
    }
    return plain(drawn, about=kind, faults=pairs[kind])


def _drawn(between: tuple[float, float], random: np.random.Generator) -> float:
    return float(np.exp(random.uniform(*np.log(between))))


def crowded(number: int, random: np.random.Generator) -> Scenario:  # noqa: ARG001 -- cases differ by their seed alone
    """Two dozen to forty jobs of three kinds of training, of whose every fourth one has a fault.

    A cluster trains the same few models: jobs of one model send as much on each stream, at paces of their own, and
    pause together by chance. Jobs end with the window, inside an iteration.
    """
    kinds = [name for name, kind in TRAININGS.items() if not kind.fabric and kind.placement == "packed"]
    chosen = [kinds[int(n)] for n in random.choice(len(kinds), _KINDS_AT_ONCE, replace=False)]
    jobs: list[SimulatedJob] = []
    first, count = 0, int(random.integers(*_JOBS))
    while len(jobs) < count:
        training = TRAININGS[chosen[int(random.integers(_KINDS_AT_ONCE))]]
        small = replace(training, plans=tuple(p for p in training.plans if p.world <= _GPUS), units=2, iterations=None)
        job = draw(small, random, 2 * _COMPUTED_ITERATIONS, f"job{len(jobs)}", first).job
        if jobs and not 1 / _ALIKE_RATIO < _computes_s(job) / _computes_s(jobs[0]) < _ALIKE_RATIO:
            continue
        jobs.append(replace(job, start_s=float(random.uniform(0, 3)), tenant=f"t{len(jobs) % 3}"))
        first += hosts_of(job.plan) * GPUS_PER_HOST
    faults = [
        replace(KINDS[_FAULTS[n // _FAULT_EVERY % len(_FAULTS)]].draw(jobs[n], random), job=n)
        for n in range(0, count, _FAULT_EVERY)
    ]
    about = f"{count} jobs: {', '.join(sorted(chosen))}"
    window_s = _COMPUTED_ITERATIONS * _computes_s(jobs[0])
    return Scenario("", about, fabric_for(first), tuple(jobs), faults=tuple(faults), coupled=False, window_s=window_s)


def _computes_s(job: SimulatedJob) -> float:
    """How long an iteration computes."""
    volumes = job.workload.volumes
    return (volumes.forward_s + volumes.backward_s) * (job.workload.batches + job.plan.pp - 1)
