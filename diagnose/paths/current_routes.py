"""Sightings and hashes -> the route that each connection takes, or the routes that are left to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from diagnose.paths.shortest_routes import NONE, ShortestRoutes
from reconstruct.jit import compiled
from reconstruct.numeric.ragged_arrays import expanded


@dataclass(frozen=True, slots=True)
class OpenRoutes:
    """Routes that each connection may take now.

    Attributes:
        offsets: (n + 1,) bounds of each connection's.
        route: (open,) rows of `ShortestRoutes.cables`.
        contradicted: connections seen on cables that lie on no common route; all routes are open to them.
    """

    offsets: Int
    route: Int
    contradicted: int

    def known(self) -> Int:
        """(n,) the route of each connection; NONE where several are open, or none."""
        single = np.diff(self.offsets) == 1
        found = np.full(len(single), NONE)
        found[single] = self.route[self.offsets[:-1][single]]
        return found

    def load_s(self, routes: ShortestRoutes, sent: Float, directions: int, inverse: Float) -> Float:
        """(directions, phases) load of connections spread over what is open to each.

        Args:
            routes: of pairs of switches.
            sent: (n, phases) bytes of each connection; 0 leaves it out.
            directions: directed cables.
            inverse: (directions,) seconds a byte.
        """
        load = np.zeros((directions, sent.shape[1]))
        _spread(load, self.offsets, self.route, routes.cables, sent, inverse)
        return load


@compiled
def _spread(load: Float, offsets: Int, route: Int, cables: Int, sent: Float, inverse: Float) -> None:
    """Add each connection's bytes, evenly over its open routes, to the (directions, phases) load of their cables."""
    for n in range(len(sent)):
        if sent[n].any():
            share = sent[n] / (offsets[n + 1] - offsets[n])
            for taken in route[offsets[n] : offsets[n + 1]]:
                for cable in cables[taken]:
                    if cable >= 0:
                        for phase in range(len(share)):
                            load[cable, phase] += share[phase] * inverse[cable]


def open_routes(pair: Int, routes: ShortestRoutes, tail: Int, connection: Int, switch: Int, cable: Int) -> OpenRoutes:
    """Routes that agree with where connections were seen, or are predicted, to leave switches.

    Args:
        pair: (n,) pair of switches of each connection.
        routes: of pairs.
        tail: (directions,) switch that each leaves.
        connection: (seen,) what was seen leaving a switch, in order of connection and switch.
        switch: (seen,) where.
        cable: (seen,) by which directed cable.
    """
    count = routes.offsets[pair + 1] - routes.offsets[pair]
    row, route = expanded(routes.offsets[pair], count)
    agrees = np.ones(len(row), np.bool_)
    key = connection << 32 | switch
    for hop in routes.cables[route].T if len(key) else ():
        wanted = row << 32 | tail[hop]
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        agrees &= (hop == NONE) | (key[place] != wanted) | (cable[place] == hop)
    lost = np.bincount(row[agrees], minlength=len(pair)) == 0
    kept = agrees | lost[row]
    offsets = np.append(0, np.cumsum(np.bincount(row[kept], minlength=len(pair))))
    return OpenRoutes(offsets, route[kept], int((lost & (count > 0)).sum()))
