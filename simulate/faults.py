"""Faults: kind, subject, first and last iteration, and size.

Every fault but those of the workload itself (imbalance) is a change of capacity: of a cell of GPUs, of a NIC's
direction, of a cable. What runs at that moment goes on at the new pace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.errors import InputError
from simulate.network.fabric import Fabric
from simulate.training.job import SimulatedJob

FaultKind = Literal[
    "straggler",
    "slow_nic",
    "slow_uplink",
    "flap",
    "ecmp_collision",
    "hang_compute",
    "hang_communication",
    "regression",
    "stage_imbalance",
    "sequence_imbalance",
    "expert_imbalance",
    "contention",
]
Direction = Literal["both", "tx", "rx"]
Shape = Literal["steady", "thermal", "sporadic"]

THERMAL_STEPS = 6
SPORADIC_RATIO = 0.4
_MIDDLE = 0.45


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: what is wrong.
        job: index of the job whose iterations date it, and which suffers.
        first, last: iterations it sets in and ends with; None: it stays.
        rank: the rank whose GPU or NIC it is (straggler, slow_nic, flap, hangs).
        leaf, spine: the cable (slow_uplink, ecmp_collision, contention); None: the spine to which the job sends most
            from that leaf.
        size: how many times as slow; of a flap while it is down, of loss the share of capacity left is 1 / size.
        direction: of a NIC or cable; tx is what the NIC sends, or what the leaf sends up.
        shape: of a straggler: at once, growing over iterations, or only in some of them.
        every: a flap is down in every other run of so many iterations.
        loss_ratio: share of packets lost; the fabric shows the retransmissions.
        plane: the network whose links it is; None: those of all.
        other: index of the job that begins with this one's iteration `first` and contends for the links.
    """

    kind: FaultKind
    job: int = 0
    first: int = 0
    last: int | None = None
    rank: int = 0
    leaf: int = 0
    spine: int | None = None
    size: float = 1.5
    direction: Direction = "both"
    shape: Shape = "steady"
    every: int = 2
    loss_ratio: float = 0.0
    plane: int | None = None
    other: int = 1


@dataclass(frozen=True, slots=True)
class CapacityChange:
    """A resource gets another share of its capacity when a cell begins an iteration of a job.

    Attributes:
        iteration: counted through the job's attempts; `cell` begins it.
        resource: of the fabric, or a cell's where `of_cell`.
        ratio: of its nominal capacity.
        lag_ns: time from that beginning on.
    """

    iteration: int
    cell: int
    resource: int
    of_cell: bool
    ratio: float
    lag_ns: float = 0.0


def list_capacity_changes(
    fault: Fault, fabric: Fabric, job: SimulatedJob, iterations: int, seed: int
) -> list[CapacityChange]:
    """Changes of capacity that make up a fault; none for those that are part of the workload or of routing.

    Raises:
        InputError: the fault names a rank, leaf or spine that does not exist.
    """
    _check(fault, fabric, job)
    cell = fault.rank // job.plan.tp
    if fault.kind == "straggler":
        return [CapacityChange(i, cell, cell, True, r) for i, r in _slowness(fault, iterations, seed)]
    if fault.kind == "regression":
        return [
            CapacityChange(i, c, c, True, r) for c in range(job.plan.cells) for i, r in _while(fault, 1 / fault.size)
        ]
    if fault.kind == "hang_compute":
        return [CapacityChange(fault.first, cell, cell, True, 0.0, find_mid_iteration_ns(job))]
    if fault.kind in {"slow_nic", "flap", "hang_communication", "slow_uplink"}:
        first = _cables(fault, fabric) if fault.kind == "slow_uplink" else _directions(fault, fabric, job)
        planes = range(fabric.planes) if fault.plane is None else (fault.plane,)
        links = [link + plane * fabric.plane_resources for plane in planes for link in first]
        lag = find_mid_iteration_ns(job) if fault.kind == "hang_communication" else 0.0
        return [
            CapacityChange(i, cell, link, False, r, lag) for link in links for i, r in _link_ratios(fault, iterations)
        ]
    return []


def crash(job: SimulatedJob, attempt: int, iteration: int) -> list[CapacityChange]:
    """All cells stop in the middle of an attempt's iteration; messages under way still arrive."""
    cells = range(job.plan_of(attempt).cells)
    return [CapacityChange(iteration, 0, cell, True, 0.0, find_mid_iteration_ns(job)) for cell in cells]


def find_mid_iteration_ns(job: SimulatedJob) -> float:
    """A moment in the middle of an iteration's passes, ns from its beginning."""
    v = job.workload.volumes
    return (v.forward_s + v.backward_s) * job.workload.batches * _MIDDLE * 1e9


def _check(fault: Fault, fabric: Fabric, job: SimulatedJob) -> None:
    if not 0 <= fault.rank < job.plan.world:
        raise InputError(f"fault {fault.kind}: job {job.name} has no rank {fault.rank}")
    if not (0 <= fault.leaf < fabric.leaves and 0 <= (fault.spine or 0) < fabric.spines):
        raise InputError(f"fault {fault.kind}: no cable between leaf {fault.leaf} and spine {fault.spine}")


def _while(fault: Fault, ratio: float) -> Iterator[tuple[int, float]]:
    yield fault.first, ratio
    if fault.last is not None:
        yield fault.last + 1, 1.0


def _slowness(fault: Fault, iterations: int, seed: int) -> Iterator[tuple[int, float]]:
    if fault.shape == "thermal":
        for step in range(THERMAL_STEPS):
            yield fault.first + step, 1 / (1 + (fault.size - 1) * (step + 1) / THERMAL_STEPS)
        if fault.last is not None:
            yield fault.last + 1, 1.0
    elif fault.shape == "sporadic":
        end = iterations if fault.last is None else fault.last + 1
        random = np.random.default_rng(seed)
        for i in range(fault.first, end):
            hit = i == fault.first or random.random() < SPORADIC_RATIO
            yield i, 1 / fault.size if hit else 1.0
        yield end, 1.0
    else:
        yield from _while(fault, 1 / fault.size)


def _link_ratios(fault: Fault, iterations: int) -> Iterator[tuple[int, float]]:
    if fault.kind == "hang_communication":
        yield fault.first, 0.0
    elif fault.kind == "flap":
        end = iterations if fault.last is None else fault.last + 1
        for run, i in enumerate(range(fault.first, end, fault.every)):
            yield i, 1.0 if run % 2 else 1 / fault.size
        yield end, 1.0
    else:
        yield from _while(fault, 1 / fault.size)


def flap_periods(fault: Fault, iterations: int) -> int:
    """How often a flap goes down."""
    end = iterations if fault.last is None else fault.last + 1
    return -(-len(range(fault.first, end, fault.every)) // 2)


def nic_of_rank(fabric: Fabric, job: SimulatedJob, rank: int) -> int:
    """NIC of a rank in the job's first attempt."""
    return int(fabric.nic_of_gpu(job.attempts[0].gpus[[rank]])[0])


def _directions(fault: Fault, fabric: Fabric, job: SimulatedJob) -> list[int]:
    nic = np.array([nic_of_rank(fabric, job, fault.rank)])
    both = {"tx": int(fabric.sending(nic)[0]), "rx": int(fabric.receiving(nic)[0])}
    return [link for way, link in both.items() if fault.direction in {way, "both"}]


def _cables(fault: Fault, fabric: Fabric) -> list[int]:
    leaf, spine = np.array([fault.leaf]), np.array([fault.spine or 0])
    both = {"tx": int(fabric.uplink(leaf, spine)[0]), "rx": int(fabric.downlink(leaf, spine)[0])}
    return [link for way, link in both.items() if fault.direction in {way, "both"}]
