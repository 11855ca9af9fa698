"""The changes of a job's members that its streams show, with the state that was copied during each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Int, Streams
from reconstruct.membership.connection_lives import stream_lives
from reconstruct.membership.member_changes import MemberChange, find_changes, sent_once_bytes
from strategy.placement import Seat

# Streams that live for all but so many iterations were not replaced; most jobs have no others.
WHOLE_ITERATIONS = 2.0


class CopiedChange(NamedTuple):
    """A change, and bytes of state that were sent once during it."""

    change: MemberChange
    state_bytes: int


def job_changes(
    own: Streams, edges_ns: Int, other: Sequence[Streams], members: Int, seats: Mapping[int, Seat]
) -> tuple[CopiedChange, ...]:
    """The changes of one job.

    Args:
        own: its streams of training traffic.
        edges_ns: (iterations,) end of each iteration.
        other: other streams to and from its endpoints.
        members: (e,) its endpoints.
        seats: where endpoints sit; may be empty.
    """
    if len(edges_ns) < 2 or not len(own):
        return ()
    slack_ns = round(WHOLE_ITERATIONS * float(np.median(np.diff(edges_ns))))
    if not _replaced(own, slack_ns):
        return ()
    changes = find_changes(stream_lives(own), slack_ns, lambda endpoint: seat_of(seats, endpoint))
    others = [stream_lives(some.take(np.flatnonzero(np.isin(some.dst, members)))) for some in other if changes]
    return tuple(CopiedChange(change, sum(sent_once_bytes(some, change) for some in others)) for change in changes)


def _replaced(own: Streams, slack_ns: int) -> bool:
    """Whether some streams end before the others do, and some begin after; without a look at each of their rows."""
    begin, end = own.start_ns[own.offsets[:-1]], own.end_ns[own.offsets[1:] - 1]
    return bool((begin > begin.min() + slack_ns).any() and (end < end.max() - slack_ns).any())


def seat_of(seats: Mapping[int, Seat], endpoint: int) -> tuple[int, ...]:
    """Where an endpoint sits, for who took whose place; the same for all that are not known."""
    seat = seats.get(endpoint)
    return (-1,) if seat is None or seat.rail is None else (seat.rail,)
