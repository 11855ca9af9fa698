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
    between, before = _between(busy, edges_ns, job)
    return concat(SPANS, [busy, between]).take(_inserted(len(busy), before))


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


def _between(busy: Frame, edges_ns: Int, job: int) -> tuple[Frame, Int]:
    """What fills the gaps between an endpoint's operations, cut at the edges of the iterations.

    Args:
        busy: operations by endpoint and start.
        edges_ns: (iterations,) end of each complete iteration.
        job: the job's number among the timelines' jobs.

    Returns:
        The spans in order, and before how many of the operations each stands: it begins when all operations before it
        have ended, and ends when the next one begins.
    """
    if not len(busy):
        return busy, np.zeros(0, np.int64)
    marks, before = _edge_marks(busy, edges_ns, job)
    order = _inserted(len(busy), before)
    endpoint, start_ns, end_ns = (
        np.concatenate([busy[name], marks[name]])[order] for name in ("endpoint", "start_ns", "end_ns")
    )
    reach_ns = _reach(endpoint, end_ns)
    gap = np.flatnonzero((endpoint[1:] == endpoint[:-1]) & (start_ns[1:] > reach_ns[:-1]))
    gap = gap[start_ns[gap + 1] <= edges_ns[-1]] if len(edges_ns) else gap[:0]
    following = order[gap + 1]
    operations = following < len(busy)
    span, peer = np.full(len(gap), IDLE), np.full(len(gap), -1)
    span[operations] = busy["span"][following[operations]]
    peer[operations] = busy["peer"][following[operations]]
    kind = np.select([span == IDLE, span == RECEIVE], [IDLE, WAIT], COMPUTE)
    found = _frame(
        job,
        kind,
        endpoint=endpoint[gap],
        iteration=np.searchsorted(edges_ns, start_ns[gap + 1]),
        start_ns=reach_ns[gap],
        end_ns=start_ns[gap + 1],
        peer=np.where(kind == WAIT, peer, -1),
    )
    return found, np.asarray(np.cumsum(order < len(busy))[gap], np.int64)


def _inserted(rows: int, before: Int) -> Int:
    """The order in which further rows stand among some, each before so many of them; ascending."""
    return np.insert(np.arange(rows), before, rows + np.arange(len(before)))


def _edge_marks(busy: Frame, edges_ns: Int, job: int) -> tuple[Frame, Int]:
    """An empty idle span of each endpoint at each edge behind its first operation.

    Returns:
        The spans by endpoint and edge, and (n,) how many operations stand before each: those that have begun, other
        empty ones of the same time among them.
    """
    first = _first_of_each(busy, "endpoint")
    own = busy.take(first)
    endpoint, edge = np.nonzero(edges_ns > own["start_ns"][:, None])
    at_ns, nowhere = edges_ns[edge], np.full(len(edge), -1)
    marks = _frame(job, IDLE, endpoint=own["endpoint"][endpoint], iteration=nowhere, start_ns=at_ns, end_ns=at_ns)
    if not len(marks):
        return marks, np.zeros(0, np.int64)
    least_ns = int(busy["start_ns"].min())
    most_ns = max(int(busy["start_ns"].max()), int(at_ns.max()))
    number = np.repeat(np.arange(len(first)), np.diff(first, append=len(busy)))
    apart_ns = most_ns - least_ns + 1  # so that an endpoint's times lie behind all times of those before it
    begun = number * apart_ns + busy["start_ns"] - least_ns
    marked = endpoint * apart_ns + at_ns - least_ns
    empty = begun[busy["end_ns"] == busy["start_ns"]]
    beside = np.searchsorted(empty, marked, side="right") - np.searchsorted(empty, marked)
    return marks, np.asarray(np.searchsorted(begun, marked) + beside, np.int64)


def _reach(endpoint: Int, end_ns: Int) -> Int:
    """(rows,) until when each endpoint was busy, with a row and all that come before it."""
    ends_ns = end_ns - end_ns.min()
    number = np.cumsum(np.diff(endpoint, prepend=endpoint[:1]) != 0)
    apart_ns = number * (ends_ns.max() + 1)  # so that an endpoint's times lie behind all times of those before it
    return np.asarray(np.maximum.accumulate(ends_ns + apart_ns) - apart_ns + end_ns.min())


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
