"""Connections and the routes open to them -> the placement whose slowest cables are done first.

A phase of an iteration lasts as long as its most loaded cable has bytes to send: what is minimized is the sum over
phases of the largest load, in seconds. Connections of one size over equal spines are colored, which meets the bound;
the rest is placed longest first (Graham 1969) and improved by moves and swaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.paths.placing.edge_coloring import color_edges
from diagnose.paths.placing.exploration import explore
from diagnose.paths.placing.placement_search import SearchState, improve, place_greedily, put_on
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes

# Queue pairs of one transfer differ by parts of a message: so much apart, connections count as equal.
EQUAL_RATIO = 1.01
_LESS = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Demand:
    """Connections to place.

    Attributes:
        pair: (n,) row of `ShortestRoutes` whose routes are open to each.
        bytes: (n, phases) that each sends while a phase lasts.
        own: (n, phases) whether the phase is of the connection's job: only cables with such a connection delay it.
        fixed_s: (directions, phases) time that each cable needs for what is not placed.
    """

    pair: Int
    bytes: Float
    own: Bool
    fixed_s: Float


@dataclass(frozen=True, slots=True)
class Placement:
    """A route for each connection.

    Attributes:
        route: (n,) row of `ShortestRoutes.cables`; NONE where the connection has none.
        load_s: (directions, phases) time each cable needs.
        carries: (directions, phases) whether a connection of the phase's own job is on it.
    """

    route: Int
    load_s: Float
    carries: Bool

    @property
    def slowest_s(self) -> Float:
        """(phases,) time of the most loaded cable that carries the phase's own job."""
        return np.asarray(np.where(self.carries, self.load_s, 0.0).max(axis=0, initial=0.0), np.float64)


def placed(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, route: Int) -> Placement:
    """What cables carry where connections take some routes; NONE adds nothing."""
    state = _state(demand, routes, cables, route)
    return Placement(route, state.load, state.carried > 0)


def bound_s(demand: Demand, routes: ShortestRoutes, cables: DirectedCables) -> Float:
    """(phases,) time below which no placement gets: of the largest connection, and of all at one end over all doors.

    A door has a whole number of connections, each of them as large as the smallest at least.
    """
    begin, end = routes.offsets[demand.pair], routes.offsets[demand.pair + 1]
    found = np.zeros(demand.bytes.shape[1])
    movable = np.flatnonzero(end > begin)
    if not len(movable):
        return found
    sent, hops = np.where(demand.own, demand.bytes, 0.0)[movable], routes.cables
    for ends, of, doors in (
        (cables.tail, hops[begin[movable], 0], np.unique(hops[:, 0])),
        (cables.head, _last(hops[begin[movable]]), np.unique(_last(hops))),
    ):
        total = _at_switches(ends[of], sent, len(cables.switches))
        speed = np.bincount(ends[doors], cables.bytes_per_s[doors], len(total))[:, None]
        least = np.divide(total, speed, out=np.zeros_like(total), where=speed > 0)
        number = np.bincount(ends[doors], minlength=len(total))[:, None]
        many = np.ceil(
            _at_switches(ends[of], np.where(sent > 0, 1.0, 0.0), len(cables.switches)) / np.maximum(number, 1)
        )
        smallest = np.full_like(total, np.inf)
        np.minimum.at(smallest, ends[of], np.where(sent > 0, sent, np.inf))
        whole = np.where(many > 0, many * np.where(many > 0, smallest, 0.0), 0.0) / cables.bytes_per_s.max()
        found = np.maximum(found, np.maximum(least, whole).max(axis=0))
    return np.asarray(np.maximum(found, sent.max(axis=0) / cables.bytes_per_s.max()))


def _at_switches(switch: Int, values: Float, switches: int) -> Float:
    total = np.zeros((switches, values.shape[1]))
    np.add.at(total, switch, values)
    return total


def place(demand: Demand, routes: ShortestRoutes, cables: DirectedCables) -> Placement:
    """The best of three placements after moves and swaps: colored together, by classes of equal size, longest first.

    Colored together, connections of all jobs keep apart, as far as there are cables: the first of equally good ones.
    """
    begin, end = routes.offsets[demand.pair], routes.offsets[demand.pair + 1]
    movable = np.flatnonzero(end > begin)
    least = bound_s(demand, routes, cables)
    classes = _equal_classes(demand.bytes[movable]) if len(movable) else []
    orders = [[np.concatenate(classes)], *([classes] if len(classes) > 1 else [])] if classes else []
    best: Placement | None = None
    for order in (*orders, None):
        if best is not None and (best.slowest_s <= least * (1 + 1e-9)).all():
            break
        if order is None:
            route = _longest_first(demand, routes, cables, movable)
        elif (colored := _colored(demand, routes, cables, movable, order)) is not None:
            route = colored
        else:
            continue
        improve(route, _state(demand, routes, cables, route), least)
        found = placed(demand, routes, cables, route)
        if best is None or found.slowest_s.sum() < best.slowest_s.sum() * _LESS:
            best = found
    if best is None:
        return placed(demand, routes, cables, np.full(len(demand.pair), NONE))
    return best if (best.slowest_s <= least * (1 + 1e-9)).all() else _explored(demand, routes, cables, best)


def _explored(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, found: Placement) -> Placement:
    """The best placement near one that moves and swaps do not improve."""
    route = found.route.copy()
    explore(route, _state(demand, routes, cables, route))
    return placed(demand, routes, cables, route)


def _state(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, route: Int) -> SearchState:
    """Loads and own connections of cables where connections take some routes; NONE adds nothing."""
    load, count = demand.fixed_s.copy(), np.zeros(demand.fixed_s.shape, np.int64)
    inverse = 1 / cables.bytes_per_s
    state = SearchState(load, count, demand.pair, demand.bytes, demand.own, routes.offsets, routes.cables, inverse)
    put_on(route, state)
    return state


def _last(hops: Int) -> Int:
    """(n,) last cable of each route."""
    count = (hops != NONE).sum(axis=1)
    return np.asarray(hops[np.arange(len(hops)), count - 1])


def _colored(
    demand: Demand, routes: ShortestRoutes, cables: DirectedCables, movable: Int, classes: list[Int]
) -> Int | None:
    """Routes by colors, one class of connections of a plane after the other; None where a plane's spines differ."""
    pairs, at = np.unique(demand.pair[movable], return_inverse=True)
    count = routes.offsets[pairs + 1] - routes.offsets[pairs]
    if not len(pairs) or routes.cables.shape[1] != 2 or (count != count[0]).any():
        return None
    hops = routes.cables[routes.offsets[pairs][:, None] + np.arange(count[0])]
    speeds = cables.bytes_per_s[hops]
    planes, plane = np.unique(cables.head[hops[:, :, 0]], axis=0, return_inverse=True)
    spines = np.unique(planes)
    if len(spines) != planes.size or (speeds != speeds[0, 0, 0]).any():
        return None
    route, plane_of = np.full(len(demand.pair), NONE), plane.ravel()[at]
    first = routes.cables[routes.offsets[demand.pair[movable]]]
    ends = cables.tail[first[:, 0]], cables.head[first[:, 1]]
    for own in (every[plane_of[every] == n] for every in classes for n in range(len(planes))):
        color = color_edges(ends[0][own], ends[1][own], int(count[0]))
        route[movable[own]] = routes.offsets[demand.pair[movable[own]]] + color
    return route


def _equal_classes(sent: Float) -> list[Int]:
    """Connections of the same main phase and about the same bytes in it, the largest first."""
    phase, size = sent.argmax(axis=1), sent.max(axis=1)
    order = np.lexsort([-size, phase])
    ratio = size[order][:-1] > size[order][1:] * EQUAL_RATIO
    new = np.append(True, ratio | (np.diff(phase[order]) != 0))
    return np.split(order, np.flatnonzero(new)[1:])


def _longest_first(demand: Demand, routes: ShortestRoutes, cables: DirectedCables, movable: Int) -> Int:
    route = np.full(len(demand.pair), NONE)
    order = movable[np.argsort(-demand.bytes[movable].max(axis=1), kind="stable")]
    place_greedily(order, route, _state(demand, routes, cables, route))
    return route
