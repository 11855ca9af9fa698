"""One job as diagnosis takes it: what the earlier stages concluded, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import Frame
from datamodel.reconstructed.paths import Paths
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.measures.congestion_notifications import NO_NOTICES, CongestionNotifications
from diagnose.model.own_time import OwnTime
from diagnose.model.standstill import Steps
from reconstruct.clocks.time_bounds import TimeBounds
from reconstruct.jobs.observed_iterations import ObservedIterations

DP = ROLES.index("dp")


@dataclass(frozen=True, slots=True)
class JobView:
    """A job to diagnose.

    Attributes:
        id: the job's name in the report.
        endpoints: (e,) address codes, ascending.
        edges_ns: (iterations,) end of each complete iteration.
        operations: what every endpoint sent (`datamodel.reconstructed.operations.OPERATIONS`).
        stage: address code -> pipeline stage.
        groups: kind -> process groups as address codes.
        sharded: whether gradient groups gather and scatter all through the iteration.
        fabric: where endpoints are plugged in.
        window_end_ns: last packet or record of the feed.
        last_sent_ns: address code -> last payload byte it sent.
        own: how long it was each cell's turn; None where no ready messages tell.
        notices: congestion notifications between its endpoints.
        paths: where its streams were seen between switches; None where no feed tells.
        observed: of which iterations something is missing; None for none.
        dates: between what its packets were sent; None where their times are known.
        stages_known: whether `stage` is known; of some traffic nobody knows whether it is a pipeline's.
        steps: all that its endpoints sent one another, if it fell silent; None where messages are not seen one by one.
        stops_where_begun: whether all that it sends stops at the place of the iteration at which it began.
        whole_bursts: whether its operations are whole bursts: who waits within one for what it passes on looks slow.
    """

    id: str
    endpoints: Int
    edges_ns: Int
    operations: Frame
    stage: Mapping[int, int]
    groups: Mapping[str, tuple[tuple[int, ...], ...]]
    sharded: bool
    fabric: EndpointLocations
    window_end_ns: int
    last_sent_ns: Mapping[int, int]
    own: OwnTime | None = None
    notices: CongestionNotifications = NO_NOTICES
    paths: Paths | None = None
    observed: ObservedIterations | None = None
    dates: TimeBounds | None = None
    stages_known: bool = True
    steps: Steps | None = None
    stops_where_begun: bool = False
    whole_bursts: bool = False

    @property
    def iterations(self) -> int:
        """How many complete ones there are."""
        return len(self.edges_ns)

    @property
    def stages(self) -> Int:
        """(e,) pipeline stage of each endpoint."""
        return np.array([self.stage.get(int(e), 0) for e in self.endpoints], np.int64)

    @property
    def period_ns(self) -> float:
        """Median iteration time."""
        return float(np.median(np.diff(self.edges_ns)))

    @property
    def moved_bytes(self) -> Float:
        """(iterations,) what the job moved in each."""
        number = self.operations["iteration"]
        inside = (number >= 0) & (number < self.iterations)
        moved = np.bincount(number[inside], self.operations["bytes"][inside], self.iterations)
        return np.asarray(moved, np.float64)

    @property
    def lost(self) -> tuple[int, ...]:
        """Senders that could not be seen any more when the job was last seen."""
        return self.observed.lost if self.observed is not None else ()

    @property
    def incomplete(self) -> Bool | None:
        """(iterations,) whether records are missing in it, or in the one before; None for none."""
        return self.observed.incomplete if self.observed is not None else None

    @property
    def guessed(self) -> Bool | None:
        """(iterations,) whether its beginning or its end may be that of a record that was lost; None for none."""
        return self.observed.guessed if self.observed is not None else None

    def seen_whole(self) -> JobView:
        """The job in the longest stretch of iterations that were all seen from end to end, counted from 0 anew.

        The iteration before it is its first one: that is never compared, and only its end is known.
        """
        if self.observed is None or self.observed.whole.all():
            return self
        first, end = self.observed.longest()
        first = max(first - 1, 0)
        number = self.operations["iteration"].astype(np.int64) - first
        inside = (number >= 0) & (number < end - first)
        operations = self.operations.replace(iteration=np.where(inside, number, -1))
        own = self.own and self.own.between(first, end)
        observed = self.observed.between(first, end)
        return replace(self, edges_ns=self.edges_ns[first:end], operations=operations, observed=observed, own=own)

    def measured_ns(self, span_ns: tuple[int, int | None]) -> tuple[int, int]:
        """The window a finding was measured over: its span, to the last edge where it is still on."""
        return span_ns[0], span_ns[1] if span_ns[1] is not None else int(self.edges_ns[-1])

    def name(self, endpoint: int) -> str:
        """An endpoint's address."""
        return self.fabric.addresses[endpoint]

    def names(self, endpoints: Int | tuple[int, ...] | list[int]) -> tuple[str, ...]:
        """Addresses, in the order given."""
        return tuple(self.fabric.addresses[int(e)] for e in endpoints)

    def tensor_group(self, endpoint: int) -> tuple[int, ...]:
        """The endpoints that compute together with one inside its host; itself where none are known."""
        return next((g for g in self.groups.get("tp", ()) if endpoint in g), (endpoint,))

    def successors(self) -> dict[int, int]:
        """Endpoint -> the next one in its gradient ring."""
        rows = np.flatnonzero(self.operations["role"] == DP)[::-1]
        senders, last = np.unique(self.operations["endpoint"][rows], return_index=True)
        return dict(zip(senders.tolist(), self.operations["peer"][rows[last]].tolist(), strict=True))
