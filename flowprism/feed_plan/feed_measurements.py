"""What a plan rests on: costs on this machine, and what each sampling rate shows of the goal's job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from flowprism.feed_plan.cost_model import Costs
from flowprism.feed_plan.goal import FEWEST_ITERATIONS, FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts
from flowprism.feed_plan.plan_search import RATES, WINDOWS_S, PlanChoice, search
from flowprism.feed_plan.shown_by_rate import ShownByRate

Progress = Callable[[int, int], None]  # steps done, steps in total


class SimulatedCell(NamedTuple):
    """One simulation: port speed in Gb/s, N of 1 in N, and iterations."""

    gbps: int
    rate: int
    iterations: int


@dataclass(frozen=True, slots=True)
class FeedMeasurements:
    """What a plan rests on.

    Attributes:
        costs: of collecting and analyzing, on this machine.
        shown: what each rate shows of the job.
    """

    costs: Costs
    shown: Mapping[SimulatedCell, ShownByRate]


def simulated_cells(ports: FabricPorts, goal: FeedGoal) -> list[SimulatedCell]:
    """List what a search among all rates and windows asks for."""
    windows = [window_s for window_s in WINDOWS_S if window_s >= FEWEST_ITERATIONS * goal.iteration_s]
    iterations = sorted({goal.iterations(window_s) for window_s in windows})
    return [SimulatedCell(gbps, rate, many) for gbps in sorted(ports.hosts) for rate in RATES for many in iterations]


def plan_feed(ports: FabricPorts, goal: FeedGoal, measured: FeedMeasurements) -> PlanChoice:
    """Choose the cheapest plan that reaches the goal."""

    def shown(gbps: int, rate: int, window_s: float) -> ShownByRate:
        return measured.shown[SimulatedCell(gbps, rate, goal.iterations(window_s))]

    return search(ports, goal, measured.costs, shown)
