"""Chains and groups -> sizes: one grid that holds them all, what in it is convention, and which others fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from datamodel.layout import Sizes
from strategy.closure import Members
from strategy.collectives import Collectives
from strategy.placement import Seat

BY_CONVENTION = "tp: a factor that never leaves a host is attributed to tensor parallelism"
IN_STEP = "tp: endpoints that begin to send in the same moments are one tensor group"
ONE_GPU = "tp: each endpoint is one GPU, as one message leaves it at a time"
ONE_CONNECTION = "tp: each GPU behind a shared NIC sends its activations on one connection"
EXPERT_DEFAULT = "ep = 1: no all-to-all traffic was seen"
CONTEXT_DEFAULT = "cp = 1: no ring inside the gradient groups was seen"


@dataclass(frozen=True, slots=True)
class Grid:
    """How the groups of a job fit together.

    Attributes:
        sizes: those that the traffic shows; null where it leaves several.
        alternatives: sizes that fit as well, where tp is null.
        assumed: what rests on a convention.
        tensor: tensor groups, members ascending.
    """

    sizes: Sizes
    alternatives: tuple[Sizes, ...]
    assumed: tuple[str, ...]
    tensor: tuple[Members, ...]


def uniform(chains: list[Members]) -> list[Members]:
    """Chains of the commonest length: a chain cut short by missing traffic says nothing of the pipeline."""
    if not chains:
        return []
    length = Counter(len(c) for c in chains).most_common(1)[0][0]
    return [c for c in chains if len(c) == length]


def completed(chains: list[Members], reducing: tuple[Members, ...]) -> tuple[Members, ...]:
    """Gradient groups, those of one stage completed by those of another; as they are where they contradict another.

    Chains that meet in one gradient group meet in one at every stage. So where the groups of a stage lack members whose
    traffic was not seen, or rings fell apart, a stage whose groups hold all chains tells who belongs together.
    """
    chain_of = {e: n for n, chain in enumerate(chains) for e in chain}
    stage = {e: s for chain in chains for s, e in enumerate(chain)}
    if not chains or any(e not in stage for group in reducing for e in group):
        return reducing
    seen: dict[int, list[frozenset[int]]] = {}
    for group in reducing:
        seen.setdefault(stage[group[0]], []).append(frozenset(chain_of[e] for e in group))
    whole = [sorted(sets, key=min) for sets in seen.values() if sum(len(s) for s in sets) == len(chains)]
    even = [sets for sets in whole if len({len(s) for s in sets}) == 1]
    if not even or any(sets != even[0] for sets in even):
        return reducing
    if not all(any(part <= full for full in even[0]) for sets in seen.values() for part in sets):
        return reducing
    return tuple(sorted(tuple(sorted(chains[n][s] for n in full)) for full in even[0] for s in range(len(chains[0]))))


def grid(
    members: list[int],
    chains: list[Members] | None,
    reducing: tuple[Members, ...],
    wire: Collectives,
    seats: dict[int, Seat],
    crossing: bool,
    lockstep: tuple[int, int] | None = None,
) -> Grid:
    """Fit a grid to all groups.

    1. Chains and gradient groups must tile the job, and chains that meet in one gradient group must meet in the next
       stage's too: a grid has rows and columns. Where that fails, no size is known but pp's.
    2. What is left of endpoints / (pp x dp) sits inside hosts: tensor parallelism by convention, unless rings cross
       rails, which a group that spans the host's GPUs does.
    3. GPUs that share a NIC are told apart by the messages that leave it at once: as many as there are GPUs mean one
       tensor group, fewer mean replicas of one. Without a pipeline's messages the split is unknown, and where either
       keys or tokens are seen so is how many ranks of both kinds of group a NIC holds. Where several leave it, but
       fewer than there are GPUs, the others may be stages of their own.
    4. Where tensor groups leave their hosts, any other factor may hide in them: nothing is known. Where gradients seem
       to be reduced in two steps, one of them may be theirs, and what looks like a context group: pp alone is known.

    Args:
        members: the job's endpoints.
        chains: its pipelines; none where there are none, None where pairs take turns in no order of stages.
        reducing: its gradient groups.
        wire: all groups seen on the fabric.
        seats: where endpoints sit.
        crossing: whether gradient rings cross rails.
        lockstep: messages of the pipeline that leave a NIC at once, and all of one micro-batch; None if not known.
    """
    tiles = _tiles(members, chains, reducing, wire)
    if isinstance(tiles, Grid):
        return tiles
    pp, gradient, rest = tiles
    stage = {e: s for chain in chains or () for s, e in enumerate(chain)}
    gpus = _shared(members, seats)
    behind = _behind_a_nic(gpus, rest, lockstep)
    tensor = _inside_hosts(reducing, stage, seats, members, rest) if behind and not (crossing and rest > 1) else None
    told = behind is not None or not (wire.groups["cp"] or wire.groups["ep"])
    cp, ep = (_size(wire, kind, 1) if told else None for kind in ("cp", "ep"))
    if lockstep is not None and 1 < lockstep[1] < gpus:
        return Grid(Sizes(cp=cp, ep=ep), (), (), ())
    dp = gradient // cp if cp and gradient % cp == 0 else None
    if tensor is None or behind is None or dp is None:
        known = Sizes(cp=cp, ep=ep, dp=dp if rest == 1 and gpus == 1 else None, pp=pp)
        return Grid(known, _alternatives(known, rest * gpus, dp), _assumed(known, members, seats), ())
    known = Sizes(tp=rest * behind[0], cp=cp, ep=ep, dp=dp * behind[1], pp=pp)
    return Grid(known, (), _assumed(known, members, seats), tensor)


def grid_without_hosts(
    members: list[int],
    chains: list[Members] | None,
    reducing: tuple[Members, ...],
    wire: Collectives,
    lockstep: tuple[int, int] | None,
    in_step: tuple[Members, ...] | None,
) -> Grid:
    """Fit a grid to all groups of a job of which nobody knows who shares a host, or a NIC.

    1. Chains and gradient groups tile the job as in `grid`.
    2. Endpoints / (pp x dp) are ranks of a tensor group, or replicas that reduce inside hosts. They are the former
       where chains in lockstep go through all gradient groups; else it is open.
    3. Messages that leave an endpoint at once are those of one tensor group's ranks behind a NIC, or the channels and
       queue pairs of one GPU: one replica either way, tp is open. Where more follow, each lot is a replica's. One
       message at a time is one GPU's.
    4. Without a pipeline nothing tells who is in lockstep.

    Args:
        members: the job's endpoints.
        chains: its pipelines, as in `grid`.
        reducing: its gradient groups.
        wire: all groups seen on the fabric.
        lockstep: messages that leave an endpoint at once, and all of one micro-batch; None if not known.
        in_step: numbers of chains in lockstep, sets that go through all gradient groups; None where there are none.
    """
    tiles = _tiles(members, chains, reducing, wire)
    if isinstance(tiles, Grid):
        return tiles
    pp, gradient, rest = tiles
    cp, ep = _size(wire, "cp", 1), _size(wire, "ep", 1)
    dp = gradient // cp if cp and gradient % cp == 0 else None
    replicas = _replicas(lockstep) if chains else 1
    apart = rest == 1 or (in_step is not None and replicas == 1)
    if dp is None or replicas is None or not apart or (replicas > 1 and (wire.groups["cp"] or wire.groups["ep"])):
        known = Sizes(cp=cp, ep=ep, pp=pp)
        return Grid(known, _alternatives(known, rest, dp), _assumed(known, members, {}), ())
    known = Sizes(tp=rest if lockstep == (1, 1) else None, cp=cp, ep=ep, dp=dp * replicas, pp=pp)
    sets = in_step if rest > 1 and in_step and len(in_step[0]) == rest else ()
    tensor = tuple(
        sorted(tuple(sorted(m)) for own in sets for m in zip(*((chains or [])[n] for n in own), strict=True))
    )
    assumed = _assumed(known.model_copy(update={"tp": None}), members, {})
    shown = ((IN_STEP,) if rest > 1 else (), (ONE_GPU,)) if known.tp else ()
    return Grid(known, (), (*(text for texts in shown for text in texts), *assumed), tensor)


def _replicas(lockstep: tuple[int, int] | None) -> int | None:
    """Replicas behind each NIC, by the messages that leave it at once and all of them; None where they are uneven."""
    if lockstep is None or lockstep[1] % max(lockstep[0], 1):
        return None
    return lockstep[1] // max(lockstep[0], 1)


def _tiles(
    members: list[int], chains: list[Members] | None, reducing: tuple[Members, ...], wire: Collectives
) -> tuple[int, int, int] | Grid:
    """Stages, endpoints of a gradient group, and how often these fit into the job; what is known where they do not."""
    pp = _pipeline(members, chains)
    if pp is None or wire.groups["tp"]:
        return Grid(Sizes(), (), (), wire.groups["tp"])
    gradient = _tiling(reducing, members) if reducing else 1
    if gradient is None or not _rows_and_columns(chains or [], reducing):
        return Grid(Sizes(pp=pp), (), (), ())
    if wire.split:
        return Grid(Sizes(pp=pp), (), (), ())
    if wire.groups["unclear"]:
        return Grid(Sizes(pp=pp, cp=_size(wire, "cp", None), ep=_size(wire, "ep", None)), (), (), ())
    return pp, gradient, len(members) // (pp * gradient)


def _behind_a_nic(gpus: int, rest: int, lockstep: tuple[int, int] | None) -> tuple[int, int] | None:
    """Ranks of one tensor group, and replicas, behind each NIC; None where that is not known."""
    if gpus == 1:
        return 1, 1
    if lockstep is None or lockstep[1] != gpus or gpus % lockstep[0]:
        return None
    at_once = lockstep[0]
    # replicas on several NICs of a host may reduce inside it or not
    return (at_once, gpus // at_once) if at_once == gpus or rest == 1 else None


def _pipeline(members: list[int], chains: list[Members] | None) -> int | None:
    if chains is None:
        return None
    return _tiling(tuple(chains), members) if chains else 1


def _tiling(groups: tuple[Members, ...], members: list[int]) -> int | None:
    """The common size of groups that cover every member once; None where they do not."""
    covered = sorted(e for g in groups for e in g)
    sizes = {len(g) for g in groups}
    return sizes.pop() if len(sizes) == 1 and covered == sorted(members) else None


def _rows_and_columns(chains: list[Members], reducing: tuple[Members, ...]) -> bool:
    """Whether each gradient group of a stage goes with one of every other stage."""
    if not reducing:
        return True
    of = {e: n for n, group in enumerate(reducing) for e in group}
    columns = {tuple(of[e] for e in chain) for chain in chains}
    return all(len({column[s] for column in columns}) == len(columns) for s in range(len(chains[0]) if chains else 0))


def _size(wire: Collectives, kind: str, default: int | None) -> int | None:
    """The common size of the groups of a kind; None where they differ, the default where there are none."""
    sizes = {len(g) for g in wire.groups[kind]}
    return default if not sizes else sizes.pop() if len(sizes) == 1 else None


def _inside_hosts(
    reducing: tuple[Members, ...], stage: dict[int, int], seats: dict[int, Seat], members: list[int], rest: int
) -> tuple[Members, ...] | None:
    """Tensor groups: endpoints of one host and stage in different gradient groups; None where there are none such.

    Where a gradient group has several members on a host, those of lower rail belong to the first tensor group.
    """
    if any(e not in seats for e in members) or len({seats[e].gpus for e in members} | {None}) != 2:
        return None
    if rest == 1:
        return ()
    of = {e: n for n, g in enumerate(reducing) for e in g}
    cells: dict[tuple[str, int], dict[int, list[int]]] = {}
    for e in members:
        cells.setdefault((seats[e].host, stage.get(e, -1)), {}).setdefault(of.get(e, -1 - e), []).append(e)
    if any(len(c) != rest or len({len(own) for own in c.values()}) != 1 for c in cells.values()):
        return None
    if not _divides_hosts(rest, {seats[e].host for e in members}, seats):
        return None
    ordered = [[sorted(own, key=lambda e: (seats[e].rail or 0, e)) for own in c.values()] for c in cells.values()]
    return tuple(sorted(tuple(sorted(group)) for c in ordered for group in zip(*c, strict=True)))


def _divides_hosts(rest: int, hosts: set[str], seats: dict[int, Seat]) -> bool:
    """Whether groups of so many fill each host: else one of its endpoints is missing from the job."""
    if rest & (rest - 1) == 0:
        return True
    count = Counter(seat.host for seat in seats.values() if seat.host in hosts)
    return all(n % rest == 0 for n in count.values())


def _shared(members: list[int], seats: dict[int, Seat]) -> int:
    """GPUs behind each NIC, where all NICs are known to serve as many; else 1."""
    gpus = {seats[e].gpus if e in seats else None for e in members}
    return (gpus.pop() or 1) if len(gpus) == 1 else 1


def _alternatives(sizes: Sizes, gpus: int, dp: int | None) -> tuple[Sizes, ...]:
    """Sizes that the traffic fits as well, where the split of `gpus` between tp and dp inside hosts is not known."""
    if dp is None or sizes.tp is not None:
        return ()
    splits = [t for t in range(1, gpus + 1) if gpus % t == 0]
    ways = [Sizes(tp=t, cp=sizes.cp, ep=sizes.ep, dp=dp * gpus // t, pp=sizes.pp) for t in splits]
    return tuple(ways) if len(ways) > 1 else ()


def _assumed(sizes: Sizes, members: list[int], seats: dict[int, Seat]) -> tuple[str, ...]:
    found = []
    if sizes.tp is not None:
        found.append(BY_CONVENTION)
        found += [ONE_CONNECTION] if _shared(members, seats) > 1 else []
    found += [EXPERT_DEFAULT] if sizes.ep == 1 else []
    found += [CONTEXT_DEFAULT] if sizes.cp == 1 else []
    return tuple(found)
