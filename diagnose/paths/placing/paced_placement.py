"""The placement for what connections send once it is applied: jobs that become faster send more in a second."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from diagnose.paths.pace import JobTimes
from diagnose.paths.path_options import PATHS
from diagnose.paths.phases import Phases
from diagnose.paths.placing.placement import Demand, Placement, place, placed
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes

# What is sent changes the placement from here on: as little as connections have to differ by to count as different.
_CHANGED = 0.01


def place_at_pace(
    demanded: Callable[[Phases], Demand],
    routes: ShortestRoutes,
    cables: DirectedCables,
    folded: Phases,
    taken: JobTimes,
    before: Placement,
    known: Int | None,
) -> tuple[Demand, Placement]:
    """What is sent once a placement is applied, and that placement.

    Args:
        demanded: connections to place and the rest, by what all of them send.
        routes: open to them.
        cables: of the fabric.
        folded: what connections send now.
        taken: what iterations take now.
        before: what cables carry now.
        known: (n,) route that each connection to place takes now, NONE where that is unknown; None where some of the
            cables in use are to be left. What is there stays if it is about as good as the plan.
    """
    demand = demanded(folded)
    found = place(demand, routes, cables)
    if known is not None and (known != NONE).all():
        there = placed(demand, routes, cables, known)
        if (there.slowest_s <= PATHS.close_ratio * found.slowest_s).all():
            return demand, there

    def sent_under(route: Int) -> Demand:
        def slowest_s(sent: Phases) -> Float:
            return placed(demanded(sent), routes, cables, route).slowest_s

        return demanded(taken.sent(folded, taken.pace(folded, before.slowest_s, slowest_s)))

    later = sent_under(found.route)
    if _changed(demand, later):
        found = place(later, routes, cables)
        later = sent_under(found.route)
    return later, placed(later, routes, cables, found.route)


def _changed(demand: Demand, later: Demand) -> bool:
    pairs = ((demand.bytes, later.bytes), (demand.fixed_s, later.fixed_s))
    return not all(np.allclose(one, other, rtol=_CHANGED, atol=0) for one, other in pairs)
