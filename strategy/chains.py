"""Point-to-point edges -> pipelines: chains of stages, ordered by who sends first."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from strategy.closure import Members, tied
from strategy.edges import Edge

Graph = dict[int, dict[int, float]]


def pipelines(edges: list[Edge]) -> list[Members]:
    """Chains of endpoints in stage order, by first endpoint; what is no chain is left out.

    Endpoints that take turns sending to one another are neighbouring stages. An interleaved pipeline closes into a
    circle; it is opened at the edge that carries least, because activations wrap around once less often than they
    move on. The first message of an iteration goes forward, which tells the first stage from the last.
    """
    graph: Graph = defaultdict(lambda: defaultdict(float))
    first: dict[tuple[int, int], float] = defaultdict(lambda: float("inf"))
    for edge in edges:
        first[edge.src, edge.dst] = min(first[edge.src, edge.dst], edge.first_ns)
        if not edge.collective:
            graph[edge.src][edge.dst] += edge.iteration_bytes
            graph[edge.dst][edge.src] += edge.iteration_bytes
    parts = tied((a, b) for a, others in graph.items() for b in others)
    chains = [_chain(graph, part) for part in parts]
    return sorted(_forward(chain, first) for chain in chains if chain is not None)


def _chain(graph: Graph, part: Members) -> Members | None:
    """The path through a component, or None where it is no path."""
    if any(len(graph[n]) > 2 for n in part):
        return None
    if all(len(graph[n]) == 2 for n in part):
        a, b = min(((a, b) for a in part for b in graph[a] if a < b), key=lambda e: (graph[e[0]][e[1]], e))
        del graph[a][b], graph[b][a]
    path = [min(n for n in part if len(graph[n]) == 1)]
    while len(path) < len(part):
        path.append(next(n for n in graph[path[-1]] if n not in path[-2:]))
    return tuple(path)


def _forward(chain: Members, first: dict[tuple[int, int], float]) -> Members:
    votes = sum(1 if first[a, b] < first[b, a] else -1 for a, b in pairwise(chain))
    return chain if votes >= 0 else chain[::-1]
