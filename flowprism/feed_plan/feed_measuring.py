"""Measures what a plan rests on; what only plans, or shows plans, does without the decoders that this loads."""

from __future__ import annotations

from flowprism.feed_plan.cost_measurement import measure_costs
from flowprism.feed_plan.cost_model import SFLOW, Costs
from flowprism.feed_plan.detectability_by_rate import shown_in_simulation
from flowprism.feed_plan.feed_measurements import FeedMeasurements, Progress, simulated_cells
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts


def measure_feed(
    ports: FabricPorts,
    goal: FeedGoal,
    costs: Costs | None = None,
    progress: Progress = lambda _done, _total: None,
) -> FeedMeasurements:
    """Measure costs, unless they are known, and simulate the job at each rate: one to two minutes of processor time.

    Of the goal only the job counts: iteration time, members and busy ratio.
    """
    cells = simulated_cells(ports, goal)
    total = len(cells) + 1
    progress(0, total)
    costs = costs or measure_costs((SFLOW,))
    shown = {}
    for done, cell in enumerate(cells, 1):
        progress(done, total)
        shown[cell] = shown_in_simulation(goal, *cell)
    return FeedMeasurements(costs, shown)
