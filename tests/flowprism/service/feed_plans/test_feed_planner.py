"""Measurements run one at a time in the background, and are kept by job."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from flowprism.feed_plan.cost_model import Costs
from flowprism.feed_plan.feed_measurements import FeedMeasurements, Progress
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts
from flowprism.service.feed_plans.feed_planner import FeedPlanner, Measuring, MeasuringFailed, PlannerBusyError
from flowprism.service.feed_plans.measuring_process import MeasuringError, measure_in_process
from tests.flowprism.feed_plan.sample import COSTS, measured
from tests.flowprism.service.running import wait_for

PORTS = FabricPorts({400: 8}, {}, {})
GOAL = FeedGoal()


class Held:
    """Measures when it is let; notes the costs that it was given."""

    def __init__(self) -> None:
        self.go, self.given = threading.Event(), list[Costs | None]()

    def __call__(self, ports: FabricPorts, goal: FeedGoal, costs: Costs | None, progress: Progress) -> FeedMeasurements:
        """As the real one."""
        self.given.append(costs)
        progress(1, 6)
        assert self.go.wait(30)
        if goal.members == 3:
            raise MeasuringError("no room")
        return measured(ports, goal)


def test_goals_of_one_job_share_measurements_and_jobs_share_costs() -> None:
    """While the first is measured its progress is shown; another job waits, and is not given costs to measure."""
    held = Held()
    planner = FeedPlanner(held)
    assert planner.state(PORTS, GOAL) is None
    planner.start(PORTS, GOAL)
    planner.start(PORTS, GOAL)
    planner.start(PORTS, replace(GOAL, members=8))
    wait_for(lambda: planner.state(PORTS, GOAL) == Measuring(1, 6))
    assert planner.state(PORTS, replace(GOAL, members=8)) == Measuring()
    held.go.set()
    wait_for(lambda: isinstance(planner.state(PORTS, replace(GOAL, members=8)), FeedMeasurements))
    assert isinstance(planner.state(PORTS, replace(GOAL, slowdown_ratio=1.5, cores=1.0)), FeedMeasurements)
    assert held.given == [None, COSTS]


def test_too_many_waiting_are_refused_and_a_failure_can_be_tried_again() -> None:
    """Four wait; what failed says why until it is started again."""
    held = Held()
    planner = FeedPlanner(held)
    for members in (3, 4, 5, 6):
        planner.start(PORTS, replace(GOAL, members=members))
    with pytest.raises(PlannerBusyError, match="4 other plans"):
        planner.start(PORTS, replace(GOAL, members=7))
    held.go.set()
    wait_for(lambda: isinstance(planner.state(PORTS, replace(GOAL, members=6)), FeedMeasurements))
    assert planner.state(PORTS, replace(GOAL, members=3)) == MeasuringFailed("no room")
    planner.start(PORTS, replace(GOAL, members=3))
    wait_for(lambda: len(held.given) == 5)


@pytest.mark.slow
def test_a_measuring_process_that_dies_is_an_error() -> None:
    """A goal that cannot be simulated ends the process, and not its parent."""
    with pytest.raises(MeasuringError, match="exit code 1"):
        measure_in_process(PORTS, None, COSTS, lambda _done, _total: None)  # type: ignore[arg-type]  # it must fail
