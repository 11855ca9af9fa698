"""Where ports cannot be set: how many queue pairs bring chance close to the best placement."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Int
from diagnose.paths.placement import Demand, placed
from diagnose.paths.shortest_routes import DirectedCables, ShortestRoutes

CLOSE = 1.05
# NCCL_IB_QPS_PER_CONNECTION has no larger value.
MOST_QUEUE_PAIRS = 128
_DRAWS = 16
_MOST_ROUTES = 1 << 22
_SEED = 27


def queue_pairs_needed(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, best_s: float) -> int | None:
    """The least power of two of queue pairs whose expected slowest load is within 5 % of the best.

    None where that takes more than 128, or more draws than are worth making.

    Args:
        demand: what is sent.
        routes: open to it.
        cables: of the fabric.
        best_s: slowest load of the best placement, summed over phases.
    """
    random = np.random.default_rng(_SEED)
    movable = np.flatnonzero(np.diff(routes.offsets)[demand.pair] > 0)
    number = 1
    while number <= MOST_QUEUE_PAIRS and len(movable) * number <= _MOST_ROUTES:
        draws = min(_DRAWS, _MOST_ROUTES // (len(movable) * number)) if len(movable) else 1
        slowest = [_slowest_s(demand, routes, cables, movable, number, random) for _ in range(draws)]
        if np.mean(slowest) <= CLOSE * best_s:
            return number
        number *= 2
    return None


def _slowest_s(
    demand: Demand, routes: ShortestRoutes, cables: DirectedCables, movable: Int, number: int,
    random: np.random.Generator,
) -> float:  # fmt: skip
    """Slowest load, summed over phases, where each connection is so many queue pairs on random routes."""
    who = np.repeat(movable, number)
    begin, count = routes.offsets[demand.pair[who]], np.diff(routes.offsets)[demand.pair[who]]
    route = begin + (random.random(len(who)) * count).astype(np.int64)
    pairs = Demand(demand.pair[who], demand.bytes[who] / number, demand.own[who], demand.fixed_s)
    return float(placed(pairs, routes, cables, route).slowest_s.sum())
