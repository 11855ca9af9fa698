"""How well `flowprism plan feeds` predicts: costs of feeds that nothing was fitted to, and what fresh cells show.

usage: python -m benchmarks.planning.feed_plan [--cells N]

Costs: twelve feeds of other sizes, seeds and sampling rates than those of the fit; processor time is the least of three
runs. Shown: cells with a straggler, all drawn; what a simulation with another seed says is shown, against whether the
cell's own scan has a finding.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from flowprism.feed_plan.cost_measurement import least_mix, measure_costs, peak_bytes, simulated_feed
from flowprism.feed_plan.cost_model import IPFIX, NETFLOW9, SFLOW, Costs
from flowprism.feed_plan.detectability_by_rate import shown_in_simulation
from flowprism.feed_plan.goal import FeedGoal
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec, Kind
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep

# Protocol, members, samples (or iterations, of a meter), sampling rate.
MIXES: tuple[tuple[Kind, int, int, int], ...] = (
    (SFLOW, 12, 50_000, 32_768), (SFLOW, 20, 80_000, 8_192), (SFLOW, 40, 25_000, 65_536), (SFLOW, 56, 180_000, 8_192),
    (SFLOW, 16, 300_000, 4_096), (SFLOW, 32, 120_000, 16_384), (NETFLOW9, 12, 240, 1), (NETFLOW9, 32, 150, 1),
    (NETFLOW9, 40, 90, 1), (IPFIX, 16, 400, 1), (IPFIX, 24, 240, 1), (IPFIX, 40, 150, 1),
)  # fmt: skip
SEED = 4711


def main() -> None:
    """Print errors of predicted costs, then of what is shown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=100, help="fresh cells")
    arguments = parser.parse_args()
    began = time.process_time()
    costs = measure_costs((SFLOW, NETFLOW9, IPFIX))
    print(f"measured in {time.process_time() - began:.1f} s of processor time")
    print_costs(costs)
    print_shown(arguments.cells)


def print_costs(costs: Costs) -> None:
    """Predicted against measured, one feed a line."""
    errors = []
    print("".join(f"{head:>12}" for head in ("protocol", "records", "cpu s", "error", "disk error", "mem error")))
    for number, (protocol, members, size, rate) in enumerate(MIXES):
        feed = simulated_feed(protocol, members, size, SEED + number, rate=rate)
        mix, stage = least_mix(feed, members), costs.protocols[protocol]
        seconds = mix.decode_s + mix.commit_s + mix.analyze_s
        predicted = sum(line.of(mix.records, members) for line in (stage.decode, stage.commit, stage.analyze))
        row = (
            predicted / seconds - 1,
            stage.stored_bytes.of(mix.records) / mix.stored_bytes - 1,
            stage.analyze_bytes.of(mix.records, members) / peak_bytes(feed) - 1,
        )
        errors.append(row)
        print(f"{protocol:>12}{mix.records:>12}{seconds:>12.3f}" + "".join(f"{error:>+12.1%}" for error in row))
    for name, column in zip(("processor time", "disk", "memory"), np.abs(np.array(errors)).T, strict=True):
        print(f"{name}: median error {np.median(column):.1%}, worst {column.max():.1%}")


def print_shown(cells: int) -> None:
    """How often what was predicted to be shown, or not, was."""
    random = np.random.default_rng(SEED)
    right = shown = 0
    for number in range(cells):
        goal, gbps, rate, fault = _drawn(random)
        slowdown, found = _scanned(goal, gbps, rate, fault, SEED + number)
        predicted = shown_in_simulation(goal, gbps, rate, goal.iterations(600.0)).shows(slowdown)
        right += predicted == found
        shown += found
    print(f"shown or not: {right} of {cells} right; {shown} are shown")


def _drawn(random: np.random.Generator) -> tuple[FeedGoal, int, int, Fault]:
    goal = FeedGoal(iteration_s=float(random.choice([1.0, 2.0, 8.0])), members=int(random.choice([4, 8, 16, 32])))
    gbps = int(random.choice([50, 100, 200, 400]))
    rate = int(2 ** random.uniform(12, 23))
    size = float(random.uniform(1.3, 1.8))
    return goal, gbps, rate, Fault("straggler", first=14, rank=int(random.integers(goal.members)), size=size)


def _scanned(goal: FeedGoal, gbps: int, rate: int, fault: Fault, seed: int) -> tuple[float, bool]:
    """By how much the fault slows the job, and whether a scan of the cell finds anything."""
    cell = Cell(
        FeedSpec("sflow", rate), float(gbps), goal.iteration_s, goal.members, iterations=goal.iterations(600.0),
        busy_ratio=goal.busy_ratio, samples=60_000,
    )  # fmt: skip
    case = simulate_case(sweep(cell, fault), seed)
    took = np.diff(np.array(case.truth.jobs[0].iterations), axis=1)[:, 0]
    report = analyze_reading(case.readings["sflow"], ("cell",), case.inventory, AnalysisOptions(tables=False)).report
    return float(took[fault.first :].mean() / took[: fault.first].mean()), bool(report.findings)


if __name__ == "__main__":
    main()
