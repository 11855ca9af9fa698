"""Operations -> delays: how long each endpoint took from the last thing that reached it to what it then sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.operations import FAMILY_SLOTS
from datamodel.streams import Float, Int
from datamodel.transfers import ROLES

PP = ROLES.index("pp")
DP = ROLES.index("dp")


@dataclass(frozen=True, slots=True)
class Sends:
    """One kind of thing that endpoints send every iteration, and how long each took to send it.

    Attributes:
        role: index into ROLES.
        towards: stage of the receiver minus that of the sender.
        slot: place among the sends of that kind in an iteration (`datamodel.operations`).
        delay_ns: (endpoints, iterations) from the last event at the endpoint to the send; nan where not seen.
        start_ns: (endpoints, iterations) when it was sent.
    """

    role: int
    towards: int
    slot: int
    delay_ns: Float
    start_ns: Float


def sends(
    operations: Frame, endpoints: Int, stage: Mapping[int, int], iterations: int, sharded: bool
) -> tuple[Sends, ...]:
    """Measure the delay before everything each endpoint sends, by kind.

    The delay runs from the latest event at the endpoint (a message or collective received, an own send ended). A rank
    that computes longer sends later after it; one that waits for somebody is set going by what it waits for. Messages
    between stages count each; a gradient collective counts once, when the endpoint's first byte leaves, because later
    bytes wait for others; sharded training arrives at every gather and scatter.

    Args:
        operations: of one job.
        endpoints: (e,) address codes.
        stage: address code -> pipeline stage.
        iterations: how many complete ones there are.
        sharded: whether gradient groups gather and scatter all through the iteration.
    """
    place = {int(e): n for n, e in enumerate(endpoints)}
    own = np.array([place.get(int(e), -1) for e in operations["endpoint"]], np.int64)
    level = np.array([stage.get(int(e), 0) for e in operations["endpoint"]], np.int64)
    beyond = np.array([stage.get(int(e), 0) for e in operations["peer"]], np.int64)
    message = operations["role"] == PP
    first_only = ~message & (not sharded) & (operations["role"] == DP)
    counted = (operations["iteration"] >= 0) & (operations["iteration"] < iterations) & (own >= 0)
    counted &= ~(first_only & (operations["slot"] % FAMILY_SLOTS > 0))
    delay = _since_last_event(operations, place)
    kinds = np.stack([operations["role"], np.where(message, beyond - level, 0), operations["slot"]], axis=1)
    found = []
    for role, towards, slot in np.unique(kinds[counted], axis=0).tolist():
        rows = counted & (kinds == (role, towards, slot)).all(axis=1)
        shape = (len(endpoints), iterations)
        start, late = np.full(shape, np.nan), np.full(shape, np.nan)
        # several streams of one endpoint: the earliest is the endpoint's arrival
        order = np.flatnonzero(rows)[np.argsort(-operations["start_ns"][rows], kind="stable")]
        at = (own[order], operations["iteration"][order])
        start[at], late[at] = operations["start_ns"][order], delay[order]
        found.append(Sends(role, towards, slot, late, start))
    return tuple(found)


def _since_last_event(operations: Frame, place: Mapping[int, int]) -> Float:
    """(operations,) time from the latest event at the sender to the operation's first byte; nan before any."""
    own = np.array([place.get(int(e), -1) for e in operations["endpoint"]], np.int64)
    peer = np.array([place.get(int(e), -1) for e in operations["peer"]], np.int64)
    origin, span = _extent(operations)
    # one axis for all endpoints, each on a stretch of its own
    ended = np.concatenate(
        [own * span + operations["end_ns"] - origin, peer * span + operations["delivered_ns"] - origin]
    )
    events = np.sort(ended[np.concatenate([own, peer]) >= 0])
    start = own * span + operations["start_ns"] - origin
    at = np.searchsorted(events, start, side="right") - 1
    last = events[np.maximum(at, 0)]
    return np.where((at >= 0) & (own >= 0) & (last >= own * span), start - last, np.nan)


def _extent(operations: Frame) -> tuple[int, int]:
    """First instant of the operations, and more than they last."""
    origin = int(operations["start_ns"].min(initial=np.iinfo(np.int64).max))
    last = int(max(operations["end_ns"].max(initial=0), operations["delivered_ns"].max(initial=0)))
    return origin, last - origin + 1
