"""What NICs behind silent switches must send: answers to what they are sent, and the edges that close rings."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from strategy.closure import components
from strategy.traffic.edge_classes import classify
from strategy.traffic.traffic_edges import TrafficEdges

# A ring broken at two places falls into two equal parts of n members by a chance of 1 / (2n - 1): from four on, no more
# often than a size that is answered may be wrong (`LayoutOptions.decisive`).
LONG_PART = 4
COLUMNS = (
    "iteration_bytes", "transfers", "at_once", "messages", "sizes", "variation", "first_ns", "last_ns", "spread",
    "concurrency",
)  # fmt: skip


def complete_edges(edges: TrafficEdges, unreported: Int, host: Int) -> TrafficEdges:
    """Edges with those of endpoints that are not seen to send, as far as symmetry shows them.

    What is sent to such endpoints is seen. Where others of a class answer one another (stages, meshes, pairs), it is
    answered like what is sent at about the same time. Where they do not, each passes on what it receives, and a ring
    that is broken at one place is closed.

    Args:
        edges: what was seen.
        unreported: endpoints whose switches export nothing.
        host: (codes,) host of each address code; one of its own where it is unknown.
    """
    added, like, concurrency = [np.zeros((2, 0), np.int64)], [np.zeros(0, np.int64)], edges.concurrency.copy()
    for own in (one.edges for one in classify(edges)):
        into = np.isin(edges.dst[own], unreported)
        between = own[~into]
        if not into.any() or not len(between):
            continue
        asked, answer = _answers(edges, between)
        if 2 * len(asked) > len(between):
            nearest = _nearest(edges.first_ns[own[into]], edges.first_ns[asked])
            concurrency[own[into]] = edges.concurrency[asked[nearest]]
            added.append(np.stack([edges.dst[own[into]], edges.src[own[into]]]))
            like.append(answer[nearest])
        else:
            ends, one = _closing(edges, own, unreported, host)
            added.append(ends)
            like.append(one)
    src, dst = np.concatenate(added, axis=1)
    edges, rows = replace(edges, concurrency=concurrency), np.concatenate([np.arange(len(edges)), *like])
    columns = {name: getattr(edges, name)[rows] for name in COLUMNS}
    return replace(edges, src=np.concatenate([edges.src, src]), dst=np.concatenate([edges.dst, dst]), **columns)


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


def _closing(edges: TrafficEdges, own: Int, unreported: Int, host: Int) -> tuple[Int, Int]:
    """(2, n) ends of edges that close rings of a class, and (n,) an edge of each; none where several may be one ring.

    A ring passes a host once: paths on the same hosts are rings of their own.
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
    low, high = (np.searchsorted(part, part[head], side=side).tolist() for side in ("left", "right"))
    on = {frozenset(host[np.append(src[a:b], dst[a:b])].tolist()) for a, b in zip(low, high, strict=True)}
    short = [hosts for hosts in on if len(hosts) < 2 * LONG_PART]
    if any(len(a | b) < 2 * LONG_PART and a.isdisjoint(b) for a, b in combinations(short, 2)):
        return np.zeros((2, 0), np.int64), np.zeros(0, np.int64)
    return np.stack([dst[tail], src[head]]), own[head]
