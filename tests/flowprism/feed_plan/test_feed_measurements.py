"""What is simulated is what the search asks for."""

from __future__ import annotations

import pytest

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from flowprism.feed_plan.feed_measurements import plan_feed, simulated_cells
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import fabric_ports
from tests.flowprism.feed_plan.sample import fabric, measured


@pytest.mark.parametrize("iteration_s", [0.05, 2.0, 10.0, 45.0, 600.0])
def test_every_rate_and_window_that_is_searched_is_simulated(iteration_s: float) -> None:
    """A plan is found, whatever the iteration time, from the cells alone; few of them differ in iterations."""
    ports, goal = fabric_ports(fabric(2, 4)), FeedGoal(iteration_s=iteration_s, minutes=120)
    assert plan_feed(ports, goal, measured(ports, goal)).chosen.shown.shows(1.05)
    cells = simulated_cells(ports, goal)
    assert len(cells) == len(set(cells)) <= 5 * 7


def test_iterations_longer_than_windows_are_refused() -> None:
    """The longest window holds six of ten minutes."""
    with pytest.raises(InputError, match="no window holds 6 iterations of 601 s"):
        FeedGoal(iteration_s=601)


def test_ports_slower_than_export_plans_can_name_are_refused() -> None:
    """Rates are by whole Gb/s."""
    slow = fabric(1, 2).model_dump(by_alias=True)
    for host in slow["hosts"]:
        host["endpoints"][0]["speed_gbps"] = 0.1
    with pytest.raises(InputError, match="a speed of 1 Gb/s or more"):
        fabric_ports(Inventory.model_validate(slow))
