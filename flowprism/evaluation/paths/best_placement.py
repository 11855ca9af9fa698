"""The least slowest load of a placement, by mixed-integer programming: a judge that shares no code with ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from diagnose.paths.placing.placement import Demand
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes

_SECONDS = 20.0
# A variable of the program is 0 or 1, but for rounding.
_TAKEN = 0.5


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What the program found in its time: of slowest loads, summed over phases.

    Attributes:
        bound_s: a placement has at least this, if every cable counts in every phase; 0 where none is known.
        found_s: of the best placement found, by the cables that carry the phase's own job; infinity without any.
    """

    bound_s: float
    found_s: float


def best_placement(
    demand: Demand, routes: ShortestRoutes, cables: DirectedCables, seconds: float = _SECONDS
) -> ProgramResult:
    """The least slowest loads, as far as the limit in seconds lets the program come."""
    count = np.diff(routes.offsets)[demand.pair]
    first = np.append(0, np.cumsum(count))
    size, phases, directions = int(first[-1]), demand.bytes.shape[1], len(cables.tail)
    who = np.repeat(np.arange(len(count)), count)
    route = np.arange(size) - np.repeat(first[:-1] - routes.offsets[demand.pair], count)
    one = coo_array((np.ones(size), (who, np.arange(size))), shape=(len(count), size + phases))
    unit = demand.bytes.max() / cables.bytes_per_s.max()
    parts = [
        (hop[on] * phases + p, np.flatnonzero(on), demand.bytes[who[on], p] / cables.bytes_per_s[hop[on]] / unit)
        for hop in routes.cables[route].T
        for on in (hop != NONE,)
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
    bound_s = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound * unit)
    if found.x is None:
        return ProgramResult(bound_s, np.inf)
    taken = found.x[:size] > _TAKEN
    load, own = demand.fixed_s.copy(), np.zeros(demand.fixed_s.shape, np.bool_)
    for hop in routes.cables[route[taken]].T:
        on = hop != NONE
        sending, cable = who[taken][on], hop[on]
        np.add.at(load, cable, demand.bytes[sending] / cables.bytes_per_s[cable][:, None])
        np.logical_or.at(own, cable, demand.own[sending])
    return ProgramResult(bound_s, float(np.where(own, load, 0.0).max(axis=0).sum()))
