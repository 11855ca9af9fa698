"""Collisions that sFlow samples with interface numbers show, against those of exact records of the same traffic.

usage: python -m benchmarks.planning.sampled_collisions [--gpus N] [--seeds N ...] [--rate N] [--seconds N] [--jobs N]

A mix of jobs under leaves of 32 NICs with as many uplinks of the same speed: each on a block of hosts, its ranks in any
order there, 1 to 4 pipeline stages and queue pairs, iterations of 2 to 5 s. Links have 100 Gb/s, so that a window of
10,000 GPUs fits into memory (about 7 GB). Compared are the directed cables that collisions name, and each long
connection on each of them.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass, replace

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.reports.path_plan import PathPlan
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.evaluation.paths.true_loads import with_interfaces
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.network.fabric import Fabric
from simulate.scenarios.base_job import GPUS_PER_HOST, dense_volumes, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.collective import CollectiveOptions
from simulate.training.job import SimulatedJob
from simulate.training.plan import Plan
from simulate.training.workload import Workload

GPUS, RATE, SECONDS = 10_000, 4_096, 45.0
HOSTS_A_LEAF, SPINES, LINK_GBPS = 32, 32, 100.0
GPUS_A_JOB = 640
PERIOD_S, GRADIENT_BYTES = (2.0, 5.0), (0.15e9, 0.45e9)
# Rings run in so few pieces: more make more exact records, and no other connection.
PIECES = 6
FEWEST_REPLICAS = 3


@dataclass(frozen=True, slots=True)
class SharedCables:
    """What the collisions of a plan name.

    Attributes:
        cables: directed, by the interface that they leave by.
        connections: the same with each long connection on them.
    """

    cables: frozenset[str]
    connections: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, plan: PathPlan | None) -> SharedCables:
        """Of a plan; nothing without one."""
        found = plan.collisions if plan is not None else ()
        named = frozenset((str(one.link[0]), name) for one in found for name in one.elephants)
        return cls(frozenset(cable for cable, _ in named), named)


def main() -> None:
    """Print a line for each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=GPUS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rate", type=int, default=RATE, help="1 in so many packets is sampled")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of the window")
    parser.add_argument("--jobs", type=int, help=f"default: one for {GPUS_A_JOB} GPUs")
    wanted = parser.parse_args()
    jobs = wanted.jobs or max(wanted.gpus // GPUS_A_JOB, 1)
    for seed in wanted.seeds:
        began = time.process_time()
        exact, sampled = compared(mix(wanted.gpus, jobs, seed, wanted.rate, wanted.seconds), seed)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        parts = [
            f"{name}: {len(one & other):,} in both, {len(one - other):,} missed, {len(other - one):,} of samples alone"
            for name, one, other in (
                ("cables", exact.cables, sampled.cables),
                ("connections on them", exact.connections, sampled.connections),
            )
        ]
        print(f"seed {seed}: {'; '.join(parts)}; {time.process_time() - began:.0f} s processor, {peak:,.0f} MiB")


def compared(scenario: Scenario, seed: int) -> tuple[SharedCables, SharedCables]:
    """Collisions of exact records that name interfaces, and of the samples of the same traffic."""
    case = simulate_case(scenario, seed)
    inventory, flows, samples = case.inventory, case.readings["flows"], case.readings["sflow"]
    del case
    exact = SharedCables.of(_plan(replace(flows, flows=with_interfaces(flows.flows, scenario.fabric)), inventory))
    del flows
    return exact, SharedCables.of(_plan(samples, inventory))


def _plan(reading: IngestResult, inventory: Inventory) -> PathPlan | None:
    return analyze_reading(reading, ("simulated",), inventory, AnalysisOptions(tables=False)).plan


def mix(gpus: int, count: int, seed: int, rate: int, seconds: float) -> Scenario:
    """Jobs of different sizes on blocks of hosts, watched by sFlow where packets enter the fabric."""
    random = np.random.default_rng([seed, *b"sampled collisions"])
    hosts = gpus // GPUS_PER_HOST
    weight = random.lognormal(0.0, 0.6, count)
    ends = np.rint(np.cumsum(weight / weight.sum()) * hosts).astype(np.int64)
    blocks = np.split(np.arange(hosts), ends[:-1])
    jobs = [_job(f"job{n}", random.permutation(own), seconds, random) for n, own in enumerate(blocks)]
    fabric = Fabric(
        hosts=hosts, hosts_per_leaf=min(HOSTS_A_LEAF, hosts // 4), spines=SPINES, nic_gbps=LINK_GBPS,
        uplink_gbps=LINK_GBPS, hash_seed=seed, hash_family="crc",
    )  # fmt: skip
    feeds = (FeedSpec("sflow", rate, counters_s=0.0),)
    found = tuple(job for job in jobs if job is not None)
    return Scenario("mix", "a mix of jobs", fabric, found, feeds=feeds, answers=False)


def _job(name: str, hosts: np.ndarray, seconds: float, random: np.random.Generator) -> SimulatedJob | None:
    """A job on some hosts; None where they are too few."""
    stages, queue_pairs = int(random.choice([1, 2, 4])), int(random.integers(1, 5))
    period_s = float(np.exp(random.uniform(*np.log(PERIOD_S))))
    gradient_bytes, start_s = random.uniform(*GRADIENT_BYTES), float(random.uniform(0, 0.5))
    replicas = len(hosts) // stages
    if replicas < FEWEST_REPLICAS:
        return None
    plan, batches = Plan(tp=GPUS_PER_HOST, dp=replicas, pp=stages), 4 * stages
    forward_s = period_s / 3 / (batches + stages - 1)
    volumes = dense_volumes(plan, "llama2-7b", units=1)
    volumes = replace(volumes, gradient_bytes=gradient_bytes, forward_s=forward_s, backward_s=2 * forward_s)
    workload = Workload(volumes=volumes, batches=batches, collectives=CollectiveOptions(steps=PIECES))
    gpus = (hosts[: replicas * stages, None] * GPUS_PER_HOST + np.arange(GPUS_PER_HOST)).ravel()
    iterations = max(int(seconds / (1.15 * period_s)), 3)
    return one_job(plan, workload, iterations, name, gpus, queue_pairs=queue_pairs, start_s=start_s, tenant=name)


if __name__ == "__main__":
    main()
