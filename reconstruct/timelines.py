"""Operations -> timelines: compute, messages, collectives, waiting and idle time of every endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.streams import Int
from datamodel.timeline import SPAN_NAMES, SPANS
from datamodel.transfers import ROLES

COMPUTE, SEND, RECEIVE, WAIT, IDLE = (SPAN_NAMES.index(s) for s in ("compute", "pp_send", "pp_recv", "wait", "idle"))
COLLECTIVE = {ROLES.index(k): SPAN_NAMES.index(f"{k}_comm") for k in ("dp", "ep", "cp")}
PP = ROLES.index("pp")


def spans(operations: Frame, edges_ns: Int, endpoints: Int, job: int, group_offset: Mapping[int, int]) -> Frame:
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
        endpoints: (e,) address codes.
        job: the job's number among the timelines' jobs.
        group_offset: role -> number of its first group among the timelines' groups.
    """
    rows = operations.take((operations["iteration"] >= 0) & (operations["iteration"] < len(edges_ns)))
    busy = concat(SPANS, [_messages(rows, job, group_offset), _collectives(rows, job, group_offset)])
    busy = busy.sort("endpoint", "start_ns", "end_ns", "span", "peer")
    return concat(SPANS, [busy, _between(busy, edges_ns, endpoints, job)]).sort(
        "endpoint", "start_ns", "end_ns", "span", "peer"
    )


def _messages(rows: Frame, job: int, group_offset: Mapping[int, int]) -> Frame:
    messages = rows.take(rows["role"] == PP)
    parts = []
    for own, peer, span, end in (("endpoint", "peer", SEND, "end_ns"), ("peer", "endpoint", RECEIVE, "delivered_ns")):
        parts.append(
            Frame(
                SPANS,
                {
                    "job": np.full(len(messages), job),
                    "endpoint": messages[own],
                    "iteration": messages["iteration"],
                    "span": np.full(len(messages), span),
                    "start_ns": messages["start_ns"],
                    "end_ns": np.maximum(messages[end], messages["start_ns"]),
                    "peer": messages[peer],
                    "bytes": messages["bytes"],
                    "group": _group(messages, group_offset),
                },
            )
        )
    return concat(SPANS, parts)


def _group(rows: Frame, group_offset: Mapping[int, int]) -> Int:
    offset = np.array([group_offset.get(int(r), 0) for r in range(len(ROLES))], np.int64)
    return np.where(rows["group"] >= 0, rows["group"] + offset[rows["role"]], -1)


def _collectives(rows: Frame, job: int, group_offset: Mapping[int, int]) -> Frame:
    """One endpoint's share of each collective: waiting for the last member, then moving bytes."""
    own = rows.take(np.isin(rows["role"], list(COLLECTIVE)))
    if not len(own):
        return Frame(SPANS, {c.name: np.zeros(0, c.dtype) for c in SPANS})
    names = np.stack([own[c] for c in ("role", "group", "iteration", "slot")], axis=1).astype(np.int64)
    _, which = np.unique(names, axis=0, return_inverse=True)
    which = which.ravel()
    share, member = np.unique(np.stack([which, own["endpoint"]], axis=1), axis=0, return_inverse=True)
    member = member.ravel()
    start, end, volume = (
        _least(own["start_ns"], member),
        _most(own["end_ns"], member),
        np.bincount(member, own["bytes"]),
    )
    first = np.zeros(len(share), np.int64)
    first[member[::-1]] = np.arange(len(member))[::-1]
    last_start = _most(start, share[:, 0])
    latest = np.zeros(int(share[:, 0].max()) + 1, np.int64)
    latest[share[:, 0]] = 0
    order = np.argsort(start, kind="stable")
    latest[share[order, 0]] = share[order, 1]
    begin = np.minimum(last_start[share[:, 0]], end)
    base = own.take(first)
    common = {
        "job": np.full(len(share), job),
        "endpoint": share[:, 1],
        "iteration": base["iteration"],
        "group": _group(base, group_offset),
    }
    kind = np.array([COLLECTIVE[int(r)] for r in base["role"]], np.int64)
    moving = Frame(
        SPANS,
        common
        | {
            "span": kind,
            "start_ns": begin,
            "end_ns": end,
            "peer": np.full(len(share), -1),
            "bytes": volume.astype(np.int64),
        },
    )
    waiting = Frame(
        SPANS,
        common
        | {
            "span": np.full(len(share), WAIT),
            "start_ns": start,
            "end_ns": begin,
            "peer": latest[share[:, 0]],
            "bytes": np.zeros(len(share), np.int64),
        },
    )
    return concat(SPANS, [moving, waiting.take(begin > start)])


def _least(values: Int, group: Int) -> Int:
    out = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(out, group, values)
    return out


def _most(values: Int, group: Int) -> Int:
    out = np.zeros(int(group.max()) + 1, np.int64)
    np.maximum.at(out, group, values)
    return out


def _between(busy: Frame, edges_ns: Int, endpoints: Int, job: int) -> Frame:
    """What fills the gaps between an endpoint's operations, cut at the edges of the iterations."""
    low = np.searchsorted(busy["endpoint"], endpoints, side="left")
    high = np.searchsorted(busy["endpoint"], endpoints, side="right")
    bounds = zip(endpoints.tolist(), low.tolist(), high.tolist(), strict=True)
    return concat(SPANS, [_gaps(busy.take(np.arange(a, b)), edges_ns, e, job) for e, a, b in bounds])


def _gaps(own: Frame, edges_ns: Int, endpoint: int, job: int) -> Frame:
    if not len(own):
        return own
    cuts = edges_ns[(edges_ns > own["start_ns"][0])]
    marks = Frame(SPANS, {c.name: np.full(len(cuts), -1) for c in SPANS if c.name != "bytes"} | {"bytes": 0 * cuts})
    marks = marks.replace(start_ns=cuts, end_ns=cuts, span=np.full(len(cuts), IDLE))
    rows = concat(SPANS, [own, marks]).sort("start_ns", "end_ns")
    reach = np.maximum.accumulate(rows["end_ns"])[:-1]
    following = rows.take(np.arange(1, len(rows)))
    gap = following["start_ns"] > reach
    kind = np.select(
        [following["span"] == IDLE, following["span"] == RECEIVE],
        [np.full(len(gap), IDLE), np.full(len(gap), WAIT)],
        COMPUTE,
    )
    number = np.searchsorted(edges_ns, following["start_ns"])
    inside = gap & (number < len(edges_ns))
    return Frame(
        SPANS,
        {
            "job": np.full(int(inside.sum()), job),
            "endpoint": np.full(int(inside.sum()), endpoint),
            "iteration": number[inside],
            "span": kind[inside],
            "start_ns": reach[inside],
            "end_ns": following["start_ns"][inside],
            "peer": np.where(kind == WAIT, following["peer"], -1)[inside],
            "bytes": np.zeros(int(inside.sum()), np.int64),
            "group": np.full(int(inside.sum()), -1),
        },
    )


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
