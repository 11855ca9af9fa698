"""Edges of one job -> its layout: sizes that the traffic shows, groups, what was assumed, and what fits as well."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.layout import Layout, Sharding, Sizes
from datamodel.streams import Int
from datamodel.transfers import ROLES
from strategy.chains import pipelines
from strategy.collectives import Collectives, collectives
from strategy.edges import Edges, edges
from strategy.placement import Seat

Members = tuple[int, ...]

# How sure a layout can be whose tensor parallelism nobody saw: it never touches the fabric.
SURE_OF_CONVENTION = 0.9
BY_CONVENTION = "tp: a factor that never leaves a host is attributed to tensor parallelism"
EXPERT_DEFAULT = "ep = 1: no all-to-all traffic was seen"
CONTEXT_DEFAULT = "cp = 1: no ring inside the gradient groups was seen"


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


def infer(transfers: Frame, edges_ns: Int, endpoints: Int, seats: dict[int, Seat]) -> Strategy:
    """Infer the layout of one job.

    1. Pairs are classified by direction, simultaneity and topology (`strategy.edges`, `chains`, `collectives`).
    2. Pipelines give pp, closed gradient groups give dp; both must tile the job, else the size is unknown.
    3. What is left of endpoints / (pp x dp) sits inside hosts: tensor parallelism by convention, unless rings cross
       rails, which a group that spans the host's GPUs does.

    Args:
        transfers: the job's transfers.
        edges_ns: (iterations,) end of each iteration.
        endpoints: (e,) address codes.
        seats: where endpoints sit; may be empty.
    """
    found = edges(transfers, edges_ns)
    members = [int(e) for e in endpoints]
    chains = _uniform(pipelines(found))
    staged = {e: s for chain in chains for s, e in enumerate(chain)}
    wire = collectives(found, staged)
    stage = staged or dict.fromkeys(members, 0)
    has_pipeline = not found.collective.all()
    pp = _tiling(chains, members) if has_pipeline else 1
    dp_groups, crossing = _spanning_hosts(found, wire, seats)
    dp = _tiling(dp_groups, members) if dp_groups else (1 if pp else None)
    dp = None if wire.split or wire.groups["unclear"] else dp
    tp, tp_groups = _inside_hosts(dp_groups, stage, seats, members, pp, dp, crossing)
    sizes = _sizes(members, _shared(members, seats), tp, pp, dp, wire)
    layout = _layout(sizes, members, seats, wire, found, pp, dp)
    groups = {"dp": dp_groups, "tp": tp_groups, "pp": tuple(chains), "ep": wire.groups["ep"], "cp": wire.groups["cp"]}
    return Strategy(layout, groups, _roles(found, wire), stage, _world_size(members, seats))


def _uniform(chains: list[Members]) -> list[Members]:
    """Chains of the commonest length: a chain cut short by missing traffic says nothing of the pipeline."""
    if not chains:
        return []
    length = Counter(len(c) for c in chains).most_common(1)[0][0]
    return [c for c in chains if len(c) == length]


def _tiling(groups: list[Members] | tuple[Members, ...], members: list[int]) -> int | None:
    """The common size of groups that cover every member once; None where they do not."""
    covered = sorted(e for g in groups for e in g)
    sizes = {len(g) for g in groups}
    return sizes.pop() if len(sizes) == 1 and covered == sorted(members) else None


def _spanning_hosts(found: Edges, wire: Collectives, seats: dict[int, Seat]) -> tuple[tuple[Members, ...], bool]:
    """Gradient groups, joined where their rings leave a host by another GPU's NIC than they came in by.

    A ring that crosses rails continues inside the host (NCCL's crossNic rings, one a channel): its parts are one group.
    """
    dp, own = wire.groups["dp"], wire.edges["dp"]
    ends = zip(found.src[own].tolist(), found.dst[own].tolist(), strict=True)
    crossing = sum(_rail(seats, a) != _rail(seats, b) for a, b in ends)
    if not seats or 2 * crossing <= len(own):
        return dp, False
    joined: dict[frozenset[str], list[int]] = {}
    for group in dp:
        joined.setdefault(frozenset(seats[e].host for e in group if e in seats), []).extend(group)
    return tuple(sorted(tuple(sorted(g)) for g in joined.values())), True


def _rail(seats: dict[int, Seat], endpoint: int) -> int | None:
    return seats[endpoint].rail if endpoint in seats else None


def _inside_hosts(
    dp_groups: tuple[Members, ...],
    stage: dict[int, int],
    seats: dict[int, Seat],
    members: list[int],
    pp: int | None,
    dp: int | None,
    crossing: bool,
) -> tuple[int | None, tuple[Members, ...]]:
    """Tensor groups: endpoints of one host and stage in different gradient groups; (size, groups)."""
    if pp is None or dp is None or not set(members) <= set(seats) or any(seats[e].gpus != 1 for e in members):
        return None, ()
    of = {e: n for n, g in enumerate(dp_groups) for e in g}
    cells: dict[tuple[str, int], list[int]] = {}
    for e in members:
        cells.setdefault((seats[e].host, stage.get(e, -1)), []).append(e)
    rest = len(members) // (pp * dp)
    if rest == 1 or crossing:
        return (1, ()) if rest == 1 else (None, ())
    if all(len(c) == rest and len({of.get(e, -1 - e) for e in c}) == rest for c in cells.values()):
        return rest, tuple(sorted(tuple(c) for c in cells.values()))
    return None, ()


def _sizes(members: list[int], shared: int, tp: int | None, pp: int | None, dp: int | None, wire: Collectives) -> Sizes:
    rest = len(members) // (pp * dp) if pp and dp else None
    open_kind = bool(wire.groups["unclear"] or wire.split)
    ep = _common_size(wire.groups["ep"]) if wire.groups["ep"] else (None if open_kind else 1)
    cp = _common_size(wire.groups["cp"]) if wire.groups["cp"] else (None if open_kind else 1)
    if dp is not None and cp and cp > 1:
        dp = dp // cp if dp % cp == 0 else None
    split_unknown = tp is None and ((rest is not None and rest > 1) or shared > 1)
    return Sizes(tp=tp, cp=cp, ep=ep, dp=None if split_unknown else dp, pp=pp)


def _common_size(groups: tuple[Members, ...]) -> int | None:
    sizes = {len(g) for g in groups}
    return sizes.pop() if len(sizes) == 1 else None


def _layout(
    sizes: Sizes,
    members: list[int],
    seats: dict[int, Seat],
    wire: Collectives,
    found: Edges,
    pp: int | None,
    dp: int | None,
) -> Layout:
    assumed = []
    if sizes.tp is not None and (sizes.tp > 1 or any(seats[e].gpus == 1 for e in members)):
        assumed.append(BY_CONVENTION)
    assumed += [EXPERT_DEFAULT] if sizes.ep == 1 else []
    assumed += [CONTEXT_DEFAULT] if sizes.cp == 1 else []
    return Layout(
        **sizes.model_dump(),
        sharding=_sharding(wire),
        confidence=_confidence(sizes, found, wire),
        assumed=tuple(assumed),
        alternatives=_alternatives(sizes, len(members) * _shared(members, seats), pp, dp),
    )


def _shared(members: list[int], seats: dict[int, Seat]) -> int:
    """GPUs behind each NIC, where all NICs are known to serve as many; else 1."""
    gpus = {seats[e].gpus if e in seats else None for e in members}
    return (gpus.pop() or 1) if len(gpus) == 1 else 1


def _alternatives(sizes: Sizes, gpus: int, pp: int | None, dp: int | None) -> tuple[Sizes, ...]:
    """Sizes that the traffic fits as well, where the split between tp and dp inside hosts is not known."""
    if pp is None or dp is None or sizes.tp is not None:
        return ()
    rest = gpus // (pp * dp)
    splits = [t for t in range(1, rest + 1) if rest % t == 0]
    ways = [Sizes(tp=t, cp=sizes.cp, ep=sizes.ep, dp=dp * rest // t, pp=pp) for t in splits]
    return tuple(ways) if len(ways) > 1 else ()


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
