"""Costs and detectability made up for tests: round numbers whose sums can be done by hand."""

from __future__ import annotations

from datamodel.cluster.inventory import Inventory
from flowprism.feed_plan.cost_model import SFLOW, Costs, ProtocolCosts, StageCost
from flowprism.feed_plan.feed_measurements import FeedMeasurements, Progress, simulated_cells
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts
from flowprism.feed_plan.shown_by_rate import ShownByRate
from flowprism.service.feed_plans.feed_planner import FeedPlanner

COSTS = Costs(
    receive_s=3e-6,
    protocols={
        SFLOW: ProtocolCosts(
            decode=StageCost(0.0, 1e-7),
            commit=StageCost(0.005, 4e-7),
            analyze=StageCost(0.02, 5e-7, 5e-4),
            analyze_bytes=StageCost(0.0, 200.0),
            stored_bytes=StageCost(1000.0, 20.0),
        )
    },
)


def shown(_gbps: int, rate: int, _window_s: float) -> ShownByRate:
    """Rates up to 1 in 65,536 show 5 % and name stragglers, up to 1 in 262,144 show 20 %, more show nothing."""
    if rate > 262_144:
        return ShownByRate(rate, None, None, ())
    return ShownByRate(rate, rate / 1e8, 1.05 if rate <= 65_536 else 1.2, ("straggler",) if rate <= 65_536 else ())


def measured(
    ports: FabricPorts, goal: FeedGoal, _costs: Costs | None = None, _progress: Progress = lambda _done, _total: None
) -> FeedMeasurements:
    """The above as measurements."""
    return FeedMeasurements(COSTS, {cell: shown(cell.gbps, cell.rate, 0.0) for cell in simulated_cells(ports, goal)})


class InstantPlanner(FeedPlanner):
    """Has measured everything already."""

    def state(self, ports: FabricPorts, goal: FeedGoal) -> FeedMeasurements:
        """The above, at once."""
        return measured(ports, goal)

    def start(self, ports: FabricPorts, goal: FeedGoal) -> None:
        """Nothing is left to measure."""


def fabric(leaves: int, hosts: int) -> Inventory:
    """Leaves with so many ports of 400 Gb/s down and half as many of 800 Gb/s up to two spines."""
    return Inventory.model_validate(
        {
            "schema": "flowprism.inventory/v1",
            "hosts": [
                {
                    "name": f"h{leaf}-{port}",
                    "endpoints": [
                        {
                            "address": f"10.{leaf // 250}.{leaf % 250}.{port + 1}",
                            "switch": f"leaf{leaf}",
                            "port": port + 1,
                            "speed_gbps": 400,
                        }
                    ],
                }
                for leaf in range(leaves)
                for port in range(hosts)
            ],
            "switches": [
                *(
                    {"name": f"leaf{n}", "role": "leaf", "agent": f"10.255.{n // 250}.{n % 250 + 1}"}
                    for n in range(leaves)
                ),
                *({"name": f"spine{n}", "role": "spine", "agent": f"10.254.0.{n + 1}"} for n in range(2)),
            ],
            "links": [
                {
                    "a": f"leaf{leaf}",
                    "a_port": 1000 + n,
                    "b": f"spine{n % 2}",
                    "b_port": leaf * 100 + n,
                    "speed_gbps": 800,
                }
                for leaf in range(leaves)
                for n in range(hosts // 2)
            ],
        }
    )
