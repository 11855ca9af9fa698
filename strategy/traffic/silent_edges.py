"""What NICs behind silent switches must send: answers to what they are sent, and the edges that close rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from strategy.closure import components
from strategy.traffic.edge_classes import classify
from strategy.traffic.traffic_edges import TrafficEdges

# A ring broken at two places falls into two equal parts of n members by a chance of 1 / (2n - 1): from four on, no more
# often than a size that is answered may be wrong (`LayoutOptions.decisive`).
LONG_PART = 4
# Stage and rail; None where they are not known.
Place = tuple[int | None, int | None]
COLUMNS = (
    "iteration_bytes", "transfers", "at_once", "messages", "sizes", "variation", "first_ns", "last_ns", "spread",
    "concurrency",
)  # fmt: skip


def add_answers(edges: TrafficEdges, unreported: Int) -> TrafficEdges:
    """Edges with the answers of endpoints that are not seen to send.

    What is sent to such endpoints is seen. Where others of a class answer one another (stages, meshes, pairs), it is
    answered like what is sent at about the same time.

    Args:
        edges: what was seen.
        unreported: endpoints whose switches export nothing.
    """
    added, like, concurrency = [np.zeros((2, 0), np.int64)], [np.zeros(0, np.int64)], edges.concurrency.copy()
    for own in (one.edges for one in classify(edges)):
        into = np.isin(edges.dst[own], unreported)
        between = own[~into]
        asked, answer = _answers(edges, between) if into.any() and len(between) else (between, between)
        if 2 * len(asked) > len(between):
            nearest = _nearest(edges.first_ns[own[into]], edges.first_ns[asked])
            concurrency[own[into]] = edges.concurrency[asked[nearest]]
            added.append(np.stack([edges.dst[own[into]], edges.src[own[into]]]))
            like.append(answer[nearest])
    return add_edges(replace(edges, concurrency=concurrency), np.concatenate(added, axis=1), np.concatenate(like))


def close_rings(edges: TrafficEdges, unreported: Int, host: Int, place: Mapping[int, Place]) -> TrafficEdges:
    """Edges with those that close rings, each broken at one place: a silent endpoint passes on what it receives.

    Args:
        edges: what was seen, and what silent endpoints answer.
        unreported: endpoints whose switches export nothing.
        host: (codes,) host of each address code; one of its own where it is unknown.
        place: stage and rail of each endpoint of the job; None where they are not known.
    """
    added, like = [np.zeros((2, 0), np.int64)], [np.zeros(0, np.int64)]
    for own in (one.edges for one in classify(edges)):
        into = np.isin(edges.dst[own], unreported)
        if into.any() and not into.all():
            ends, one = _closing(edges, own, unreported, host, place)
            added.append(ends)
            like.append(one)
    return add_edges(edges, np.concatenate(added, axis=1), np.concatenate(like))


def add_edges(edges: TrafficEdges, ends: Int, like: Int) -> TrafficEdges:
    """Edges with further ones, given their (2, n) source and destination, each like one of them."""
    rows = np.concatenate([np.arange(len(edges)), like])
    columns = {name: getattr(edges, name)[rows] for name in COLUMNS}
    src, dst = np.concatenate([edges.src, ends[0]]), np.concatenate([edges.dst, ends[1]])
    return replace(edges, src=src, dst=dst, **columns)


def _answers(edges: TrafficEdges, chosen: Int) -> tuple[Int, Int]:
    """Of some edges those with one of the reverse direction among them, and that one."""
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    there = edges.src[chosen] * codes + edges.dst[chosen]
    back = edges.dst[chosen] * codes + edges.src[chosen]
    order = np.argsort(there, kind="stable")
    place = order[np.minimum(np.searchsorted(there[order], back), len(order) - 1)]
    met = there[place] == back
    return chosen[met], chosen[place[met]]


def _nearest(times: Float, among: Float) -> Int:
    """(times,) which of some values each is nearest to."""
    order = np.argsort(among, kind="stable")
    ascending = among[order]
    return np.asarray(order[np.searchsorted((ascending[1:] + ascending[:-1]) / 2, times)], np.int64)


def _closing(edges: TrafficEdges, own: Int, unreported: Int, host: Int, place: Mapping[int, Place]) -> tuple[Int, Int]:
    """(2, n) ends of edges that close rings of a class, and (n,) an edge of each; none where several may be one ring.

    A ring passes a host once: paths on the same hosts are rings of their own, and so are those of different stages.
    """
    part = components(edges.src[own], edges.dst[own])
    own = own[np.argsort(part, kind="stable")]
    src, dst, part = edges.src[own], edges.dst[own], np.sort(part)
    heads, tails = np.flatnonzero(~np.isin(src, dst)), np.flatnonzero(~np.isin(dst, src))
    often = [np.bincount(part[ends], minlength=int(part[-1]) + 1) for ends in (heads, tails)]
    path = (often[0] == 1) & (often[1] == 1)
    head, tail = heads[path[part[heads]]], tails[path[part[tails]]]
    broken = np.isin(dst[tail], unreported)
    head, tail = head[broken], tail[broken]
    bounds = np.searchsorted(part, np.arange(int(part[-1]) + 2)).tolist()
    passed = [np.union1d(src[a:b], dst[a:b]).tolist() for a, b in pairwise(bounds)]
    paths = list(zip(part[head].tolist(), src[head].tolist(), dst[tail].tolist(), strict=True))
    rings, rest = _by_place(passed, paths, frozenset(unreported.tolist()), place)
    on = {(frozenset(host[passed[n]].tolist()), _only_stage(passed[n], place)) for n, *_ in rest}
    short = [(hosts, stage) for hosts, stage in on if len(hosts) < 2 * LONG_PART]
    if not any(_may_be_one(*pair) for pair in combinations(short, 2)):
        rings += [[(first, last)] for _, first, last in rest]
    ends = [(one[1], other[0]) for ring in rings for one, other in pairwise([*ring, ring[0]])]
    edge_from = dict(zip(src[head].tolist(), own[head].tolist(), strict=True))
    like = np.array([edge_from[ring[0][0]] for ring in rings for _ in ring], np.int64)
    return np.array(ends, np.int64).reshape(-1, 2).T, like


def _by_place(
    passed: Sequence[list[int]],
    paths: Sequence[tuple[int, int, int]],
    silent: frozenset[int],
    place: Mapping[int, Place],
) -> tuple[list[list[tuple[int, int]]], list[tuple[int, int, int]]]:
    """Rings of paths on one stage and rail that hold all of its endpoints, and all other paths.

    Silent endpoints there that no record shows are in the ring of a single path, unless they may be one of their own.
    Several paths are one ring if another stage or rail of as many endpoints is.

    Args:
        passed: endpoints of each connected set of a class.
        paths: set, first and last endpoint of each path that may be part of a ring.
        silent: endpoints whose switches export nothing.
        place: stage and rail of each endpoint of the job.

    Returns:
        Rings as their paths' first and last endpoints in order; and other paths.
    """
    at: dict[Place, list[int]] = {}
    for e, where in place.items():
        at.setdefault(where, []).append(e)
    shared = [_only_place(ends, place) for ends in passed]
    whole = {len(ends) for ends, here in zip(passed, shared, strict=True) if here and len(ends) == len(at[here])}
    met = {e for ends in passed for e in ends}
    rings, rest = [], []
    for here in dict.fromkeys(shared[n] for n, *_ in paths):
        own = [path for path in paths if shared[path[0]] == here]
        unmet = sorted(silent.intersection(at[here]) - met) if here else []
        held = sum(len(passed[n]) for n, *_ in own)
        is_all = here is not None and held + len(unmet) == len(at[here])
        single = len(own) == 1 and len(unmet) % held > 0
        if is_all and (single or held + len(unmet) in whole):
            rings.append([*((first, last) for _, first, last in own), *((e, e) for e in unmet)])
        else:
            rest += own
    return rings, rest


def _only_place(ends: Sequence[int], place: Mapping[int, Place]) -> Place | None:
    """The stage and rail that endpoints share; None where they do not, or it is not known."""
    places = {place.get(e, (None, None)) for e in ends}
    return where if len(places) == 1 and (where := places.pop())[0] is not None else None


def _only_stage(ends: Sequence[int], place: Mapping[int, Place]) -> int | None:
    stages = {place.get(e, (None, None))[0] for e in ends}
    return stages.pop() if len(stages) == 1 else None


def _may_be_one(one: tuple[frozenset[int], int | None], other: tuple[frozenset[int], int | None]) -> bool:
    """Whether two paths, by their hosts and stages, may be parts of one ring."""
    (a, stage), (b, another) = one, other
    same_stage = stage is None or another is None or stage == another
    return same_stage and len(a | b) < 2 * LONG_PART and a.isdisjoint(b)
