"""The arrays that a plan is written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from datamodel.reconstructed.connections import ConnectionTables
from datamodel.reconstructed.streams import Bool, Int
from datamodel.reports.path_plan import Port
from diagnose.paths.crossing import Crossing, Doors
from diagnose.paths.current_routes import OpenRoutes
from diagnose.paths.pace import JobTimes
from diagnose.paths.phases import Phases
from diagnose.paths.placing.placement import Demand, Placement, placed
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes
from reconstruct.paths.uplink_hash import UplinkHash


@dataclass(frozen=True, slots=True)
class PlanTables:
    """What a plan is written from; connections by their place among those that cross switches.

    Attributes:
        found, across, cables: connections, and the fabric.
        routes: that may be planned.
        doors: that switches may choose from.
        hashes: of switches whose hash is known.
        now: routes open to each connection.
        folded: bytes by phase.
        elephants, owner: long connections and their jobs.
        members: by job, (n,) its connections.
        before, planned: what cables carry now, and once the plan is applied; routes of `planned` are of elephants.
        demand: that was placed: what is sent once the plan is applied.
        times: what iterations take now.
        left_out: directed cables that nothing is planned over, both directions of each.
    """

    found: ConnectionTables
    across: Crossing
    cables: DirectedCables
    routes: ShortestRoutes
    doors: Doors
    hashes: Mapping[int, UplinkHash]
    now: OpenRoutes
    folded: Phases
    elephants: Int
    owner: Int
    members: list[Bool]
    before: Placement
    planned: Placement
    demand: Demand
    times: JobTimes
    left_out: Sequence[int] = ()
    _ports: dict[int, Port] = field(default_factory=dict, repr=False)

    def port(self, cable: int) -> Port:
        """The interface that a directed cable leaves by."""
        if cable not in self._ports:
            switch, port = self.cables.port(cable)
            self._ports[cable] = Port(switch=switch, port=port)
        return self._ports[cable]

    def hops_now(self) -> Int:
        """(elephants, hops) cables that each takes now; NONE all along where that is unknown."""
        return self._hops(self.across.routes, self.now.known()[self.elephants])

    def hops_planned(self) -> Int:
        """(elephants, hops) cables that each is to take; NONE all along where there is no route."""
        return self._hops(self.routes, self.planned.route)

    def _hops(self, routes: ShortestRoutes, route: Int) -> Int:
        width = max(self.routes.cables.shape[1], self.across.routes.cables.shape[1])
        found = np.full((len(route), width), NONE)
        taken = np.flatnonzero(route != NONE)
        found[taken, : routes.cables.shape[1]] = routes.cables[route[taken]]
        return found

    def alone(self, elephants: Bool, phase: Int) -> Demand:
        """Some elephants in some phases, all others where they are planned."""
        demand, sent = self.demand, self.demand.bytes[elephants][:, phase]
        pair, own = demand.pair[elephants], demand.own[elephants][:, phase]
        mine = Demand(pair, -sent, own, self.planned.load_s[:, phase])
        fixed_s = placed(mine, self.routes, self.cables, self.planned.route[elephants]).load_s
        return Demand(pair, sent, own, np.maximum(fixed_s, 0.0))

    def name(self, elephant: int) -> str:
        """A connection, as source:port > destination."""
        row = int(self.across.rows[self.elephants[elephant]])
        table, addresses = self.found.table, self.found.addresses
        return f"{addresses[table['src_addr'][row]]}:{table['src_port'][row]} > {addresses[table['dst_addr'][row]]}"
