"""The likeliest candidate -> its tensor groups inside hosts, and gradient groups that span a host's replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datamodel.reconstructed.streams import Int
from strategy.closure import Members
from strategy.placement import Seat
from strategy.posterior import Candidate


@dataclass(frozen=True, slots=True)
class Inner:
    """Groups with what never leaves a host: tensor groups, and gradient groups, members ascending."""

    tensor: tuple[Members, ...]
    gradients: tuple[Members, ...]


def place_inside_hosts(candidate: Candidate, endpoints: Int, seats: Mapping[int, Seat]) -> Inner:
    """Tensor groups of the likeliest candidate: as they move in step, else all of a host's endpoints of one stage.

    Replicas on one host belong to one gradient group; which of their ranks do, no traffic shows, so ranks are paired
    in the order of their rails.
    """
    fit, split = candidate.labeling.fit, candidate.split
    seen = fit.groups["dp"]
    if candidate.inside is None or split is None or split.local_size == candidate.inside.rest == 1:
        return Inner(fit.groups["tp"], seen)
    steps = candidate.inside.steps
    if steps is not None:
        local_groups = steps.groups(split.local_size)
    else:
        local_groups = _by_rail(candidate, endpoints, seats, split.local_size) if seats else ()
    tensor = tuple(group for group in local_groups if len(group) > 1)
    return Inner(fit.groups["tp"] or tensor, _span_replicas(candidate, seen, local_groups, seats))


def _cells(candidate: Candidate, endpoints: Int, seats: Mapping[int, Seat]) -> list[list[int]]:
    """Endpoints of each host and stage, by rail; one that no chain holds counts to the only stage of its host."""
    stage = dict(candidate.labeling.pipelines.stage_of)
    at: dict[str, set[int]] = {}
    for e, own in stage.items():
        at.setdefault(seats[e].host if e in seats else "", set()).add(own)
    for e in endpoints.tolist():
        if e in seats and e not in stage and len(at.get(seats[e].host, ())) == 1:
            stage[e] = min(at[seats[e].host])
    cells: dict[tuple[str, int], list[int]] = {}
    for e in sorted(endpoints.tolist(), key=lambda e: (seats[e].rail or 0, e) if e in seats else (0, e)):
        if e in seats:
            cells.setdefault((seats[e].host, stage.get(e, 0)), []).append(e)
    return list(cells.values())


def _by_rail(candidate: Candidate, endpoints: Int, seats: Mapping[int, Seat], size: int) -> tuple[Members, ...]:
    """Groups of `size` endpoints, lower rails first; members of a gradient group are never in one of them."""
    of = {e: n for n, group in enumerate(candidate.labeling.fit.groups["dp"]) for e in group}
    found = []
    for cell in _cells(candidate, endpoints, seats):
        by_group: dict[int, list[int]] = {}
        for e in cell:
            by_group.setdefault(of.get(e, -1 - e), []).append(e)
        for layer in range(max(len(own) for own in by_group.values())):
            ranks = [own[layer] for own in by_group.values() if layer < len(own)]
            found += [tuple(sorted(ranks[n : n + size])) for n in range(0, len(ranks), size)]
    return tuple(sorted(group for group in found if len(group) == size))


def _span_replicas(
    candidate: Candidate, seen: tuple[Members, ...], local_groups: tuple[Members, ...], seats: Mapping[int, Seat]
) -> tuple[Members, ...]:
    """Gradient groups, joined over the local groups of each host by the order of their members."""
    inside, split = candidate.inside, candidate.split
    if inside is None or split is None or inside.rest == split.local_size or not seats:
        return seen
    stage = candidate.labeling.pipelines.stage_of
    by_cell: dict[tuple[str, int], list[Members]] = {}
    for group in local_groups:
        if group[0] in seats:
            by_cell.setdefault((seats[group[0]].host, stage.get(group[0], 0)), []).append(group)
    of = {e: group for group in seen for e in group}
    root: dict[int, set[int]] = {}
    for cell in by_cell.values():
        ranked = [sorted(group, key=lambda e: (seats[e].rail or 0, e)) for group in cell]
        for members in zip(*ranked, strict=False):
            joined = set().union(*(root.get(x, {x}) for e in members for x in of.get(e, (e,))))
            for e in joined:
                root[e] = joined
    found = {tuple(sorted(own)) for own in root.values() if len(own) > 1}
    return tuple(sorted(found)) if found else seen
