"""Changes of a job's members as events: who left and joined, in which place, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Event, Membership, Place
from datamodel.reports.layout import GROUP_KINDS, Groups, Layout
from diagnose.eviction.standby import stage_role
from reconstruct.membership.interruption import Interruption, find_interruption
from reconstruct.membership.member_changes import ChangeKind, MemberChange


@dataclass(frozen=True, slots=True)
class Grid:
    """A job's layout after a change.

    Attributes:
        layout: its sizes.
        groups: kind -> process groups as address codes.
        stage: address code -> pipeline stage.
        addresses: address of each code.
    """

    layout: Layout
    groups: Mapping[str, Sequence[Sequence[int]]]
    stage: Mapping[int, int]
    addresses: Sequence[str]


def change_event(job: str, change: MemberChange, state_bytes: int, edges_ns: Int, grid: Grid) -> Event:
    """The event of one change.

    Args:
        job: its id.
        change: who left and joined.
        state_bytes: copied during it.
        edges_ns: (iterations,) ends of all complete iterations of the job, before and after.
        grid: the layout after it.
    """
    cost = find_interruption(edges_ns, change.resumed_ns, resized=change.kind == "elastic")
    joiners = tuple(_place(grid, e, e, change.replaces.get(e)) for e in change.joiners)
    by_place = {old: new for new, old in change.replaces.items()}
    leavers = tuple(
        _place(grid, e, by_place[e], None) if e in by_place else _beside_peers(grid, e, change) for e in change.leavers
    )
    fields = Membership(
        kind=change.kind,
        leavers=leavers,
        joiners=joiners,
        iteration=int((edges_ns < cost.first_ns).sum()) if cost else None,
        down_ns=cost.down_ns if cost else None,
        warm_up_ns=cost.warm_up_ns if cost else None,
        baseline_ns=cost.baseline_ns if cost else None,
        state_bytes=state_bytes,
        groups=_touched(grid, change),
    )
    return Event(
        job=job,
        kind="restart" if change.kind == "restart" else "membership_change",
        start_ns=cost.last_ns if cost else change.stopped_ns,
        end_ns=cost.first_ns - cost.baseline_ns if cost else change.resumed_ns,
        detail=_detail(change.kind, fields, cost),
        change=fields,
    )


def _place(grid: Grid, endpoint: int, holder: int, replaced: int | None) -> Place:
    """The place that `holder` has after the change."""
    stage = grid.stage.get(holder) if grid.layout.pp is not None else None
    return Place(
        endpoint=grid.addresses[endpoint],
        replaces=None if replaced is None else grid.addresses[replaced],
        dp=_index(grid, "dp", holder) if grid.layout.dp is not None else None,
        pp=stage,
        tp=_index(grid, "tp", holder) if grid.layout.tp is not None else None,
        role=stage_role(stage, grid.layout.pp),
    )


def _beside_peers(grid: Grid, endpoint: int, change: MemberChange) -> Place:
    """The stage of one who left no successor: a replica leaves as a whole, so that peers who stay are of its stage."""
    stages = Counter(grid.stage[p] for p in change.peers.get(endpoint, ()) if p in grid.stage)
    stage = min(stages, key=lambda s: (-stages[s], s)) if stages and grid.layout.pp is not None else None
    return Place(endpoint=grid.addresses[endpoint], pp=stage, role=stage_role(stage, grid.layout.pp))


def _index(grid: Grid, kind: str, endpoint: int) -> int | None:
    return next((list(g).index(endpoint) for g in grid.groups.get(kind, ()) if endpoint in g), None)


def _touched(grid: Grid, change: MemberChange) -> Groups:
    """Groups with one who joined; without any, those of the peers of who left."""
    moved = set(change.joiners) or {p for e in change.leavers for p in change.peers.get(e, ())}
    found = {
        kind: tuple(tuple(grid.addresses[e] for e in group) for group in known if moved & set(group))
        for kind in GROUP_KINDS
        if (known := grid.groups.get(kind, ()))
    }
    return Groups(**found)


def _detail(kind: ChangeKind, change: Membership, cost: Interruption | None) -> str:
    who = [
        f"{len(some)} endpoint{'s' if len(some) > 1 else ''} {verb}"
        for some, verb in ((change.leavers, "left"), (change.joiners, "joined"))
        if some
    ]
    parts = [kind.replace("_", " "), *who]
    if cost is not None:
        parts.append(f"{cost.down_ns / 1e9:.1f} s down")
    if change.state_bytes:
        parts.append(f"{change.state_bytes / 1e9:.2f} GB of state copied")
    return ", ".join(parts)
