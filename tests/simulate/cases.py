"""Small jobs on small fabrics that the tests of this room run."""

from dataclasses import replace

import numpy as np

from datamodel.telemetry.counters import PortReadings
from simulate.faults import Fault
from simulate.network.background import none
from simulate.network.fabric import Fabric
from simulate.network.graph import Graph
from simulate.network.sharing import NEVER_NS
from simulate.run import Run, run_jobs
from simulate.scenarios.base_job import one_job
from simulate.training.job import SimulatedJob
from simulate.training.model import Volumes
from simulate.training.plan import Plan
from simulate.training.workload import Noise, Workload

FABRIC = Fabric(hosts=8, gpus_per_host=2, nics_per_host=2, hosts_per_leaf=2, spines=2, nic_gbps=400, uplink_gbps=800)
VOLUMES = Volumes(
    layers=2, forward_s=0.01, backward_s=0.02, optimizer_s=0.005, activation_bytes=4e6, gradient_bytes=40e6,
    parameter_bytes=20e6, expert_gradient_bytes=10e6, token_bytes=1e6, key_bytes=2e6, tensor_bytes=1e6,
    embedding_bytes=8e6,
)  # fmt: skip
QUIET = Noise(jitter_ratio=0.0, common_ratio=0.0)


def workload(**changes: object) -> Workload:
    """Four micro-batches without noise, changed as told."""
    return replace(Workload(volumes=VOLUMES, batches=4, noise=QUIET), **changes)  # type: ignore[arg-type]


def job(plan: Plan | None = None, iterations: int = 4, **changes: object) -> SimulatedJob:
    """A job of 16 GPUs, tp 2 pp 2 dp 4, unless told otherwise; `changes` go to its workload."""
    return one_job(plan or Plan(tp=2, dp=4, pp=2), workload(**changes), iterations)


def ran(made: SimulatedJob, *faults: Fault, fabric: Fabric = FABRIC, until_ns: float = NEVER_NS) -> Run:
    """One job by itself."""
    return run_jobs(fabric, {0: made}, faults, none(), 1, until_ns)


def durations_s(run: Run) -> list[float]:
    """From one iteration's last end to the next one's."""
    ends = [float(run.timing.end_ns[i.first + i.seat.iteration.end].max()) for i in run.instances if i.job == 0]
    return [float(d) for d in np.diff(ends) / 1e9]


def sent_bytes(graph: Graph, purpose: int) -> dict[int, float]:
    """Bytes that each rank sends for a purpose."""
    rows = graph.purpose == purpose
    moved: dict[int, float] = {}
    for rank, size in zip(graph.src[rows].tolist(), graph.work[rows].tolist(), strict=True):
        if size and rank >= 0:
            moved[rank] = moved.get(rank, 0.0) + size
    return moved


def assert_same_readings(one: PortReadings, other: PortReadings) -> None:
    """Fail unless two readings of interface counters say the same."""
    assert one.addresses == other.addresses
    for name, column in one.frame.columns().items():
        np.testing.assert_array_equal(column, other.frame[name], name)
