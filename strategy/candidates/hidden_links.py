"""What NICs behind silent switches must send, between stages and around rings, where no record shows any of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.reconstructed.streams import Int
from strategy.candidates.pipelines import find_pipelines
from strategy.closure import Members
from strategy.placement import Seat
from strategy.traffic.edge_classes import classify
from strategy.traffic.silent_edges import add_answers, add_edges, close_rings
from strategy.traffic.traffic_edges import AT_ONCE, TrafficEdges


def complete_edges(
    edges: TrafficEdges, unreported: Int, members: Int, host: Int, seats: Mapping[int, Seat]
) -> TrafficEdges:
    """Edges with those of endpoints that are not seen to send, as far as symmetry shows them.

    First they answer what they are sent, then chains that two neighboring stages part are joined, then rings closed.

    Args:
        edges: what was seen.
        unreported: endpoints of the job whose switches export nothing.
        members: (e,) the job's endpoints.
        host: (codes,) host of each address code; one of its own where it is unknown.
        seats: where endpoints sit.
    """
    edges = add_answers(edges, unreported)
    links, stage = _join_chains(edges, unreported, members, seats)
    place = {e: (stage.get(e), seats[e].rail if e in seats else None) for e in members.tolist()}
    return close_rings(links, unreported, host, place)


def _join_chains(
    edges: TrafficEdges, unreported: Int, members: Int, seats: Mapping[int, Seat]
) -> tuple[TrafficEdges, dict[int, int]]:
    """Edges with those between neighboring stages that are both not seen to send; and endpoints' stages.

    A chain that begins and ends with endpoints that were seen shows how many stages there are. Two shorter ones on the
    same rail, of as many endpoints together, are one where the first ends and the second begins with an endpoint
    behind a silent switch, and neither fits another one. Who shares collectives with an endpoint of a whole chain is of
    its stage.
    """
    silent = frozenset(unreported.tolist())
    ends: list[tuple[int, int]] = []
    like: list[int] = []
    stage: dict[int, int] = {}
    turns = [one.edges for one in classify(edges) if _take_turns(edges, one.edges)]
    for own in turns:
        number = {(int(edges.src[n]), int(edges.dst[n])): n for n in own.tolist()}
        chains = find_pipelines(edges, own)
        ended = Counter(len(chain) for chain in chains if silent.isdisjoint((chain[0], chain[-1])))
        if not ended:
            continue
        stages = ended.most_common(1)[0][0]
        whole = [chain for chain in chains if len(chain) == stages]
        met = {e for chain in chains for e in chain}
        parts = [chain for chain in chains if len(chain) < stages] + [(e,) for e in sorted(silent - met)]
        at = {e: n for chain in whole for n, e in enumerate(chain)}
        for first, then in _fitting(parts, stages, _mates(edges, own), at, silent, seats):
            other = whole[0][len(first) - 1], whole[0][len(first)]
            at |= {e: n for n, e in enumerate(first + then)}
            if other in number and other[::-1] in number:
                ends += [(first[-1], then[0]), (then[0], first[-1])]
                like += [number[other], number[other[::-1]]]
        stage = at | stage
    if not turns:
        stage = dict.fromkeys(members.tolist(), 0)
    return add_edges(edges, np.array(ends, np.int64).reshape(-1, 2).T, np.array(like, np.int64)), stage


def _take_turns(edges: TrafficEdges, own: Int) -> bool:
    acts = edges.concurrency[own][~np.isnan(edges.concurrency[own])]
    return len(acts) > 0 and bool(np.median(acts) < AT_ONCE)


def _mates(edges: TrafficEdges, own: Int) -> dict[int, list[int]]:
    """Those that each endpoint exchanges other data with, once for each edge."""
    found: dict[int, list[int]] = {}
    others = np.setdiff1d(np.arange(len(edges)), own)
    for a, b in zip(edges.src[others].tolist(), edges.dst[others].tolist(), strict=True):
        found.setdefault(a, []).append(b)
        found.setdefault(b, []).append(a)
    return found


def _fitting(
    parts: Sequence[Members],
    stages: int,
    mates: Mapping[int, list[int]],
    stage: Mapping[int, int],
    silent: frozenset[int],
    seats: Mapping[int, Seat],
) -> list[tuple[Members, Members]]:
    """Parts of chains that are a whole chain together, where each fits one other only."""
    first_stage = [_first_stage(part, mates, stage) for part in parts]
    rail = {e: seats[e].rail if e in seats else None for part in parts for e in part}
    behind: dict[tuple[int, int | None], list[int]] = {}
    for m, then in enumerate(parts):
        if then[0] in silent and first_stage[m] in {None, stages - len(then)}:
            behind.setdefault((len(then), rail[then[0]]), []).append(m)
    fits = [
        (n, m)
        for n, first in enumerate(parts)
        if first[-1] in silent and first_stage[n] in {None, 0}
        for m in [m for m in behind.get((stages - len(first), rail[first[-1]]), ())[:3] if m != n][:2]
    ]
    often = Counter(n for pair in fits for n in pair)
    return [(parts[n], parts[m]) for n, m in fits if often[n] == often[m] == 1]


def _first_stage(part: Members, mates: Mapping[int, list[int]], stage: Mapping[int, int]) -> int | None:
    """The stage that a part of a chain begins with, by those of whole chains that share collectives with it."""
    votes = Counter(stage[mate] - n for n, e in enumerate(part) for mate in mates.get(e, ()) if mate in stage)
    return votes.most_common(1)[0][0] if votes else None
