"""Collective edges -> process groups: gradient groups, expert groups, context groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx

from strategy.edges import SAME_BYTES, Edge

Members = tuple[int, ...]

# A group whose members talk in this many transfers an iteration works during the passes, not only after them.
DURING_PASSES = 3


@dataclass(frozen=True, slots=True)
class Collectives:
    """Process groups seen on the wire, members ascending.

    Attributes:
        dp: gradient groups, closed over all edges that reduce gradients.
        ep: groups that exchange tokens all to all.
        cp: groups that pass keys and values round a ring.
        dp_edges, ep_edges, cp_edges: their edges.
        sharded_passes: whether the gradient groups gather and scatter all through the iteration.
        reduce_and_gather: whether they send in two streams of different size, or one stream halved by a pause.
    """

    dp: tuple[Members, ...]
    ep: tuple[Members, ...]
    cp: tuple[Members, ...]
    dp_edges: tuple[Edge, ...]
    ep_edges: tuple[Edge, ...]
    cp_edges: tuple[Edge, ...]
    sharded_passes: bool
    reduce_and_gather: bool


@dataclass(frozen=True, slots=True)
class _Part:
    members: frozenset[int]
    edges: tuple[Edge, ...]
    mesh: bool
    transfers: int


def collectives(edges: list[Edge], chains: list[tuple[int, ...]]) -> Collectives:
    """Sort collective edges into kinds of process group.

    1. Edges that link two stages of one pipeline (shared embeddings) reduce no data-parallel gradient.
    2. Edges of like bytes fall into components. A complete mesh of three or more, inside a larger component or beside
       none, exchanges tokens (ep). A ring inside a larger one that works during the passes is context parallel.
    3. Everything else reduces gradients. Data parallelism is an equivalence relation: it is closed over its edges.
    """
    stage = {endpoint: (n, s) for n, chain in enumerate(chains) for s, endpoint in enumerate(chain)}
    own = [e for e in edges if e.collective and not _between_stages(e, stage)]
    parts = _parts(own)
    ep = [p for p in parts if _exchanges_tokens(p, parts)]
    rest = [p for p in parts if p not in ep]
    cp = [p for p in rest if _works_in_passes(p) and any(p.members < q.members for q in rest)]
    dp = [p for p in rest if p not in cp]
    dp_edges = tuple(e for p in dp for e in p.edges)
    return Collectives(
        dp=_closed(dp_edges),
        ep=_sorted(p.members for p in ep),
        cp=_sorted(p.members for p in cp),
        dp_edges=dp_edges,
        ep_edges=tuple(e for p in ep for e in p.edges),
        cp_edges=tuple(e for p in cp for e in p.edges),
        sharded_passes=bool(dp) and all(p.transfers > DURING_PASSES for p in dp),
        reduce_and_gather=_two_sizes(dp_edges),
    )


def _between_stages(edge: Edge, stage: dict[int, tuple[int, int]]) -> bool:
    a, b = stage.get(edge.src), stage.get(edge.dst)
    return a is not None and b is not None and a[1] != b[1]


def _parts(edges: list[Edge]) -> list[_Part]:
    """Components of edges that carry alike bytes an iteration."""
    found = []
    for alike in _alike(edges):
        graph = nx.DiGraph((e.src, e.dst) for e in alike)
        for nodes in nx.weakly_connected_components(graph):
            inside = tuple(e for e in alike if e.src in nodes)
            complete = len({(e.src, e.dst) for e in inside}) == len(nodes) * (len(nodes) - 1)
            transfers = sorted(e.transfers for e in inside)[len(inside) // 2]
            found.append(_Part(frozenset(nodes), inside, complete, transfers))
    return found


def _alike(edges: list[Edge]) -> list[list[Edge]]:
    """Runs of edges, by bytes, in which each differs from the next by at most the tolerance."""
    runs: list[list[Edge]] = []
    for edge in sorted(edges, key=lambda e: (e.iteration_bytes, e.src, e.dst)):
        if runs and edge.iteration_bytes <= runs[-1][-1].iteration_bytes * (1 + SAME_BYTES):
            runs[-1].append(edge)
        else:
            runs.append([edge])
    return runs


def _exchanges_tokens(part: _Part, parts: list[_Part]) -> bool:
    """A mesh is an expert group when a wider group reduces gradients over it, or when it is busy during the passes."""
    if not part.mesh:
        return False
    inside_wider = any(part.members < other.members for other in parts)
    if len(part.members) == 2:
        return inside_wider and _works_in_passes(part)
    return inside_wider or _works_in_passes(part)


def _works_in_passes(part: _Part) -> bool:
    phases = sorted(e.phase for e in part.edges)
    return part.transfers > DURING_PASSES or phases[len(phases) // 2] < 0.75


def _closed(edges: Iterable[Edge]) -> tuple[Members, ...]:
    graph = nx.Graph((e.src, e.dst) for e in edges)
    return _sorted(nx.connected_components(graph))


def _sorted(groups: Iterable[Iterable[int]]) -> tuple[Members, ...]:
    return tuple(sorted({tuple(sorted(g)) for g in groups}))


def _two_sizes(edges: tuple[Edge, ...]) -> bool:
    """Whether one directed pair reduces and gathers in separate streams of different size."""
    sizes: dict[tuple[int, int], list[float]] = {}
    for edge in edges:
        sizes.setdefault((edge.src, edge.dst), []).append(edge.iteration_bytes)
    return bool(sizes) and all(len(s) == 2 and max(s) > 1.5 * min(s) for s in sizes.values())
