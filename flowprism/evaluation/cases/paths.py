"""Jobs whose long connections share uplinks, for the family `paths`: small hosts under leaves that hash them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulate.network.fabric import Fabric
from simulate.network.hashing import HashFamily
from simulate.scenarios.base_job import dense_volumes, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.job import SimulatedJob
from simulate.training.plan import Plan
from simulate.training.workload import Workload

_NICS, _NIC_GBPS = 2, 400.0
# Of the job whose iterations take longest; the others go on for as long, as jobs that share a fabric do.
_ITERATIONS = 10
_AFFINE: tuple[HashFamily, ...] = ("crc", "xor", "toeplitz")
# One case in eight hashes with a function that no kernel explains, one in eight chooses modulo no power of two, one in
# eight has two planes; in half of these NICs have one address in both.
_EVERY = 8
_SPINES, _ODD_SPINES = (2, 4, 8, 16), (3, 6, 12)
_PLANES = 2
_MOST_JOBS, _FEWEST_HOSTS = 4, 3
_FREE_GBPS = 1e6


@dataclass(frozen=True, slots=True)
class PathCase:
    """A case of the family.

    Attributes:
        scenario: what is run. A leaf's uplinks carry what its NICs send, if connections are spread as evenly as can be.
        affine: whether the switches' hash can be learnt.
    """

    scenario: Scenario
    affine: bool

    def free(self) -> Scenario:
        """The same on uplinks that nothing can fill: no connection is slowed by another."""
        fabric = replace(self.scenario.fabric, uplink_gbps=_FREE_GBPS)
        fabric = replace(fabric, planes=1, bonded=False) if fabric.bonded else fabric  # one port of the whole rate
        return replace(self.scenario, fabric=fabric)


def path_case(number: int) -> PathCase:
    """2 to 16 leaves and spines, 1 to 4 jobs, 1 to 8 queue pairs a connection."""
    random = np.random.default_rng([number, *b"paths"])
    leaves, each, pairs = int(random.integers(2, 17)), int(random.integers(1, 3)), int(random.integers(1, 9))
    odd, nonlinear = number % _EVERY == 3, number % _EVERY == 7
    spines = int(random.choice(_ODD_SPINES if odd else _SPINES))
    family: HashFamily = "nonlinear" if nonlinear else _AFFINE[int(random.integers(len(_AFFINE)))]
    hosts = max(leaves * each, _FEWEST_HOSTS)
    planes = _PLANES if number % _EVERY == 5 else 1
    bonded = number % (2 * _EVERY) == 13
    pairs = -(-pairs // planes) * planes  # as many in each plane
    here = pairs // planes
    door = -(-each * _NICS * here // spines)
    fabric = Fabric(
        hosts=hosts, gpus_per_host=_NICS, nics_per_host=_NICS, rail_optimised=False, hosts_per_leaf=each,
        spines=spines, nic_gbps=_NIC_GBPS, uplink_gbps=_NIC_GBPS / here * door, hash_seed=number, hash_family=family,
        planes=planes, bonded=bonded,
    )  # fmt: skip
    count = int(random.integers(1, min(_MOST_JOBS, hosts // _FEWEST_HOSTS) + 1))
    members = np.array_split(random.permutation(hosts), count)
    jobs = _side_by_side([_job(f"job{n}", own, pairs, random) for n, own in enumerate(members)])
    about = f"{leaves} leaves, {spines} spines, {count} jobs, {pairs} queue pairs, {family}"
    about += f", {_PLANES} planes{' by one address' if bonded else ''}" if planes > 1 else ""
    return PathCase(Scenario(f"paths-{number:03}", about, fabric, jobs), not (odd or nonlinear))


def _side_by_side(jobs: Sequence[SimulatedJob]) -> tuple[SimulatedJob, ...]:
    """The jobs with as many iterations as end at about the same time."""
    period_s = [_period_s(job) for job in jobs]
    times = [round(_ITERATIONS * max(period_s) / one) for one in period_s]
    return tuple(
        replace(job, attempts=(replace(job.attempts[0], iterations=n),)) for job, n in zip(jobs, times, strict=True)
    )


def _period_s(job: SimulatedJob) -> float:
    """An iteration of a job alone: what it computes, and its gradients around rings."""
    volumes, replicas = job.workload.volumes, job.plan.dp
    sent = 2 * volumes.gradient_bytes * (replicas - 1) / replicas
    return volumes.forward_s + volumes.backward_s + volumes.optimizer_s + sent / (_NIC_GBPS * 1e9 / 8)


def _job(name: str, hosts: np.ndarray, pairs: int, random: np.random.Generator) -> SimulatedJob:
    """Replicas, one on each of some hosts, in rings of that order."""
    plan = Plan(tp=_NICS, dp=len(hosts))
    model = str(random.choice(["llama2-7b", "llama3-8b", "llama2-70b"]))
    workload = Workload(volumes=dense_volumes(plan, model, units=1), batches=1)
    gpus = (hosts[:, None] * _NICS + np.arange(_NICS)).ravel()
    start_s = float(random.uniform(0, 0.5))
    return one_job(plan, workload, _ITERATIONS, name, gpus, queue_pairs=pairs, start_s=start_s, tenant=name)
