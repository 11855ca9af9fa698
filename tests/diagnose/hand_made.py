"""Operations, rates and jobs small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import Frame
from datamodel.reconstructed.operations import OPERATIONS
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.job_view import JobView

DP, PP = ROLES.index("dp"), ROLES.index("pp")
MS = 1_000_000
SECOND = 1_000 * MS


@dataclass(frozen=True, slots=True)
class Op:
    """One operation; what is left out follows from the rest: delivered when sent, busy from first to last byte."""

    endpoint: int
    peer: int
    start_ns: int
    end_ns: int
    iteration: int = 0
    slot: int = 0
    role: int = DP
    stream: int = -1
    delivered_ns: int = -1
    bytes: int = 1_000_000
    busy_ns: int = -1
    sending_ns: int = -1
    retransmitted_packets: int = 0
    packets: int = 0
    ecn_ce_packets: int = 0


def operations(ops: Iterable[Op]) -> Frame:
    """A table of operations, by stream and time; a stream for each directed pair and role where none is named."""
    rows = sorted((_completed(op) for op in ops), key=lambda op: (op.stream, op.start_ns))
    columns = {c.name: [getattr(op, c.name) for op in rows] for c in OPERATIONS if c.name != "group"}
    return Frame(OPERATIONS, columns | {"group": [0] * len(rows)})


def _completed(op: Op) -> Op:
    lasted = op.end_ns - op.start_ns
    return replace(
        op,
        stream=op.stream if op.stream >= 0 else op.role * 10_000 + op.endpoint * 100 + op.peer,
        delivered_ns=op.delivered_ns if op.delivered_ns >= 0 else op.end_ns,
        busy_ns=op.busy_ns if op.busy_ns >= 0 else lasted,
        sending_ns=op.sending_ns if op.sending_ns >= 0 else lasted,
    )


def edges_ns(durations_s: Sequence[float], start_s: float = 1_000.0) -> Int:
    """Ends of iterations: the first at `start_s`, then one after each duration."""
    seconds = np.concatenate([[start_s], start_s + np.cumsum(durations_s)])
    return np.round(seconds * SECOND).astype(np.int64)


def fabric(endpoints: int, switches: Sequence[str] = (), hosts: Sequence[str] = ()) -> EndpointLocations:
    """Endpoints 10.0.0.0, 10.0.0.1 ... behind these switches and in these hosts, where given."""
    return EndpointLocations(
        addresses=tuple(f"10.0.0.{n}" for n in range(endpoints)),
        host=dict(enumerate(hosts)),
        switch=dict(enumerate(switches)),
        port={n: n + 1 for n in range(len(switches))},
    )


def job_view(
    ops: Frame,
    edges: Int,
    place: EndpointLocations,
    *,
    stage: Mapping[int, int] | None = None,
    groups: Mapping[str, tuple[tuple[int, ...], ...]] | None = None,
    window_end_ns: int | None = None,
) -> JobView:
    """A job whose endpoints are those that send; its window ends with its last byte unless said."""
    endpoints = np.unique(ops["endpoint"]).astype(np.int64)
    last = {int(e): int(ops["end_ns"][ops["endpoint"] == e].max()) for e in endpoints}
    return JobView(
        id="j",
        endpoints=endpoints,
        edges_ns=edges,
        operations=ops,
        stage=stage or {},
        groups=groups or {"dp": (tuple(endpoints.tolist()),)},
        sharded=False,
        fabric=place,
        window_end_ns=window_end_ns if window_end_ns is not None else max(last.values()),
        last_sent_ns=last,
    )


@dataclass(frozen=True, slots=True)
class Ring:
    """A gradient ring: members compute, then send; all end together, once the last began and the slowest has sent.

    Attributes:
        members: endpoints in it.
        compute_s: (iteration, endpoint) -> seconds, where they differ from `usual_s`.
        slow: (iteration, endpoint) -> factor by which sending takes longer.
    """

    members: int = 6
    usual_s: float = 0.8
    transfer_s: float = 0.2
    compute_s: Mapping[tuple[int, int], float] | None = None
    slow: Mapping[tuple[int, int], float] | None = None

    def run(self, iterations: int, start_s: float = 1_000.0) -> tuple[Frame, Int]:
        """Operations and edges of that many iterations."""
        ops, ends, now = [], [], start_s
        for i in range(iterations):
            begin = [now + (self.compute_s or {}).get((i, e), self.usual_s) for e in range(self.members)]
            lasting = [self.transfer_s * (self.slow or {}).get((i, e), 1.0) for e in range(self.members)]
            now = max(begin) + max(lasting)
            ends.append(round(now * SECOND))
            for e in range(self.members):
                busy = round(lasting[e] * SECOND)
                start, peer = round(begin[e] * SECOND), (e + 1) % self.members
                ops.append(Op(e, peer, start, ends[-1], i, bytes=25_000_000, busy_ns=busy, sending_ns=busy))
        return operations(ops), np.array(ends, np.int64)
