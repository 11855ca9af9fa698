"""The least slowest load of a placement, by mixed-integer programming: a judge that shares no code with ours."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from diagnose.paths.placement import Demand
from diagnose.paths.shortest_routes import DirectedCables, ShortestRoutes

_SECONDS = 20.0


def least_s(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, seconds: float = _SECONDS) -> float:
    """A lower bound of the slowest loads, summed over phases: the optimum unless the limit in seconds is met.

    0 where no bound is known by then.
    """
    count = np.diff(routes.offsets)[demand.pair]
    first = np.append(0, np.cumsum(count))
    size, phases, directions = int(first[-1]), demand.bytes.shape[1], len(cables.tail)
    who = np.repeat(np.arange(len(count)), count)
    route = np.arange(size) - np.repeat(first[:-1] - routes.offsets[demand.pair], count)
    one = coo_array((np.ones(size), (who, np.arange(size))), shape=(len(count), size + phases))
    unit = demand.bytes.max() / cables.bytes_per_s.max()
    parts = [
        (hop * phases + p, np.arange(size), demand.bytes[who, p] / cables.bytes_per_s[hop] / unit)
        for hop in routes.cables[route].T
        for p in range(phases)
    ]
    parts += [
        (np.arange(directions) * phases + p, np.full(directions, size + p), np.full(directions, -1.0))
        for p in range(phases)
    ]
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    slack = coo_array((value, (row, column)), shape=(directions * phases, size + phases))
    found = milp(
        np.append(np.zeros(size), np.ones(phases)),
        constraints=[LinearConstraint(one, 1, 1), LinearConstraint(slack, -np.inf, -demand.fixed_s.ravel() / unit)],
        integrality=np.append(np.ones(size), np.zeros(phases)),
        bounds=Bounds(0, np.append(np.ones(size), np.full(phases, np.inf))),
        options={"time_limit": seconds},
    )
    return 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound * unit)
