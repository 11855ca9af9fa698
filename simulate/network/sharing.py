"""Fair sharing of resources among the flows under way: progressive filling, redone only where something changed.

A flow's rate is max-min fair (Bertsekas and Gallager, Data Networks, 6.5.2): all rates of the flows that compete rise
together until a resource is full, its flows keep that rate, the others rise on. Flows compete only over tight
resources, those that could not serve all their flows at the rate each could have alone. So a change concerns the flows
that are linked with it by tight resources. Where that are more than `LIMIT` flows (large all-to-all exchanges), each
flow that changed gets instead the smallest of its resources' equal shares, and never more than they have left: at most
max-min, hence pessimistic, and never above a link's capacity.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from simulate.network.heap import ABSENT, Heap, Table, moved

Links = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]

WIDTH = 4  # resources on a path, at most
LIMIT = 512
NEVER_NS = 1e300
SLACK = 1 + 1e-9
NONE = -1

# Places in the array of counters.
HEAP, DIRTY, FRESH, STAMP, CROWDED, SETTLED = range(6)
COUNTERS = 6

RESOURCE = np.dtype(
    [
        ("capacity", "f8"),  # bytes per ns; of a cell of GPUs ns of work per ns
        ("demand", "f8"),  # what its flows would take, each alone
        ("used", "f8"),  # what they take
        ("room", "f8"),  # while filling: what is not given out yet
        ("first", "i4"),  # list of its flows: operation * WIDTH + place on the path
        ("flows", "i4"),
        ("open", "i4"),  # while filling: flows without a rate
        ("stamp", "i4"),  # the settling that last looked at it
        ("full", "i1"),
        ("dirty", "i1"),
        ("tight", "i1"),  # at the last settling
    ],
    align=True,
)


@jit
def is_tight(resource: np.void) -> bool:
    """Whether it could not serve all its flows at the rate each could have alone."""
    return bool(resource["demand"] > resource["capacity"] * SLACK)


@jit
def touch(resources: Table, dirty: Links, counters: Counts, r: int) -> None:
    """Note that the flows of resource `r` changed."""
    if not resources[r]["dirty"]:
        resources[r]["dirty"] = 1
        dirty[counters[DIRTY]] = r
        counters[DIRTY] += 1


@jit
def bound(path: Links, resources: Table, op: int) -> float:
    """The rate that a flow would have alone."""
    least: float = resources[path[op, 0]]["capacity"]
    for k in range(1, WIDTH):
        if path[op, k] >= 0:
            least = min(least, resources[path[op, k]]["capacity"])
    return least


@jit
def attach(ops: Table, path: Links, links: Links, resources: Table, dirty: Links, counters: Counts, op: int) -> None:
    """A flow begins to use the resources on its path."""
    ops[op]["bound"] = bound(path, resources, op)
    for k in range(WIDTH):
        r = wide(path[op, k])
        if r < 0:
            continue
        entry, head = op * WIDTH + k, wide(resources[r]["first"])
        links[entry, 0], links[entry, 1] = NONE, head
        if head >= 0:
            links[head, 0] = entry
        resources[r]["first"] = entry
        resources[r]["flows"] += 1
        resources[r]["demand"] += ops[op]["bound"]
        touch(resources, dirty, counters, r)


@jit
def detach(ops: Table, path: Links, links: Links, resources: Table, dirty: Links, counters: Counts, op: int) -> None:
    """A flow ends; what it used is free."""
    for k in range(WIDTH):
        r = wide(path[op, k])
        if r < 0:
            continue
        entry = op * WIDTH + k
        before, after = wide(links[entry, 0]), wide(links[entry, 1])
        if before >= 0:
            links[before, 1] = after
        else:
            resources[r]["first"] = after
        if after >= 0:
            links[after, 0] = before
        resources[r]["flows"] -= 1
        empty = resources[r]["flows"] == 0  # then sums restart, so that rounding does not accumulate
        resources[r]["demand"] = 0.0 if empty else resources[r]["demand"] - ops[op]["bound"]
        resources[r]["used"] = 0.0 if empty else resources[r]["used"] - ops[op]["rate"]
        touch(resources, dirty, counters, r)


@jit
def set_rate(
    ops: Table, path: Links, resources: Table, heap: Heap, counters: Counts, op: int, rate: float, now: float
) -> None:
    """A flow goes on at `rate`; its end is due accordingly."""
    old = ops[op]["rate"]
    if rate == old and ops[op]["due_ns"] < NEVER_NS:
        return
    ops[op]["left"] = max(ops[op]["left"] - old * max(now - ops[op]["touched_ns"], 0.0), 0.0)
    if old > 0 and rate == 0:
        ops[op]["paused_ns"] = now
    elif old == 0 and rate > 0 and ops[op]["paused_ns"] >= 0:
        ops[op]["resumed_ns"] = now
    ops[op]["touched_ns"] = max(now, ops[op]["touched_ns"])
    ops[op]["rate"] = rate
    for k in range(WIDTH):
        if path[op, k] >= 0:
            resources[path[op, k]]["used"] += rate - old
    ops[op]["due_ns"] = ops[op]["touched_ns"] + ops[op]["left"] / rate if rate > 0 else NEVER_NS
    if ops[op]["place"] != ABSENT:
        moved(ops, heap, wide(counters[HEAP]), op)


@jit
def gather(
    ops: Table, path: Links, links: Links, resources: Table, counters: Counts, members: Links, shared: Links, op: int
) -> tuple[int, int]:
    """Flows linked with `op` by tight resources, and these; (flows, resources), flows NONE where beyond LIMIT."""
    stamp = counters[STAMP]
    flows, found, at = 1, 0, 0
    members[0] = op
    ops[op]["stamp"] = stamp
    while at < flows:
        member = wide(members[at])
        at += 1
        for k in range(WIDTH):
            r = wide(path[member, k])
            if r < 0 or resources[r]["stamp"] == stamp or not is_tight(resources[r]):
                continue
            resources[r]["stamp"] = stamp
            shared[found] = r
            found += 1
            entry = wide(resources[r]["first"])
            while entry >= 0:
                other = entry // WIDTH
                entry = wide(links[entry, 1])
                if ops[other]["stamp"] != stamp:
                    if flows == LIMIT:
                        return wide(NONE), found
                    ops[other]["stamp"] = stamp
                    members[flows] = other
                    flows += 1
    return flows, found


@jit
def fill(
    ops: Table, path: Links, resources: Table, members: Links, flows: int, shared: Links, found: int, stamp: int
) -> None:
    """Give each member its max-min fair rate, in `next_rate`."""
    for i in range(found):
        resources[shared[i]]["room"], resources[shared[i]]["open"] = resources[shared[i]]["capacity"], 0
    for i in range(flows):
        ops[members[i]]["next_rate"] = -1.0
        for k in range(WIDTH):
            if path[members[i], k] >= 0 and resources[path[members[i], k]]["stamp"] == stamp:
                resources[path[members[i], k]]["open"] += 1
    waiting = flows
    while waiting > 0:
        level = NEVER_NS
        for i in range(flows):
            if ops[members[i]]["next_rate"] < 0:
                level = min(level, ops[members[i]]["bound"])
        for i in range(found):
            if resources[shared[i]]["open"] > 0:
                level = min(level, max(resources[shared[i]]["room"], 0.0) / resources[shared[i]]["open"])
        for i in range(found):
            r = shared[i]
            resources[r]["full"] = (
                resources[r]["open"] > 0 and resources[r]["room"] <= level * resources[r]["open"] * SLACK
            )
        waiting -= fix(ops, path, resources, members, flows, stamp, level)


@jit
def fix(ops: Table, path: Links, resources: Table, members: Links, flows: int, stamp: int, level: float) -> int:
    """Members that can rise no more keep `level`; how many."""
    fixed = 0
    for i in range(flows):
        op = wide(members[i])
        if ops[op]["next_rate"] >= 0:
            continue
        stops = ops[op]["bound"] <= level * SLACK
        for k in range(WIDTH):
            r = wide(path[op, k])
            if r >= 0 and resources[r]["stamp"] == stamp and resources[r]["full"]:
                stops = True
        if stops:
            fixed += 1
            ops[op]["next_rate"] = level
            for k in range(WIDTH):
                r = wide(path[op, k])
                if r >= 0 and resources[r]["stamp"] == stamp:
                    resources[r]["room"] -= level
                    resources[r]["open"] -= 1
    return fixed


@jit
def equal_share(ops: Table, path: Links, resources: Table, op: int) -> float:
    """The smallest of its resources' equal shares."""
    share: float = ops[op]["bound"]
    for k in range(WIDTH):
        r = wide(path[op, k])
        if r >= 0:
            share = min(share, resources[r]["capacity"] / resources[r]["flows"])
    return share


@jit
def free_room(ops: Table, path: Links, resources: Table, op: int) -> float:
    """Return what its resources have left for it besides the others."""
    room = NEVER_NS
    for k in range(WIDTH):
        r = wide(path[op, k])
        if r >= 0:
            room = min(room, resources[r]["capacity"] - (resources[r]["used"] - ops[op]["rate"]))
    return max(room, 0.0)
