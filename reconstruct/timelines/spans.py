"""Operations -> timelines: compute, messages, collectives, waiting and idle time of every endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from datamodel.frame import Frame, concat, constant, empty
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS
from datamodel.reconstructed.transfers import ROLES
from reconstruct.numeric.row_runs import run_starts

COMPUTE, SEND, RECEIVE, WAIT, IDLE = (SPAN_NAMES.index(s) for s in ("compute", "pp_send", "pp_recv", "wait", "idle"))
COLLECTIVE = {ROLES.index(k): SPAN_NAMES.index(f"{k}_comm") for k in ("dp", "ep", "cp")}
PP = ROLES.index("pp")
ONE_COLLECTIVE = ("role", "group", "iteration", "slot")


def spans(operations: Frame, edges_ns: Int, job: int, group_offset: Mapping[int, int]) -> Frame:
    """Spans of one job, by endpoint and start.

    1. A message is a send at one end and a receive at the other, until delivered.
    2. In a collective `transfer = end - max(start over the group)`: before the last member starts, the others wait for
       it.
    3. Between these an endpoint computes if what follows is its own send, and waits if it is a receive; after its last
       operation of an iteration it is idle until everybody's iteration ends. What the network cannot see (the optimizer
       step, compute beside communication) is in there.

    Args:
        operations: of one job.
        edges_ns: (iterations,) end of each complete iteration.
        job: the job's number among the timelines' jobs.
        group_offset: role -> number of its first group among the timelines' groups.
    """
    rows = operations.take((operations["iteration"] >= 0) & (operations["iteration"] < len(edges_ns)))
    busy = concat(SPANS, [_messages(rows, job, group_offset), _collectives(rows, job, group_offset)])
    busy = busy.sort("endpoint", "start_ns", "end_ns", "span", "peer")
    return concat(SPANS, [busy, _between(busy, edges_ns, job)]).sort("endpoint", "start_ns", "end_ns", "span", "peer")


def _messages(rows: Frame, job: int, group_offset: Mapping[int, int]) -> Frame:
    messages = rows.take(rows["role"] == PP)
    group = _group(messages, group_offset)
    ends = (("endpoint", "peer", SEND, "end_ns"), ("peer", "endpoint", RECEIVE, "delivered_ns"))
    return concat(
        SPANS,
        [
            _frame(
                job,
                span,
                endpoint=messages[own],
                iteration=messages["iteration"],
                start_ns=messages["start_ns"],
                end_ns=np.maximum(messages[end], messages["start_ns"]),
                peer=messages[peer],
                bytes=messages["bytes"],
                group=group,
            )
            for own, peer, span, end in ends
        ],
    )


def _frame(job: int, span: npt.ArrayLike, **columns: Int) -> Frame:
    """Spans of one job, of one kind or each of its own."""
    rows = len(columns["endpoint"])
    kind = np.broadcast_to(span, rows)
    return Frame(SPANS, {"job": constant(job, "i4", rows), "span": kind, **columns})


def _group(rows: Frame, group_offset: Mapping[int, int]) -> Int:
    offset = np.array([group_offset.get(int(r), 0) for r in range(len(ROLES))], np.int64)
    return np.where(rows["group"] >= 0, rows["group"] + offset[rows["role"]], -1)


def _collectives(rows: Frame, job: int, group_offset: Mapping[int, int]) -> Frame:
    """One endpoint's share of each collective: waiting for the last member, then moving bytes."""
    own = rows.take(np.isin(rows["role"], list(COLLECTIVE))).sort(*ONE_COLLECTIVE, "endpoint")
    if not len(own):
        return empty(SPANS)
    first = _first_of_each(own, *ONE_COLLECTIVE, "endpoint")
    share = own.take(first)
    start_ns = np.minimum.reduceat(own["start_ns"], first)
    end_ns = np.maximum.reduceat(own["end_ns"], first)
    begin_ns, last = _begin(share, start_ns)
    begin_ns = np.minimum(begin_ns, end_ns)
    kind = np.array([COLLECTIVE[r] for r in share["role"].tolist()], np.int64)
    common = {"endpoint": share["endpoint"], "iteration": share["iteration"], "group": _group(share, group_offset)}
    volume = np.add.reduceat(own["bytes"], first)
    moving = _frame(job, kind, start_ns=begin_ns, end_ns=end_ns, bytes=volume, **common)
    waiting = _frame(job, WAIT, start_ns=start_ns, end_ns=begin_ns, peer=last, **common)
    return concat(SPANS, [moving, waiting.take(begin_ns > start_ns)])


def _begin(share: Frame, start_ns: Int) -> tuple[Int, Int]:
    """When the last member of each share's collective started, and which one that was."""
    first = _first_of_each(share, *ONE_COLLECTIVE)
    members = np.diff(first, append=len(share))
    which = np.repeat(np.arange(len(first)), members)
    last = np.lexsort([start_ns, which])[first + members - 1]
    return np.repeat(start_ns[last], members), np.repeat(share["endpoint"][last], members)


def _first_of_each(rows: Frame, *keys: str) -> Int:
    """The first of each run of rows that agree in these columns."""
    return np.flatnonzero(run_starts(*(rows[key] for key in keys)))


def _between(busy: Frame, edges_ns: Int, job: int) -> Frame:
    """What fills the gaps between an endpoint's operations, cut at the edges of the iterations.

    Args:
        busy: operations by endpoint and start.
        edges_ns: (iterations,) end of each complete iteration.
        job: the job's number among the timelines' jobs.
    """
    if not len(busy):
        return busy
    rows = concat(SPANS, [busy, _edge_marks(busy, edges_ns, job)]).sort("endpoint", "start_ns", "end_ns")
    reach_ns = _reach(rows)[:-1]
    following = rows.take(np.arange(1, len(rows)))
    iteration = np.searchsorted(edges_ns, following["start_ns"])
    same = following["endpoint"] == rows["endpoint"][:-1]
    gap = same & (following["start_ns"] > reach_ns) & (iteration < len(edges_ns))
    following = following.take(gap)
    kind = np.select([following["span"] == IDLE, following["span"] == RECEIVE], [IDLE, WAIT], COMPUTE)
    return _frame(
        job,
        kind,
        endpoint=following["endpoint"],
        iteration=iteration[gap],
        start_ns=reach_ns[gap],
        end_ns=following["start_ns"],
        peer=np.where(kind == WAIT, following["peer"], -1),
    )


def _edge_marks(busy: Frame, edges_ns: Int, job: int) -> Frame:
    """An empty idle span of each endpoint at each edge behind its first operation."""
    own = busy.take(_first_of_each(busy, "endpoint"))
    endpoint, edge = np.nonzero(edges_ns > own["start_ns"][:, None])
    at_ns, nowhere = edges_ns[edge], np.full(len(edge), -1)
    return _frame(job, IDLE, endpoint=own["endpoint"][endpoint], iteration=nowhere, start_ns=at_ns, end_ns=at_ns)


def _reach(rows: Frame) -> Int:
    """(rows,) until when each endpoint was busy, with a row and all that come before it."""
    ends_ns = rows["end_ns"] - rows["end_ns"].min()
    number = np.cumsum(np.diff(rows["endpoint"], prepend=rows["endpoint"][:1]) != 0)
    apart_ns = number * (ends_ns.max() + 1)  # so that an endpoint's times lie behind all times of those before it
    return np.asarray(np.maximum.accumulate(ends_ns + apart_ns) - apart_ns + rows["end_ns"].min())


def group_names(
    groups: Mapping[str, Sequence[tuple[int, ...]]], addresses: Sequence[str]
) -> tuple[list[str], dict[int, int]]:
    """Names of all process groups ("dp 10.1.1.1,10.1.2.1"), and each role's first number among them."""
    names: list[str] = []
    offset: dict[int, int] = {}
    for kind in ("dp", "pp", "ep", "cp"):
        offset[ROLES.index(kind)] = len(names)
        names += [f"{kind} {','.join(addresses[e] for e in members)}" for members in groups.get(kind, ())]
    return names, offset
