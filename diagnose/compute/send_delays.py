"""Operations -> delays: how long each endpoint took from the last thing that reached it to what it then sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.operations import FAMILY_SLOTS
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.endpoint_index import Numbering
from reconstruct.clocks.time_bounds import TimeBounds

PP = ROLES.index("pp")
DP = ROLES.index("dp")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What sends may be, where a feed dates packets between two moments; (endpoints, iterations) each.

    Attributes:
        earliest_ns, latest_ns: between which two each was sent.
        least_ns, most_ns: between which two its delay is.
    """

    earliest_ns: Float
    latest_ns: Float
    least_ns: Float
    most_ns: Float


@dataclass(frozen=True, slots=True)
class SendDelays:
    """One kind of thing that endpoints send every iteration, and how long each took to send it.

    Attributes:
        role: index into ROLES.
        towards: stage of the receiver minus that of the sender.
        slot: place among the sends of that kind in an iteration (`datamodel.reconstructed.operations`).
        delay_ns: (endpoints, iterations) from the last event at the endpoint to the send; nan where not seen.
        start_ns: (endpoints, iterations) when it was sent.
        bounds: between what these lie; None where they are known.
    """

    role: int
    towards: int
    slot: int
    delay_ns: Float
    start_ns: Float
    bounds: Bounds | None = None

    @property
    def within(self) -> Bounds:
        """Between what it lies, as far as dates tell."""
        known = Bounds(self.start_ns, self.start_ns, self.delay_ns, self.delay_ns)
        return known if self.bounds is None else self.bounds


def add_time_bounds(kinds: tuple[SendDelays, ...], endpoints: Int, dates: TimeBounds | None) -> tuple[SendDelays, ...]:
    """Sends with the bounds that the dates of their packets leave, of endpoints as address codes."""
    if dates is None:
        return kinds

    def bounded(kind: SendDelays, dates: TimeBounds) -> SendDelays:
        own = np.repeat(endpoints, kind.start_ns.shape[1])
        starts = dates.bounds(own, kind.start_ns.ravel())
        events = dates.bounds(own, (kind.start_ns - kind.delay_ns).ravel())
        found = (*starts, np.maximum(starts[0] - events[1], 0), np.maximum(starts[1] - events[0], 0))
        return replace(kind, bounds=Bounds(*(f.reshape(kind.start_ns.shape) for f in found)))

    return tuple(bounded(kind, dates) for kind in kinds)


def sends(
    operations: Frame, endpoints: Int, stage: Mapping[int, int], edges_ns: Int, sharded: bool
) -> tuple[SendDelays, ...]:
    """Measure the delay before everything each endpoint sends, by kind.

    The delay runs from the latest event at the endpoint (a message or collective received, an own send ended, the end
    of an iteration). A rank that computes longer sends later after it; one that waits for somebody is set going by what
    it waits for. Messages between stages count each; a gradient collective counts once, when the endpoint's first byte
    leaves, because later bytes wait for others; sharded training arrives at every gather and scatter. Nobody can do so
    before all members are done with the collective before: who was done early has that much time to spare, and it does
    not count.

    Args:
        operations: of one job.
        endpoints: (e,) address codes, ascending.
        stage: address code -> pipeline stage.
        edges_ns: (iterations,) end of each complete iteration.
        sharded: whether gradient groups gather and scatter all through the iteration.
    """
    place = Numbering(endpoints)
    own, peer = place.of(operations["endpoint"]), place.of(operations["peer"])
    level = np.append([stage.get(int(e), 0) for e in endpoints], 0).astype(np.int64)  # -1, nobody's, is of stage 0
    message = operations["role"] == PP
    iterations = len(edges_ns)
    counted = (operations["iteration"] >= 0) & (operations["iteration"] < iterations) & (own >= 0)
    if not sharded:
        counted &= (operations["role"] != DP) | (operations["slot"] % FAMILY_SLOTS == 0)
    delay = np.fmin(_since_last_event(operations, own, peer), _since_edge(operations, edges_ns))
    if not message.any():
        delay = np.fmin(delay, _since_all_were_done(operations))
    towards = np.where(message, level[peer] - level[own], 0)
    kind, names = _kinds(operations, towards, counted)
    start = operations["start_ns"]
    shape = (len(endpoints), iterations)
    found = []
    bounds = np.searchsorted(kind[(order := np.argsort(kind, kind="stable"))], np.arange(len(names) + 1))
    for n, name in enumerate(names):
        rows = order[bounds[n] : bounds[n + 1]]
        cell = own[rows] * iterations + operations["iteration"][rows]
        first, sent = _first_of_each(cell, start[rows], delay[rows], shape)
        found.append(SendDelays(*name, first.reshape(shape), sent.reshape(shape)))
    return tuple(found)


def assign_peer_classes(operations: Frame, endpoints: Int, stages: Int) -> Int:
    """(e,) number of each endpoint's place: its stage, and how many endpoints it sends to and receives from.

    Members of a ring, or of an exchange all to all, do the same. In a tree leaves, branches and the root send at times
    of their own, however long they compute.
    """
    place = Numbering(endpoints)
    own, peer = place.of(operations["endpoint"]), place.of(operations["peer"])
    known = (own >= 0) & (peer >= 0)
    pairs = np.unique(own[known] * len(endpoints) + peer[known])
    ways = [np.bincount(ends, minlength=len(endpoints)) for ends in divmod(pairs, max(len(endpoints), 1))]
    _, number = np.unique(np.stack([stages, *ways]), axis=1, return_inverse=True)
    return np.asarray(number.ravel(), np.int64)


def _kinds(operations: Frame, towards: Int, counted: Bool) -> tuple[Int, list[tuple[int, int, int]]]:
    """(operations,) number of each one's kind (those that do not count: the last number), and the kinds in order."""
    role, slot = operations["role"].astype(np.int64), operations["slot"].astype(np.int64)
    low, high = int(towards.min(initial=0)), int(towards.max(initial=0))
    slots = int(slot.max(initial=0)) + 1
    packed = (role * (high - low + 1) + towards - low) * slots + slot
    size = len(ROLES) * (high - low + 1) * slots
    there = np.flatnonzero(np.bincount(packed[counted], minlength=size))
    number = np.full(size, len(there))
    number[there] = np.arange(len(there))
    names = [(p // slots // (high - low + 1), p // slots % (high - low + 1) + low, p % slots) for p in there.tolist()]
    return np.where(counted, number[packed], len(there)).astype(np.int32), names


def _first_of_each(cell: Int, start_ns: Int, delay_ns: Float, shape: tuple[int, int]) -> tuple[Float, Float]:
    """Delay and start of each cell's earliest operation: of several streams of an endpoint, that is its arrival."""
    latest = np.iinfo(np.int64).max
    first = np.full(shape[0] * shape[1], latest)
    np.minimum.at(first, cell, start_ns)
    delay = np.full(len(first), np.nan)
    earliest = start_ns == first[cell]
    delay[cell[earliest]] = delay_ns[earliest]
    return delay, np.where(first < latest, first, np.nan)


def _since_last_event(operations: Frame, own: Int, peer: Int) -> Float:
    """(operations,) time from the latest event at the sender to the operation's first byte; nan before any."""
    origin, span = _extent(operations)
    # one axis for all endpoints, each on a stretch of its own
    base = own * span - origin
    received = peer * span + operations["delivered_ns"] - origin
    events = np.sort(np.concatenate([(base + operations["end_ns"])[own >= 0], received[peer >= 0]]))
    start = base + operations["start_ns"]
    at = np.searchsorted(events, start, side="right") - 1
    if not len(events):
        return np.full(len(start), np.nan)
    last = events[np.maximum(at, 0)]
    return np.where((at >= 0) & (own >= 0) & (last >= own * span), start - last, np.nan)


def _since_edge(operations: Frame, edges_ns: Int) -> Float:
    """(operations,) time since the previous iteration ended, for which all ranks wait; nan where it is not known."""
    number = operations["iteration"].astype(np.int64)
    known = (number > 0) & (number <= len(edges_ns))
    since = np.where(known, operations["start_ns"] - edges_ns[np.where(known, number - 1, 0)], -1)
    return np.where(since >= 0, since, np.nan)


def _since_all_were_done(operations: Frame) -> Float:
    """(operations,) time from when the last member of the group was done with what its stream carried before.

    nan where that is not known, or was not yet so.
    """
    done = np.maximum(operations["end_ns"], operations["delivered_ns"])
    again = np.flatnonzero((np.diff(operations["stream"], prepend=-1) == 0) & (operations["group"] >= 0))
    name = np.zeros(len(again), np.int64)
    for column in ("role", "group", "iteration", "slot"):
        values = operations[column][again].astype(np.int64)
        name = name * (int(values.max(initial=0)) + 2) + values + 1
    names, collective = np.unique(name, return_inverse=True)
    last = np.zeros(len(names), np.int64)
    np.maximum.at(last, collective, done[again - 1])
    found = np.full(len(done), np.nan)
    found[again] = operations["start_ns"][again] - last[collective]
    return np.where(found >= 0, found, np.nan)


def _extent(operations: Frame) -> tuple[int, int]:
    """First instant of the operations, and more than they last."""
    origin = int(operations["start_ns"].min(initial=np.iinfo(np.int64).max))
    last = int(max(operations["end_ns"].max(initial=0), operations["delivered_ns"].max(initial=0)))
    return origin, last - origin + 1
