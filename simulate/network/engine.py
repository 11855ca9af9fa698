"""Runs an operation graph on shared resources: when each operation began and ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capture.jit import jit, wide
from datamodel.reconstructed.streams import Float, Int
from simulate.network.graph import MARK, SETTING, TRANSFER, Codes, successors
from simulate.network.heap import ABSENT, Heap, Table, pop, push
from simulate.network.sharing import (
    COUNTERS,
    CROWDED,
    DIRTY,
    FRESH,
    HEAP,
    LIMIT,
    NEVER_NS,
    NONE,
    RESOURCE,
    SETTLED,
    STAMP,
    WIDTH,
    Counts,
    Links,
    attach,
    bound,
    detach,
    equal_share,
    fill,
    free_room,
    gather,
    is_tight,
    set_rate,
    touch,
)

MOST_AT_ONCE = 0.95  # of a message, by a token bucket
TOGETHER_NS = 0.5  # what happens within this is one moment: rounding parts what is simultaneous
WAITING, DELAYED, ACTIVE, DONE = range(4)

OP = np.dtype(
    [
        ("due_ns", "f8"),  # when it begins (DELAYED) or ends (ACTIVE)
        ("left", "f8"),  # work not done yet, as of `touched_ns`
        ("rate", "f8"),
        ("next_rate", "f8"),
        ("bound", "f8"),  # the rate it would have alone
        ("touched_ns", "f8"),
        ("earliest_ns", "f8"),  # the last of what it waited for, so far
        ("start_ns", "f8"),
        ("end_ns", "f8"),
        ("paused_ns", "f8"),  # when its rate last fell to nothing
        ("resumed_ns", "f8"),  # when it last rose again
        ("lag_ns", "f8"),
        ("delay_ns", "f8"),  # until those that wait for it know of its end
        ("pending", "i4"),  # how many it still waits for
        ("place", "i4"),  # in the heap
        ("stamp", "i4"),
        ("kind", "i1"),
        ("state", "i1"),
    ],
    align=True,
)


@dataclass(frozen=True, slots=True)
class Timing:
    """When operations ran; (n,) each, ns, nan where it did not happen.

    Attributes:
        start_ns, end_ns: begin and end.
        moved: work done by the end, or until the run stopped.
        paused_ns, resumed_ns: the last time it stood still for want of capacity.
        share: share of settlings (changes of rates) that were max-min fair; the others were approximate.
    """

    start_ns: Float
    end_ns: Float
    moved: Float
    paused_ns: Float
    resumed_ns: Float
    share: float


def run(
    kind: Codes,
    work: Float,
    lag_ns: Float,
    delay_ns: Float,
    path: Codes,
    edges: tuple[Codes, Codes],
    capacity: Float,
    earliest_ns: Float,
    until_ns: float = NEVER_NS,
    bucket_ns: float = 0.0,
) -> Timing:
    """Run all operations until none can go on or `until_ns`.

    Args:
        kind: (n,) as in `Graph`.
        work: (n,) as in `Graph`.
        lag_ns: (n,) as in `Graph`.
        delay_ns: (n,) latency from an operation's end until those that wait for it know.
        path: (n, 4) resources it uses, NONE where fewer; of a setting the first is what it sets.
        edges: (edges,) operations and those that wait for them.
        capacity: (resources,) at the beginning; bytes/ns of links, 1 of cells.
        earliest_ns: (n,) before which an operation does not begin.
        until_ns: when to stop.
        bucket_ns: so much of a transfer passes at once, in time at the rate that it would have alone.
    """
    count = len(kind)
    bounds, waiting, pending = successors(count, *edges)
    ops = np.zeros(count, OP)
    for name, values in (("left", work), ("lag_ns", lag_ns), ("delay_ns", delay_ns), ("earliest_ns", earliest_ns)):
        ops[name] = values
    ops["kind"], ops["pending"], ops["place"] = kind, pending, ABSENT
    for name in ("start_ns", "end_ns", "paused_ns", "resumed_ns"):
        ops[name] = -1.0
    resources = np.zeros(len(capacity), RESOURCE)
    resources["capacity"], resources["first"] = capacity, NONE
    counters = np.zeros(COUNTERS, np.int64)
    heap, dirty, fresh = (np.zeros(size, np.int32) for size in (count, len(capacity), count))
    members, shared = np.zeros(LIMIT, np.int32), np.zeros(len(capacity), np.int32)
    links = np.zeros((count * WIDTH, 2), np.int32)
    turn(
        ops,
        np.ascontiguousarray(path),
        links,
        resources,
        bounds,
        waiting,
        heap,
        dirty,
        fresh,
        members,
        shared,
        counters,
        float(until_ns),
        float(bucket_ns),
    )
    return _timing(ops, work, counters, until_ns)


def _timing(ops: Table, work: Float, counters: Counts, until_ns: float) -> Timing:
    times = {
        name: np.where(ops[name] < 0, np.nan, ops[name]) for name in ("start_ns", "end_ns", "paused_ns", "resumed_ns")
    }
    active = ops["state"] == ACTIVE
    stopped = until_ns if until_ns < NEVER_NS else 0.0
    gone = ops["rate"] * np.maximum(np.where(active, stopped, 0.0) - ops["touched_ns"], 0.0)
    left = np.where(active, np.maximum(ops["left"] - gone, 0.0), np.where(ops["state"] == DONE, 0.0, work))
    settled = int(counters[SETTLED])
    return Timing(**times, moved=work - left, share=1 - int(counters[CROWDED]) / max(settled, 1))


@jit
def turn(
    ops: Table,
    path: Links,
    links: Links,
    resources: Table,
    bounds: Int,
    waiting: Links,
    heap: Heap,
    dirty: Links,
    fresh: Links,
    members: Links,
    shared: Links,
    counters: Counts,
    until_ns: float,
    bucket_ns: float,
) -> None:
    """The loop: everything due at one moment happens, then rates are settled.

    Args:
        ops: `OP` rows.
        path: (n, WIDTH) resources of each operation.
        links: (n * WIDTH, 2) neighbours in the lists of the resources' flows.
        resources: `RESOURCE` rows.
        bounds: (n + 1,) where in `waiting` those begin that wait for each operation.
        waiting: (edges,) operations that wait.
        heap: (n,) operations that are due.
        dirty: (resources,) those that changed since the last settling.
        fresh: (n,) operations that did.
        members: (LIMIT,) flows being filled.
        shared: (resources,) resources being filled.
        counters: see `simulate.network.sharing`.
        until_ns: when to stop.
        bucket_ns: see `run`.
    """
    for op in range(len(ops)):
        if ops[op]["pending"] == 0:
            schedule(ops, heap, counters, op)
    while counters[HEAP] > 0 and ops[heap[0]]["due_ns"] <= until_ns and ops[heap[0]]["due_ns"] < NEVER_NS:
        now = ops[heap[0]]["due_ns"]
        limit = min(now + TOGETHER_NS, until_ns)
        while counters[HEAP] > 0 and ops[heap[0]]["due_ns"] <= limit:
            op = wide(heap[0])
            now = max(now, ops[op]["due_ns"])
            counters[HEAP] = pop(ops, heap, wide(counters[HEAP]))
            if ops[op]["state"] == DELAYED:
                begin(ops, path, links, resources, heap, dirty, fresh, counters, op, bucket_ns)
            else:
                detach(ops, path, links, resources, dirty, counters, op)
                ops[op]["rate"] = 0.0
                ops[op]["left"] = 0.0
            if ops[op]["state"] != ACTIVE or ops[op]["left"] == 0.0:
                finish(ops, bounds, waiting, heap, counters, op)
        settle(ops, path, links, resources, heap, dirty, fresh, members, shared, counters, now)


@jit
def schedule(ops: Table, heap: Heap, counters: Counts, op: int) -> None:
    """All that the operation waited for has ended: it is due after its lag."""
    ops[op]["due_ns"] = ops[op]["earliest_ns"] + ops[op]["lag_ns"]
    ops[op]["state"] = DELAYED
    counters[HEAP] = push(ops, heap, wide(counters[HEAP]), op)


@jit
def begin(
    ops: Table,
    path: Links,
    links: Links,
    resources: Table,
    heap: Heap,
    dirty: Links,
    fresh: Links,
    counters: Counts,
    op: int,
    bucket_ns: float,
) -> None:
    """Start an operation. Work that uses resources stays ACTIVE until it is done; all else is over at once."""
    ops[op]["start_ns"] = ops[op]["due_ns"]
    ops[op]["state"] = DONE
    if ops[op]["kind"] == SETTING:
        change_capacity(ops, path, links, resources, dirty, fresh, counters, wide(path[op, 0]), ops[op]["left"])
    elif ops[op]["kind"] != MARK and ops[op]["left"] > 0 and path[op, 0] >= 0:
        ops[op]["state"] = ACTIVE
        ops[op]["touched_ns"] = ops[op]["start_ns"]
        ops[op]["due_ns"] = NEVER_NS
        counters[HEAP] = push(ops, heap, wide(counters[HEAP]), op)
        attach(ops, path, links, resources, dirty, counters, op)
        if bucket_ns > 0 and ops[op]["kind"] == TRANSFER:
            ops[op]["left"] -= min(ops[op]["bound"] * bucket_ns, ops[op]["left"] * MOST_AT_ONCE)
        fresh[counters[FRESH]] = op
        counters[FRESH] += 1


@jit
def change_capacity(
    ops: Table,
    path: Links,
    links: Links,
    resources: Table,
    dirty: Links,
    fresh: Links,
    counters: Counts,
    r: int,
    capacity: float,
) -> None:
    """Resource `r` has another capacity from now on; what its flows could have alone changes with it."""
    resources[r]["capacity"] = capacity
    touch(resources, dirty, counters, r)
    entry = wide(resources[r]["first"])
    while entry >= 0:
        op = entry // WIDTH
        entry = wide(links[entry, 1])
        old, new = ops[op]["bound"], bound(path, resources, op)
        ops[op]["bound"] = new
        for k in range(WIDTH):
            if path[op, k] >= 0:
                resources[path[op, k]]["demand"] += new - old
                touch(resources, dirty, counters, wide(path[op, k]))
        if counters[FRESH] < len(fresh):
            fresh[counters[FRESH]] = op
            counters[FRESH] += 1


@jit
def finish(ops: Table, bounds: Int, waiting: Links, heap: Heap, counters: Counts, op: int) -> None:
    """An operation has ended: those that waited for it alone become due."""
    ops[op]["end_ns"] = max(ops[op]["due_ns"], ops[op]["start_ns"])
    ops[op]["state"] = DONE
    known = ops[op]["end_ns"] + ops[op]["delay_ns"]
    for place in range(bounds[op], bounds[op + 1]):
        other = wide(waiting[place])
        ops[other]["earliest_ns"] = max(ops[other]["earliest_ns"], known)
        ops[other]["pending"] -= 1
        if ops[other]["pending"] == 0:
            schedule(ops, heap, counters, other)


@jit
def settle(
    ops: Table,
    path: Links,
    links: Links,
    resources: Table,
    heap: Heap,
    dirty: Links,
    fresh: Links,
    members: Links,
    shared: Links,
    counters: Counts,
    now: float,
) -> None:
    """Give new rates to the flows that a change concerns."""
    if counters[DIRTY] == 0:
        return
    counters[STAMP] += 1
    counters[SETTLED] += 1
    crowded = False
    for step in range(2):  # in a crowd first those that must give way, then those that may take
        for i in range(counters[DIRTY]):
            r = wide(dirty[i])
            if is_tight(resources[r]) or resources[r]["tight"]:
                entry = wide(resources[r]["first"])
                while entry >= 0:
                    op = entry // WIDTH
                    entry = wide(links[entry, 1])
                    crowded = refresh(
                        ops, path, links, resources, heap, members, shared, counters, op, now, crowded, step
                    )
        for i in range(counters[FRESH]):
            op = wide(fresh[i])
            if ops[op]["state"] == ACTIVE:
                crowded = refresh(ops, path, links, resources, heap, members, shared, counters, op, now, crowded, step)
        if not crowded:
            break
    for i in range(counters[DIRTY]):
        resources[dirty[i]]["tight"] = is_tight(resources[dirty[i]])
        resources[dirty[i]]["dirty"] = 0
    counters[CROWDED] += crowded
    counters[DIRTY] = 0
    counters[FRESH] = 0


@jit
def refresh(
    ops: Table,
    path: Links,
    links: Links,
    resources: Table,
    heap: Heap,
    members: Links,
    shared: Links,
    counters: Counts,
    op: int,
    now: float,
    crowded: bool,
    step: int,
) -> bool:
    """Settle one flow, and all it competes with unless that are too many; whether they were."""
    if not crowded:
        if ops[op]["stamp"] == counters[STAMP]:
            return False
        flows, found = gather(ops, path, links, resources, counters, members, shared, op)
        if flows != NONE:
            fill(ops, path, resources, members, flows, shared, found, wide(counters[STAMP]))
            for i in range(flows):
                set_rate(ops, path, resources, heap, counters, wide(members[i]), ops[members[i]]["next_rate"], now)
            return False
    share = equal_share(ops, path, resources, op)
    if step == 0 and share < ops[op]["rate"]:
        set_rate(ops, path, resources, heap, counters, op, share, now)
    elif step == 1:
        rate = min(share, free_room(ops, path, resources, op))
        set_rate(ops, path, resources, heap, counters, op, max(rate, 0.0), now)
    return True
