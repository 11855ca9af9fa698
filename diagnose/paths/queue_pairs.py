"""Where ports cannot be set: how many queue pairs bring chance close to the best placement."""

from __future__ import annotations

import numpy as np

from diagnose.paths.placement import Demand
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes

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
    begin, count = routes.offsets[demand.pair[movable]], np.diff(routes.offsets)[demand.pair[movable]]
    number = 1
    while number <= MOST_QUEUE_PAIRS and len(movable) * number <= _MOST_ROUTES:
        draws = min(_DRAWS, _MOST_ROUTES // (len(movable) * number)) if len(movable) else 1
        slowest = [_slowest_s(demand, routes, cables, movable, begin, count, number, random) for _ in range(draws)]
        if np.mean(slowest) <= CLOSE * best_s:
            return number
        number *= 2
    return None


def _slowest_s(
    demand: Demand, routes: ShortestRoutes, cables: DirectedCables, movable: np.ndarray, begin: np.ndarray,
    count: np.ndarray, number: int, random: np.random.Generator,
) -> float:  # fmt: skip
    load, carries = demand.fixed_s.copy(), np.zeros(demand.fixed_s.shape, np.bool_)
    row = np.repeat(np.arange(len(movable)), number)
    route = begin[row] + (random.random(len(row)) * count[row]).astype(np.int64)
    for hop in routes.cables[route].T:
        on = hop != NONE
        who = movable[row[on]]
        np.add.at(load, hop[on], demand.bytes[who] / number / cables.bytes_per_s[hop[on], None])
        np.logical_or.at(carries, hop[on], demand.own[who])
    return float(np.where(carries, load, 0.0).max(axis=0).sum())
