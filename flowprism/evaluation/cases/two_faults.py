"""A family with two faults at once in one job: links and compute, at the same moment or one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import PIPELINES, REPLICAS, Training, draw
from simulate.faults import Direction, Fault
from simulate.scenarios.scenario import Scenario

_ITERATIONS = 34
_FIRST, _APART = (8, 13), (7, 12)
TRAININGS = (
    Training(tuple(p for p in PIPELINES if p.dp > 2), batches=(2, 4), units=2),
    Training(REPLICAS, batches=(1, 2), units=2, workload={"buckets": 2}),
    Training(tuple(p for p in PIPELINES if p.dp > 2), batches=(2, 4), units=2, workload={"sharding": "zero"}),
    Training(
        tuple(p for p in PIPELINES if p.dp > 2), batches=(2, 4), units=2, workload={"buckets": 4, "overlap": True}
    ),
)
KINDS = (
    "late rank and slow NIC at once",
    "late rank, then slow NIC",
    "slow NIC, then late rank",
    "slow NIC, then a slower one",
    "late rank, then a later one",
)
_DIRECTIONS: tuple[Direction, ...] = ("both", "tx", "rx")
# A second fault of the same sort is hidden behind the first unless it is graver: three times as slow a NIC.
_LATE, _LATER, _SLOW, _SLOWER = (1.25, 1.6), (1.9, 2.4), (4.0, 8.0), (16.0, 30.0)


def two_faults(number: int, random: np.random.Generator) -> Scenario:
    """Each pair in turn, under each training; the two are on different hosts."""
    kind = KINDS[number % len(KINDS)]
    drawn = draw(TRAININGS[number // len(KINDS) % len(TRAININGS)], random, _ITERATIONS)
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
        KINDS[0]: (late, slow),
        KINDS[1]: (late, replace(slow, first=later)),
        KINDS[2]: (slow, replace(late, first=later)),
        KINDS[3]: (slow, replace(slow, first=later, rank=one, size=_drawn(_SLOWER, random))),
        KINDS[4]: (late, replace(late, first=later, rank=other, size=_drawn(_LATER, random))),
    }
    return plain(drawn, about=kind, faults=pairs[kind])


def _drawn(between: tuple[float, float], random: np.random.Generator) -> float:
    return float(np.exp(random.uniform(*np.log(between))))
