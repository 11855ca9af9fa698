"""Families of uneven work: sequence lengths of replicas, and tokens of experts. No machine is at fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowprism.evaluation.cases.layouts import plain
from flowprism.evaluation.cases.training import REPLICAS, SHARDED, Drawn, Training, draw
from simulate.faults import Fault, FaultKind
from simulate.scenarios.scenario import Scenario
from simulate.training.plan import Plan
from simulate.training.workload import Noise

_ITERATIONS = 28
# Groups of four replicas or more; of fewer the mean says little of what even work would take.
_PIPED = (Plan(tp=8, dp=8, pp=2), Plan(tp=8, dp=4, pp=2), Plan(tp=4, dp=8, pp=2), Plan(tp=8, dp=4, pp=4))
_EXPERTS = (Plan(tp=4, ep=8, dp=8, pp=2), Plan(tp=8, ep=4, dp=4, pp=2), Plan(tp=4, ep=4, dp=8, pp=2))
_ALONE = (Plan(tp=1, ep=16, dp=32), Plan(tp=1, ep=8, dp=32))
_MIXTRAL = ("mixtral-8x7b",)
TRAININGS: dict[str, tuple[FaultKind, Training]] = {
    "lengths": ("sequence_imbalance", Training(_PIPED, batches=(2, 4, 8))),
    "lengths-replicas": ("sequence_imbalance", Training(REPLICAS, batches=(2, 4), workload={"buckets": 2})),
    "lengths-zero": ("sequence_imbalance", Training(_PIPED, batches=(2, 4), workload={"sharding": "zero"})),
    "lengths-overlap": (
        "sequence_imbalance",
        Training(_PIPED, batches=(2, 4), workload={"buckets": 4, "overlap": True}),
    ),
    "lengths-fsdp": (
        "sequence_imbalance",
        Training(SHARDED[:2], ("llama2-7b", "llama3-8b"), (1,), {"sharding": "fsdp", "overlap": True}),
    ),
    "experts": ("expert_imbalance", Training(_EXPERTS, _MIXTRAL, (2, 4), units=2)),
    "experts-replicas": ("expert_imbalance", Training(_ALONE, _MIXTRAL, (1,), units=2)),
    "experts-proxied": ("expert_imbalance", Training(_ALONE, _MIXTRAL, (1,), job={"proxied": True}, units=2)),
}
# Lengths of packed documents differ by half of the longest or more. A router that is balanced by a loss alone gives
# the busiest expert up to twice its share of a batch, which of 8 to 16 is a spread of 0.3 to 0.6.
_LENGTHS, _LOADS = (0.5, 0.9), (0.3, 0.6)


def uneven(number: int, random: np.random.Generator) -> Scenario:
    """Each kind of training in turn, its spread drawn."""
    name = list(TRAININGS)[number % len(TRAININGS)]
    kind, training = TRAININGS[name]
    drawn = draw(training, random, _ITERATIONS)
    experts = kind == "expert_imbalance"
    spread = float(random.uniform(*(_LOADS if experts else _LENGTHS)))
    noise = Noise(expert_ratio=spread) if experts else Noise(replica_ratio=spread)
    job = replace(drawn.job, workload=replace(drawn.job.workload, noise=noise))
    return plain(Drawn(job, drawn.fabric), about=f"{name}, {spread:.2f}", faults=(Fault(kind),))
