"""Rows and ready messages -> own time: how long it was each cell's turn, in each iteration.

A cell is what computes together: the endpoints of a tensor group inside one host, or an endpoint alone. Its time is its
own from the last thing that reached it (a message, the end of one it sent, the receiver it waited for) to what it does
next: it says that it is ready for a message, or begins to send one that waits for nobody. Who only waits for others has
no more of it than ever, whatever the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from diagnose.endpoint_index import Numbering, group_numbers
from diagnose.measures.clear_to_send import Ready
from diagnose.options import ModelOptions


@dataclass(frozen=True, slots=True)
class OwnTime:
    """Own time of the cells of a job.

    Attributes:
        cell: (e,) number of each endpoint's cell.
        own_ns: (cells, iterations) sum over what each does in an iteration; nan where it does nothing.
    """

    cell: Int
    own_ns: Float

    def between(self, first: int, end: int) -> OwnTime:
        """That of the iterations [first, end)."""
        return OwnTime(self.cell, self.own_ns[:, first:end])


@dataclass(frozen=True, slots=True)
class _Timeline:
    """What happens at each cell: (n,) its number, when, and whether the cell does it itself."""

    cell: Int
    at_ns: Int
    acts: Bool


def cells(endpoints: Int, tensor_groups: Sequence[tuple[int, ...]]) -> Int:
    """(e,) number of each endpoint's cell."""
    group = group_numbers(endpoints, tensor_groups)
    alone = group < 0
    named = np.where(alone, group.max(initial=-1) + np.cumsum(alone), group)
    return np.unique(named, return_inverse=True)[1].ravel().astype(np.int64)


def own_time(
    streams: Streams, least_bytes: float, ready: Ready, endpoints: Int, cell: Int, edges_ns: Int, options: ModelOptions
) -> OwnTime | None:
    """Measure it; None where ready messages do not tell who waits: next to none releases a send, or every one does.

    A library that posts its buffers before the GPU has computed is such a case; so is one that announces each message.
    The end of an iteration is an event for all: gradient norm and optimizer are barriers that leave few bytes.

    Args:
        streams: the job's data rows.
        least_bytes: rows of fewer are no data.
        ready: the job's ready-to-receive messages.
        endpoints: (e,) address codes, ascending.
        cell: (e,) number of each one's cell.
        edges_ns: (iterations,) end of each complete iteration.
        options: of the model.
    """
    place, data = Numbering(endpoints), streams.bytes >= least_bytes
    src, dst = (place.of(np.repeat(side, np.diff(streams.offsets))[data]) for side in (streams.src, streams.dst))
    if not data.any():
        return None
    start, end = streams.start_ns[data], streams.end_ns[data]
    seen = streams.delivered_ns[data]
    arrived = np.where(seen > 0, seen, end)
    waits, followed = _gated(src, dst, start, (place.of(ready.endpoint), place.of(ready.peer), ready.at_ns), options)
    if not options.gated_least <= followed <= options.gated_most:
        return None
    everyone = np.arange(int(cell.max(initial=-1)) + 1)
    early = options.event_early_ns
    told = (
        _Timeline(cell[place.of(ready.endpoint)], ready.at_ns, np.ones(len(ready.at_ns), np.bool_)),
        _Timeline(cell[src], start, ~waits),
        _Timeline(cell[src], end - early, np.zeros(len(src), np.bool_)),
        _Timeline(cell[dst], arrived - early, np.zeros(len(src), np.bool_)),
        _Timeline(
            np.repeat(everyone, len(edges_ns)),
            np.tile(edges_ns, len(everyone)),
            np.zeros(len(everyone) * len(edges_ns), np.bool_),
        ),
    )
    return OwnTime(cell, _summed(told, len(everyone), edges_ns))


def _gated(src: Int, dst: Int, start_ns: Int, ready: tuple[Int, Int, Int], options: ModelOptions) -> tuple[Bool, float]:
    """(rows,) sends that had waited for their receiver: it said just before that it is ready; and how many it releases.

    The second is the share of ready messages that a send follows at once.
    """
    who, whom, said_ns = ready
    count = int(max(src.max(initial=0), dst.max(initial=0), who.max(initial=0), whom.max(initial=0))) + 1
    origin = int(min(said_ns.min(), start_ns.min(initial=said_ns.min())))
    span = int(max(said_ns.max(), start_ns.max(initial=0))) - origin + 1
    said = np.sort((whom * count + who) * span + said_ns - origin)
    sent = (src * count + dst) * span + start_ns - origin
    last = np.searchsorted(said, sent, side="right") - 1
    waits = (last >= 0) & (sent - said[np.maximum(last, 0)] < options.released_ns)
    following = np.sort(sent)
    after = np.minimum(np.searchsorted(following, said), len(following) - 1)
    release = (following[after] >= said) & (following[after] - said < options.released_ns)
    return waits, float(release.mean())


def _summed(told: Sequence[_Timeline], count: int, edges_ns: Int) -> Float:
    """(cells, iterations) time from whatever was last at a cell to what it does, summed over the iteration."""
    cell, at, acts = (np.concatenate([getattr(t, name) for t in told]) for name in ("cell", "at_ns", "acts"))
    origin = int(at.min())
    span = int(at.max()) - origin + 1
    order = np.argsort((cell * span + at - origin) * 2 + acts, kind="stable")  # events before what follows at once
    cell, at, acts = cell[order], at[order], acts[order]
    since = np.diff(at, prepend=at[:1])
    iteration = np.searchsorted(edges_ns, at)
    counts = acts & (np.diff(cell, prepend=-1) == 0) & (iteration < len(edges_ns))
    number = cell[counts] * len(edges_ns) + iteration[counts]
    size = count * len(edges_ns)
    total, times = np.bincount(number, since[counts], size), np.bincount(number, minlength=size)
    return np.where(times > 0, total, np.nan).reshape(count, len(edges_ns))
