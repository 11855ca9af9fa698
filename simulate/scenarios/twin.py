"""Twins of two recordings of a small real cluster: the same job, fabric and fault, as its configuration states them.

The recordings' ranks exchange messages over TCP through software switches, and sleep where a GPU would compute; what
the twin takes over is in docs/simulator.md, with what it cannot.
"""

from __future__ import annotations

from simulate.faults import Fault
from simulate.network.fabric import Fabric
from simulate.scenarios.base_job import ScenarioOptions, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions
from simulate.training.model import Volumes
from simulate.training.plan import Plan
from simulate.training.workload import Noise, Workload

PLAN = Plan(tp=2, dp=4, pp=2)
FABRIC = Fabric(
    hosts=8,
    gpus_per_host=2,
    nics_per_host=2,
    rail_optimised=False,
    hosts_per_leaf=2,
    spines=2,
    nic_gbps=0.4,
    uplink_gbps=1.0,
    latency_ns=5_000_000.0,
    bucket_ns=1_940_000.0,
)
ITERATIONS = 30
# What the recording's own log says a pass takes, tensor sums inside the host and waking up included.
FORWARD_S, BACKWARD_S = 0.0539, 0.1048


def workload() -> Workload:
    """Four micro-batches of 512 KiB, gradients of 2 MiB in two buckets, a ring that hands on a chunk at a time."""
    volumes = Volumes(
        layers=1,
        forward_s=FORWARD_S,
        backward_s=BACKWARD_S,
        optimizer_s=0.03,
        activation_bytes=512 * 1024,
        gradient_bytes=2 * 1024 * 1024,
        parameter_bytes=0,
    )
    return Workload(
        volumes=volumes,
        batches=4,
        buckets=2,
        global_norm=False,
        collectives=CollectiveOptions(slots=1),
        noise=Noise(jitter_ratio=0.02, common_ratio=0.0),
    )


def healthy(options: ScenarioOptions) -> Scenario:
    """s1-healthy: 16 GPUs in 8 hosts under 4 leaves."""
    job = one_job(PLAN, workload(), options.times(ITERATIONS), message_bytes=1 << 30)
    return Scenario("", "", FABRIC, (job,), telemetry="mirror")


def slow_nic(options: ScenarioOptions) -> Scenario:
    """s2-slow-nic: from iteration 14 on the NIC of rank 5 runs at a fifth, both directions."""
    made = healthy(options)
    fault = Fault("slow_nic", first=14, rank=5, size=5.0)
    return Scenario("", "", made.fabric, made.jobs, faults=(fault,), telemetry="mirror")
