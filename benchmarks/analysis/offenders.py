"""Repeat offenders of a month from the flow records of all its jobs.

usage: python -m benchmarks.analysis.offenders [--seeds N ...]

For each seed, with five slow hosts and without: jobs and their hosts are those of a usual fleet of `flowprism evaluate
--family fleet` (1,000 hosts, 200 jobs, 30 days). Every job is simulated for some iterations, with the slow hosts 3 %
slow, and analyzed from its flow records. What they show of hosts is ranked.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from datamodel.reconstructed.streams import Int
from diagnose.patterns.repeat_offenders import HostLateness, rank_hosts
from flowprism.evaluation.fleet.made_fleet import SLOW_RATIO, USUAL, made_fleet
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.faults import Fault
from simulate.network.fabric import Fabric
from simulate.scenarios.base_job import dense_volumes, one_job
from simulate.scenarios.scenario import Scenario
from simulate.training.plan import Plan
from simulate.training.workload import Workload

ITERATIONS, FIRST = 12, 10


def main() -> None:
    """A line for each month."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one or more")
    for seed in parser.parse_args().seeds:
        for kind in (USUAL, replace(USUAL, slow_hosts=0)):
            fleet = made_fleet(kind, seed)
            begin = time.perf_counter()
            seen = shown(fleet.seen, fleet.slow)
            found = rank_hosts(seen)
            named = found.host[found.is_offender]
            print(
                f"seed {seed}, {len(fleet.slow)} slow: {np.isin(found.host[:FIRST], fleet.slow).sum()} in the first"
                f" {FIRST}; named {np.isin(named, fleet.slow).sum()} rightly, {(~np.isin(named, fleet.slow)).sum()}"
                f" wrongly; {len(np.unique(seen.job))} of {len(np.unique(fleet.seen.job))} jobs show lateness;"
                f" {time.perf_counter() - begin:.0f} s",
                flush=True,
            )


def shown(jobs: HostLateness, slow: Int) -> HostLateness:
    """What the records of a month's jobs show of the hosts of each."""
    rows = []
    for job in np.unique(jobs.job).tolist():
        own = np.flatnonzero(jobs.job == job)
        hosts, stages = jobs.host[own], int(jobs.role[own].max()) + 1
        plan = Plan(tp=1, dp=len(hosts) // stages, pp=stages)
        faults = [
            Fault("straggler", first=0, rank=rank, size=1 + SLOW_RATIO)
            for rank in np.flatnonzero(np.isin(hosts, slow)).tolist()
        ]
        training = one_job(plan, Workload(volumes=dense_volumes(plan, "llama2-7b"), batches=8), ITERATIONS)
        fabric = Fabric(hosts=len(hosts), gpus_per_host=1, nics_per_host=1)
        case = simulate_case(Scenario("", "", fabric, (training,), faults=tuple(faults)), job)
        analysis = analyze_reading(case.readings["flows"], ("flows",), case.inventory, AnalysisOptions(tables=True))
        rank = {host.endpoints[0].all_addresses[0]: n for n, host in enumerate(case.inventory.hosts)}
        for found in analysis.patterns.values():
            places = [rank[analysis.timelines.addresses[code]] for code in found["endpoint"].tolist()]
            rows.append((hosts[places], np.full(len(found), job), found["role"].astype(np.int64), found["late_ratio"]))
    columns = (np.concatenate(one) for one in zip(*rows, strict=True))
    return HostLateness(*columns)


if __name__ == "__main__":
    main()
