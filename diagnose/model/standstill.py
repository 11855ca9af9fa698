"""Messages of an iteration that never ended -> whose turn it was when the job stood still.

In every iteration a cell sends, and says that it is ready, behind what reached it before. Who misses something that
always reaches it before what it does next waits for the sender of that. Who misses nothing, and does not go on, is
waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from diagnose.endpoint_index import Numbering
from diagnose.measures.clear_to_send import Ready
from diagnose.options import MODEL, ModelOptions
from reconstruct.numeric.medians import group_medians
from reconstruct.numeric.row_runs import place_within, run_starts

# Two iterations lie between so many edges: what a single one sends need not recur.
FEWEST_EDGES = 3


@dataclass(frozen=True, slots=True)
class Steps:
    """What the endpoints of a job send to one another, ready messages among it.

    Attributes:
        endpoints: (e,) address codes.
        cell: (e,) number of what each computes together with: what one of them waits for, all do.
        sender, receiver: (n,) places among the endpoints.
        stream: (n,) what is sent on one connection, or said from one to another.
        start_ns, arrived_ns: (n,) when it began, and was there.
        bytes: (n,) its size.
    """

    endpoints: Int
    cell: Int
    sender: Int
    receiver: Int
    stream: Int
    start_ns: Int
    arrived_ns: Int
    bytes: Int

    @classmethod
    def of(cls, streams: Streams, ready: Ready | None, endpoints: Int, cell: Int, least_bytes: float) -> Steps:
        """All rows of data between endpoints, and all ready messages.

        What begins together on one stream is one message, however little of it came before a hang.
        """
        place, number = Numbering(endpoints), np.repeat(np.arange(len(streams.src)), np.diff(streams.offsets))
        begins = run_starts(number, streams.start_ns)
        message = np.cumsum(begins) - 1
        data = np.bincount(message, streams.bytes)[message] >= least_bytes
        number = number[data]
        arrived = np.where(streams.delivered_ns > 0, streams.delivered_ns, streams.end_ns)[data]
        parts = [
            (place.of(streams.src)[number], place.of(streams.dst)[number], number, streams.start_ns[data], arrived)
        ]
        if ready is not None:
            pair = ready.endpoint.astype(np.int64) << 32 | ready.peer
            said = len(streams.src) + np.unique(pair, return_inverse=True)[1].ravel()
            parts.append((place.of(ready.endpoint), place.of(ready.peer), said, ready.at_ns, ready.at_ns))
        sizes = np.concatenate([streams.bytes[data], np.ones(sum(len(p[0]) for p in parts[1:]), np.int64)])
        sender, receiver, stream, start, arrived = (np.concatenate(column) for column in zip(*parts, strict=True))
        known = (sender >= 0) & (receiver >= 0)
        columns = (c[known] for c in (sender, receiver, stream, start, arrived, sizes))
        return cls(endpoints, cell, *columns)


class Standing(NamedTuple):
    """Who did not go on.

    Attributes:
        endpoints: codes of those whose turn it was, or of the ends of messages that were never whole.
        sending: whether there are such messages.
        receiver: whom alone their next message was for; -1 for none. It may not have been ready.
    """

    endpoints: tuple[int, ...]
    sending: bool
    receiver: int = -1

    def involved(self, last_sent_ns: Mapping[int, int], moment_ns: float) -> set[int]:
        """Who may not have gone on: the receiver as well if it fell silent in the same moment, not if it waited.

        Endpoints behind switches that export nothing are not seen to fall silent.
        """
        ends = set(self.endpoints) & last_sent_ns.keys()
        fell_ns = [abs(last_sent_ns[e] - last_sent_ns[self.receiver]) for e in ends if self.receiver in last_sent_ns]
        return ends | {self.receiver} if fell_ns and min(fell_ns) <= moment_ns else ends


class _Due(NamedTuple):
    """(n,) steps that recur: their ends, usual times after the edge, and what came of them at last.

    Those of which only a part arrived are the last of their stream: what is followed by another was whole. What ran
    into another message has begun, since its stream lacks no bytes. Records that are lost leave gaps: `gaps` is the
    most steps that any iteration before lacks.
    """

    sender: Int
    receiver: Int
    start_ns: Float
    arrived_ns: Float
    begun: Bool
    whole: Bool
    parted: Bool
    gaps: int


def find_last_standing(steps: Steps, edges_ns: Int, options: ModelOptions = MODEL) -> tuple[Standing | None, int]:
    """Who did not go on, and in which iteration.

    Edges may be cut elsewhere than where iterations begin: the last one that looks whole may be the one that stopped,
    and lacks what no iteration before it lacks. Arguments as those of `find_standing`.
    """
    last = len(edges_ns)
    for count in (last - 1, last):
        if count >= FEWEST_EDGES:
            standing = find_standing(steps, edges_ns[:count], options, looks_whole=count < last)
            if standing is not None:
                return standing, count
    return None, last


def find_standing(
    steps: Steps, edges_ns: Int, options: ModelOptions = MODEL, looks_whole: bool = False
) -> Standing | None:
    """Who did not go on in the iteration after the last edge; None where that is not shown.

    Of those whose turn it was, the first that were due count: what others do in the meantime is done. Where nothing
    reaches an endpoint any more, what was to be sent to it is missing at all who send to it. When it was the turn of
    most, the job was stopped as a whole.

    Args:
        steps: what the job's endpoints sent.
        edges_ns: ends of the iterations before.
        options: of the model.
        looks_whole: whether the iteration ended like any other. Its last message may be smaller than those before it
            then, as a short sequence makes it: something must be missing.
    """
    due, cell, period_ns = _due(steps, edges_ns, options), steps.cell, float(np.median(np.diff(edges_ns)))
    missing = ~due.begun
    unfinished = missing if looks_whole else missing | due.parted
    if unfinished.sum() <= due.gaps or not due.whole.any():
        return None
    waits = ~due.whole & (cell[due.sender] != cell[due.receiver])
    first = np.full(int(cell.max()) + 1, np.inf)
    reached = first.copy()
    np.minimum.at(first, cell[due.sender[missing]], due.start_ns[missing])
    np.minimum.at(reached, cell[due.receiver[waits]], due.arrived_ns[waits])
    turn = first < reached
    if turn.sum() > max(options.turn_most * len(first), 1):
        return None
    own = np.full(len(cell), np.inf)
    np.minimum.at(own, due.sender[missing], due.start_ns[missing])
    missing &= turn[cell[due.sender]] & (due.start_ns == own[due.sender])
    least = due.start_ns[missing | due.parted].min(initial=np.inf) + options.due_together_ratio * period_ns
    held_up = _held_up(due, missing, cell, options.due_together_ratio * period_ns)
    for never, sending in ((due.parted, True), (held_up, True), (missing, False)):
        at_first = never & (due.start_ns <= least)
        senders = np.unique(due.sender[at_first])
        shared = _common_ends(due, at_first) if sending or len(senders) > 1 else senders
        who = shared if sending or len(shared) else senders
        if len(who):
            to = np.unique(due.receiver[at_first])
            alone = int(steps.endpoints[to[0]]) if len(senders) == len(to) == 1 and not sending else -1
            return Standing(tuple(steps.endpoints[who].tolist()), sending, alone)
    return None


def _held_up(due: _Due, never: Bool, cell: Int, moment_ns: float) -> Bool:
    """(n,) of steps that never came, those whose like others of the same cell did send to the same cell.

    The cell had computed then: these are held up on their way, and so is what it sends next.
    """
    between = cell[due.sender].astype(np.int64) << 32 | cell[due.receiver]
    rows, begun = np.flatnonzero(never), np.flatnonzero(due.begun)
    begun = begun[np.argsort(between[begun], kind="stable")]
    first, end = (np.searchsorted(between[begun], between[rows], side).tolist() for side in ("left", "right"))
    held = np.zeros(len(never), np.bool_)
    for n, row in enumerate(rows.tolist()):
        like = begun[first[n] : end[n]]
        together = np.abs(due.start_ns[like] - due.start_ns[row]) <= moment_ns
        held[row] = bool((together & (due.sender[like] != due.sender[row])).any())
    return held


def _common_ends(due: _Due, rows: Bool) -> Int:
    """Places of the endpoints, ascending, that all of some steps have in common."""
    ends = np.stack([due.sender[rows], due.receiver[rows]])
    shared = [end for end in np.unique(ends[:, :1]).tolist() if (ends == end).any(axis=0).all()]
    return np.array(shared, np.int64)


def _due(steps: Steps, edges_ns: Int, options: ModelOptions) -> _Due:
    """Number the steps of each stream within iterations, and compare the last one with those before."""
    iteration = np.searchsorted(edges_ns, steps.start_ns)
    order = np.lexsort((steps.start_ns, iteration, steps.stream))
    stream, iteration = steps.stream[order], iteration[order]
    ordinal = place_within(stream, iteration)
    name = stream * (int(ordinal.max(initial=0)) + 1) + ordinal
    usual, last = (iteration > 0) & (iteration < len(edges_ns)), iteration == len(edges_ns)
    names, place, often = np.unique(name[usual], return_inverse=True, return_counts=True)
    rows = order[usual]
    begin = edges_ns[iteration[usual] - 1]
    start, arrived = (
        group_medians((at[rows] - begin).astype(np.float64), place, len(names))
        for at in (steps.start_ns, steps.arrived_ns)
    )
    least = np.full(len(names), np.inf)
    np.minimum.at(least, place, steps.bytes[rows])
    one = rows[np.unique(place, return_index=True)[1]]
    at = np.minimum(np.searchsorted(names, name[last]), max(len(names) - 1, 0))
    known = names[at] == name[last]
    moved = np.bincount(at[known], steps.bytes[order[last]][known], len(names))
    ends = np.diff(stream, append=-1)[last] != 0
    final = np.bincount(at[known], ends[known], len(names)) > 0
    whole = moved >= options.whole_ratio * least
    recurs = often >= options.recurs_ratio * (len(edges_ns) - 1)
    usual_bytes = np.bincount(steps.stream[one], np.where(recurs, least, 0.0), int(stream.max(initial=0)) + 1)
    short = (usual_bytes - np.bincount(stream[last], steps.bytes[order[last]], len(usual_bytes)))[steps.stream[one]]
    there = np.bincount(iteration[usual][recurs[place]], minlength=len(edges_ns))[1:]
    columns: Sequence[Int | Float | Bool] = (
        steps.sender[one],
        steps.receiver[one],
        start,
        arrived,
        (moved > 0) | (short < (1 - options.whole_ratio) * least),
        whole,
        final & (moved > 0) & ~whole,
    )
    sender, receiver, start, arrived, begun, complete, parted = (column[recurs] for column in columns)
    gaps = int(recurs.sum() - there.min(initial=recurs.sum()))
    return _Due(sender, receiver, start, arrived, begun, complete, parted, gaps)
