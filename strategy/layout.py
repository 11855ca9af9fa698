"""Transfers of one job -> its layout: sizes that the traffic shows, groups, what was assumed, and what fits as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.layout import Layout, Sharding, Sizes
from datamodel.streams import Int
from datamodel.transfers import ROLES
from strategy.chains import pipelines
from strategy.closure import Members, tied
from strategy.collectives import Collectives, collectives
from strategy.edges import Edges, edges
from strategy.grid import Grid, completed, grid, grid_without_hosts, uniform
from strategy.lockstep import AGREED, at_once, tensor_ranks
from strategy.membership import latest
from strategy.placement import Seat

# How sure a layout can be whose tensor parallelism nobody saw: it never touches the fabric.
SURE_OF_CONVENTION = 0.9
# Ranks that compute in step begin to send within this share of the iteration of one another.
IN_STEP = 0.05


@dataclass(frozen=True, slots=True)
class Strategy:
    """How one job is parallelised.

    Attributes:
        layout: sizes with confidence and alternatives.
        groups: kind -> groups of address codes; pp in stage order, the others ascending.
        role: stream number -> index into ROLES.
        stage: address code -> pipeline stage; 0 for all without a pipeline.
        world_size: GPUs; None where NICs may serve several.
    """

    layout: Layout
    groups: dict[str, tuple[Members, ...]]
    role: dict[int, int]
    stage: dict[int, int]
    world_size: int | None


# Nothing is known of how a job is parallelised.
UNKNOWN = Strategy(layout=Layout(), groups={}, role={}, stage={}, world_size=None)


def infer(
    transfers: Frame, edges_ns: Int, endpoints: Int, seats: dict[int, Seat], *, unexplained: bool = False
) -> Strategy:
    """Infer the layout of one job.

    1. Pairs are classified by direction, simultaneity and topology (`strategy.edges`, `chains`, `collectives`).
    2. One grid is fitted to all groups (`strategy.grid`); where none fits, sizes are null.
    3. Endpoints of a host that are taken for a tensor group compute in step; where hosts are not known and there is no
       pipeline, so do those of all gradient groups. Where they begin to send at times of their own, they are stages of
       a pipeline whose messages stay inside hosts, and the rings may be anything.

    Args:
        transfers: the job's transfers.
        edges_ns: (iterations,) end of each iteration.
        endpoints: (e,) address codes.
        seats: where endpoints sit; may be empty.
        unexplained: whether more goes on between the endpoints than is among the transfers. A pipeline may be in it,
            so that no size is known, not even that there is none.
    """
    transfers, endpoints = latest(transfers, endpoints, len(edges_ns))
    found = edges(transfers, edges_ns)
    members = [int(e) for e in endpoints]
    chains = uniform(pipelines(found))
    stage = {e: s for chain in chains for s, e in enumerate(chain)}
    wire = collectives(found, stage, _hosts(found, seats))
    reducing, crossing = _spanning_hosts(found, wire, seats)
    reducing = completed(chains, reducing)
    ordered = chains if chains or found.collective.all() else None
    lockstep = at_once(found)
    if seats:
        fitted = grid(members, ordered, reducing, wire, seats, crossing, lockstep)
    else:
        in_step = tensor_ranks(transfers, edges_ns, found, chains, reducing) if chains else None
        told = lockstep is not None and (lockstep[0] == lockstep[1] or _take_turns(found))
        fitted = grid_without_hosts(members, ordered, reducing, wire, lockstep if told else None, in_step)
    together = _in_step(found, fitted.tensor or _of_one_host(members, seats)) if seats else _in_phase(found, reducing)
    if unexplained or (not chains and not together):
        fitted = Grid(Sizes(), (), (), ())
    layout = Layout(
        **fitted.sizes.model_dump(),
        sharding=_sharding(wire),
        confidence=_confidence(fitted.sizes, found, wire),
        assumed=fitted.assumed,
        alternatives=fitted.alternatives,
    )
    groups = {"dp": reducing, "tp": fitted.tensor, "pp": tuple(chains)}
    groups |= {kind: wire.groups[kind] for kind in ("ep", "cp")}
    stage = stage or dict.fromkeys(members, 0)
    return Strategy(layout, groups, _roles(found, wire), stage, _world_size(members, seats))


def _hosts(found: Edges, seats: dict[int, Seat]) -> Int:
    """(codes,) number of the host of each address code; of one's own where it is not known."""
    codes = int(max(found.src.max(initial=0), found.dst.max(initial=0))) + 1
    host = np.arange(codes)
    number: dict[str, int] = {}
    for code in np.unique(np.concatenate([found.src, found.dst])).tolist():
        if code in seats:
            host[code] = codes + number.setdefault(seats[code].host, len(number))
    return host


def _spanning_hosts(found: Edges, wire: Collectives, seats: dict[int, Seat]) -> tuple[tuple[Members, ...], bool]:
    """Gradient groups, joined where their rings leave a host by another GPU's NIC than they came in by.

    A ring that crosses rails continues inside the host (NCCL's crossNic rings, one a channel): its parts are one group.
    Rings that cross between other rails are another group's.
    """
    dp, own = wire.groups["dp"], wire.edges["dp"]
    leaves, enters = (_rails(seats, ends[own]) for ends in (found.src, found.dst))
    if not seats or 2 * int((leaves != enters).sum()) <= len(own):
        return dp, False
    linked = {rail: n for n, rails in enumerate(tied(leaves, enters)) for rail in rails}
    joined: dict[tuple[frozenset[str], int], list[int]] = {}
    for group in dp:
        hosts = frozenset(seats[e].host for e in group if e in seats)
        joined.setdefault((hosts, linked[_rail(seats, group[0])]), []).extend(group)
    return tuple(sorted(tuple(sorted(g)) for g in joined.values())), True


def _in_step(found: Edges, tensor: tuple[Members, ...]) -> bool:
    """Whether the members of most tensor groups begin to send together."""
    begin = _begins_ns(found)
    seen = [[begin[e] for e in group if e in begin] for group in tensor]
    apart = sum(max(times, default=0.0) - min(times, default=0.0) > IN_STEP * found.period_ns for times in seen)
    return 2 * apart <= len(tensor)


def _in_phase(found: Edges, reducing: tuple[Members, ...]) -> bool:
    """Whether most gradient groups begin to send about when the middle one does: not half of them, as two stages do."""
    begin = _begins_ns(found)
    usual = np.array([np.median([begin[e] for e in group if e in begin] or [np.inf]) for group in reducing])
    near = np.abs(usual - np.quantile(usual, 0.5, method="lower")) <= IN_STEP * found.period_ns if len(usual) else usual
    return len(usual) == 0 or 2 * int(near.sum()) > len(usual)


def _begins_ns(found: Edges) -> dict[int, float]:
    """Endpoint -> when it begins to send, after the iteration's beginning."""
    begin: dict[int, float] = {}
    for endpoint, first_ns in zip(found.src.tolist(), found.first_ns.tolist(), strict=True):
        begin[endpoint] = min(first_ns, begin.get(endpoint, np.inf))
    return begin


def _of_one_host(members: list[int], seats: dict[int, Seat]) -> tuple[Members, ...]:
    """Endpoints of each host whose NICs serve several GPUs; without stages they compute in step."""
    hosts: dict[str, list[int]] = {}
    for e in members:
        if e in seats and (seats[e].gpus or 1) > 1:
            hosts.setdefault(seats[e].host, []).append(e)
    return tuple(tuple(own) for own in hosts.values() if len(own) > 1)


def _take_turns(found: Edges) -> bool:
    """Whether no stream is nearly always the first of those side by side: replicas overtake one another.

    Of messages that one GPU sends one after the other on several connections, the same is always the first.
    """
    return 2 * int((found.leads[~found.collective] < AGREED).sum()) > int((~found.collective).sum())


def _rails(seats: dict[int, Seat], endpoints: Int) -> Int:
    return np.array([_rail(seats, e) for e in endpoints.tolist()], np.int64)


def _rail(seats: dict[int, Seat], endpoint: int) -> int:
    """The rail of an endpoint; -1 unknown."""
    rail = seats[endpoint].rail if endpoint in seats else None
    return -1 if rail is None else rail


def _sharding(wire: Collectives) -> Sharding | None:
    if wire.sharded_passes:
        return "fsdp"
    return "zero" if wire.reduce_and_gather else None


def _confidence(sizes: Sizes, found: Edges, wire: Collectives) -> float:
    """Share of the bytes that the groups explain, scaled down by sizes that stay unknown or rest on the convention."""
    total = float(found.iteration_bytes.sum())
    explained = float(found.iteration_bytes[~found.collective].sum())
    explained += sum(float(found.iteration_bytes[wire.edges[kind]].sum()) for kind in ("dp", "ep", "cp", "tp"))
    known = sum(v is not None for v in (sizes.tp, sizes.cp, sizes.ep, sizes.dp, sizes.pp))
    seen = 1.0 if (sizes.tp or 1) == 1 else SURE_OF_CONVENTION
    return round(explained / total * known / 5 * seen, 3) if total else 0.0


def _roles(found: Edges, wire: Collectives) -> dict[int, int]:
    kind = np.full(len(found), ROLES.index("other"))
    kind[~found.collective] = ROLES.index("pp")
    for name in ("dp", "ep", "cp", "tp"):
        kind[wire.edges[name]] = ROLES.index(name)
    return dict(zip(found.streams.tolist(), kind[found.edge].tolist(), strict=True))


def _world_size(members: list[int], seats: dict[int, Seat]) -> int | None:
    gpus = [seats[e].gpus if e in seats else None for e in members]
    return sum(g for g in gpus if g is not None) if None not in gpus else None
