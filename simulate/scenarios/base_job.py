"""The job that most scenarios vary: a dense model on rail-optimised hosts of eight GPUs, and how it is made bigger."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.errors import InputError
from datamodel.reconstructed.streams import Int
from simulate.network.fabric import Fabric
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.model import MODELS, Volumes, compute_volumes
from simulate.training.plan import Plan, pack_ranks
from simulate.training.workload import Workload

GPUS_PER_HOST = 8


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """What the user asked for.

    Attributes:
        seed: of all that is random.
        gpus: of the whole scenario; None for what the scenario has by itself.
        iterations: of each job; None likewise.
    """

    seed: int = 1
    gpus: int | None = None
    iterations: int | None = None

    def grown(self, plan: Plan) -> Plan:
        """The plan with as much data parallelism as the GPUs allow.

        Raises:
            InputError: they are no whole number of replicas.
        """
        if self.gpus is None:
            return plan
        replica = plan.tp * plan.cp * plan.pp
        if self.gpus < replica or self.gpus % replica:
            raise InputError(f"--gpus {self.gpus}: this scenario takes multiples of {replica}")
        return replace(plan, dp=self.gpus // replica)

    def times(self, usual: int) -> int:
        """How many iterations."""
        if self.iterations is not None and self.iterations < 1:
            raise InputError(f"--iterations {self.iterations}: at least 1")
        return self.iterations or usual


def fabric_for(gpus: int, **changes: object) -> Fabric:
    """A rail-optimised fabric with that many GPUs."""
    usual = Fabric(hosts=-(-gpus // GPUS_PER_HOST), hosts_per_leaf=max(min(32, gpus // GPUS_PER_HOST // 2), 1))
    return replace(usual, **changes)  # type: ignore[arg-type]  # fields of `Fabric` by name


def dense_volumes(
    plan: Plan, model: str = "llama2-70b", chunks: int = 1, units: int | None = 4, **more: float
) -> Volumes:
    """Volumes of a named model under a plan."""
    return compute_volumes(MODELS[model], plan, chunks=chunks, units=units, **more)  # type: ignore[arg-type]


def one_job(
    plan: Plan, workload: Workload, iterations: int, name: str = "job0", gpus: Int | None = None, **changes: object
) -> SimulatedJob:
    """Build a job that starts with the simulation, on the first GPUs by default."""
    seats = pack_ranks(plan, 0) if gpus is None else gpus
    job = SimulatedJob(name=name, plan=plan, workload=workload, attempts=(Attempt(np.asarray(seats), iterations),))
    return replace(job, **changes)  # type: ignore[arg-type]  # fields of `SimulatedJob` by name
