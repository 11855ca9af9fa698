"""What labelings of a job ask of sets of its edges: many labelings share a set, so each answer is worked out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar, cast

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.numeric.ragged_arrays import expanded
from strategy.closure import Members, tied
from strategy.options import GridPenalties
from strategy.placement import Seat
from strategy.traffic.traffic_edges import SAME_BYTES, TrafficEdges

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EndpointSets:
    """Disjoint sets of endpoints.

    Attributes:
        groups: members ascending.
        usual: the size that most endpoints' set has; 1 where there are none.
        usually: endpoints in sets of that size.
        even: whether all sets have one size.
    """

    groups: tuple[Members, ...]
    usual: int
    usually: int
    even: bool

    @classmethod
    def of(cls, groups: tuple[Members, ...]) -> EndpointSets:
        """The sets with their sizes."""
        sets = Counter(map(len, groups))
        usually, usual = max(((size * n, size) for size, n in sets.items()), default=(0, 1))
        return cls(groups, usual, usually, len(sets) == 1)


def _once(measure: Callable[..., T]) -> Callable[..., T]:
    """Measure each set of edges once."""

    @wraps(measure)
    def known(self: EdgeSets, *chosen: Int) -> T:
        key = measure, *(some.tobytes() for some in chosen)
        if key not in self.known:
            self.known[key] = measure(self, *chosen)
        return cast("T", self.known[key])

    return known


class EdgeSets:
    """Sets of a job's edges, given by the numbers of their edges."""

    def __init__(self, edges: TrafficEdges, seats: Mapping[int, Seat], penalties: GridPenalties) -> None:
        """Take the job's edges, where endpoints sit (may be empty), and the log-probability of each deviation."""
        self.edges, self.seats, self.penalties = edges, seats, penalties
        self.known: dict[tuple[object, ...], object] = {}
        self.codes = int(max(edges.src.max(initial=0), edges.dst.max(initial=0))) + 1
        self._rail = np.full(self.codes, -1, np.int64)
        for code in np.union1d(edges.src, edges.dst).tolist():
            if code in seats and (rail := seats[code].rail) is not None:
                self._rail[code] = rail

    @_once
    def tie(self, chosen: Int) -> EndpointSets:
        """The sets of endpoints that edges tie together."""
        return EndpointSets.of(tied(self.edges.src[chosen], self.edges.dst[chosen]))

    @_once
    def join_hosts(self, chosen: Int, tying: Int) -> EndpointSets:
        """What edges tie together, joined where rings of gradients leave a host by another NIC than they came in by.

        A ring that crosses rails continues inside the host (NCCL's NCCL_CROSS_NIC, one ring a channel): its parts are
        one group. Rings that cross between other rails are another group's.

        Args:
            chosen: edges of gradients.
            tying: those whose groups are joined.
        """
        own = self.tie(tying)
        if not own.groups or not self.crosses_rails(chosen):
            return own
        ends = self._rail[self.edges.src[chosen]], self._rail[self.edges.dst[chosen]]
        linked = {rail: n for n, rails in enumerate(tied(*ends)) for rail in rails}
        joined: dict[tuple[frozenset[str], int], list[int]] = {}
        for group in own.groups:
            hosts = frozenset(self.seats[e].host for e in group if e in self.seats)
            joined.setdefault((hosts, linked.get(int(self._rail[group[0]]), -1)), []).extend(group)
        return EndpointSets.of(tuple(sorted(tuple(sorted(g)) for g in joined.values())))

    @_once
    def gather_in_part(self, gradient: Int, summed: Int) -> bool:
        """Whether parameters are gathered by fewer ranks than sum their gradients."""
        gathered = self.tie(np.setdiff1d(gradient, summed))
        return bool(gathered.groups) and gathered.usual < self.tie(summed).usual

    @_once
    def crosses_rails(self, chosen: Int) -> bool:
        """Whether most edges link NICs of different rails; where no rail is known none does."""
        apart = self._rail[self.edges.src[chosen]] != self._rail[self.edges.dst[chosen]]
        return 2 * int(apart.sum()) > len(chosen)

    @_once
    def count_senders(self, chosen: Int) -> int:
        """How many endpoints send on them."""
        return len(np.unique(self.edges.src[chosen]))

    @_once
    def variation(self, chosen: Int) -> float | None:
        """Median variation over iterations; None where it is not known."""
        known = self.edges.variation[chosen]
        known = known[~np.isnan(known)]
        return float(np.median(known)) if len(known) else None

    @_once
    def count_one_way(self, chosen: Int) -> int:
        """Endpoints that no partner answers."""
        src, dst = self.edges.src[chosen], self.edges.dst[chosen]
        answered = np.isin(dst * self.codes + src, src * self.codes + dst)
        return len(np.setdiff1d(np.union1d(src, dst), src[answered]))

    @_once
    def count_unbalanced(self, chosen: Int) -> int:
        """Endpoints that send other bytes of gradients than they receive, which no member of a reduction does."""
        edges, size = self.edges, self.edges.iteration_bytes[chosen]
        sent, received = (np.bincount(ends[chosen], size, self.codes) for ends in (edges.src, edges.dst))
        return int((np.abs(sent - received) > SAME_BYTES * np.maximum(sent, received)).sum())

    @_once
    def count_answered_later(self, chosen: Int) -> int:
        """Edges of gradients whose reverse is sent in another part of the iteration: a collective is over before that.

        Only those of streams count: others stand for what silent endpoints send, at the time of another edge.
        """
        edges = self.edges
        gradient = np.intersect1d(chosen, edges.edge)
        ends = (edges.src, edges.dst), (edges.dst, edges.src)
        key, back = (a[gradient] * self.codes + b[gradient] for a, b in ends)
        order = np.argsort(key, kind="stable")
        low, high = (np.searchsorted(key[order], back, side=side) for side in ("left", "right"))
        own, place = expanded(low, high - low)
        other, one = gradient[order[place]], gradient[own]
        pause_ns = np.maximum(edges.first_ns[one], edges.first_ns[other])
        pause_ns -= np.minimum(edges.last_ns[one], edges.last_ns[other])
        least_ns = np.full(len(gradient), np.inf)
        np.minimum.at(least_ns, own, pause_ns)
        return int((np.isfinite(least_ns) & (least_ns > self.penalties.later_share * edges.period_ns)).sum())
