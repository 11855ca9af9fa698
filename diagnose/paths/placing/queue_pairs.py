"""Where ports cannot be set: how many queue pairs bring chance close to the best placement."""

from __future__ import annotations

import numpy as np

from diagnose.paths.placing.placement import Demand, placed
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes

CLOSE = 1.05
# NCCL_IB_QPS_PER_CONNECTION has no larger value.
MOST_QUEUE_PAIRS = 128
_DRAWS = 16
# Routes drawn for one number: of many connections a single draw is as good as the mean.
_MOST_ROUTES = 1 << 20
_SEED = 27


def queue_pairs_needed(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, best_s: float) -> int | None:
    """The least power of two of queue pairs whose expected slowest load is within 5 % of the best; None: over 128.

    The more there are, the closer they come: the least is found by halving.

    Args:
        demand: what is sent.
        routes: open to it.
        cables: of the fabric.
        best_s: slowest load of the best placement, summed over phases.
    """
    random = np.random.default_rng(_SEED)
    movable = int(np.count_nonzero(np.diff(routes.offsets)[demand.pair]))
    low, high = 0, MOST_QUEUE_PAIRS.bit_length()
    while low < high:
        middle = (low + high) // 2
        draws = min(_DRAWS, max(_MOST_ROUTES // max(movable << middle, 1), 1)) if movable else 1
        slowest = [_slowest_s(demand, routes, cables, 1 << middle, random) for _ in range(draws)]
        low, high = (low, middle) if np.mean(slowest) <= CLOSE * best_s else (middle + 1, high)
    return 1 << low if 1 << low <= MOST_QUEUE_PAIRS else None


def _slowest_s(
    demand: Demand, routes: ShortestRoutes, cables: DirectedCables, number: int, random: np.random.Generator
) -> float:
    """Slowest load, summed over phases, where each connection is so many queue pairs on random routes."""
    begin, count = routes.offsets[demand.pair], np.diff(routes.offsets)[demand.pair]
    load, carries = demand.fixed_s, np.zeros(demand.fixed_s.shape, np.bool_)
    for _ in range(number):
        route = np.where(count > 0, begin + (random.random(len(count)) * count).astype(np.int64), NONE)
        one = placed(Demand(demand.pair, demand.bytes / number, demand.own, load), routes, cables, route)
        load, carries = one.load_s, carries | one.carries
    return float(np.where(carries, load, 0.0).max(axis=0, initial=0.0).sum())
