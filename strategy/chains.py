"""Point-to-point edges -> pipelines: chains of stages, ordered by who sends first."""

from __future__ import annotations

from collections import defaultdict

import networkx as nx

from strategy.edges import Edge


def pipelines(edges: list[Edge]) -> list[tuple[int, ...]]:
    """Chains of endpoints in stage order, by first endpoint; what is no chain is left out.

    Endpoints that take turns sending to one another are neighbouring stages. An interleaved pipeline closes into a
    circle; it is opened at the edge that carries least, because activations wrap around once less often than they
    move on. The first message of an iteration goes forward, which tells the first stage from the last.
    """
    graph = nx.Graph()
    for edge in edges:
        if not edge.collective:
            known = graph.get_edge_data(edge.src, edge.dst, {"bytes": 0.0})["bytes"]
            graph.add_edge(edge.src, edge.dst, bytes=known + edge.iteration_bytes)
    first: dict[tuple[int, int], float] = defaultdict(lambda: float("inf"))
    for edge in edges:
        first[edge.src, edge.dst] = min(first[edge.src, edge.dst], edge.first_ns)
    chains = [_chain(graph.subgraph(part).copy()) for part in nx.connected_components(graph)]
    return sorted(_forward(chain, first) for chain in chains if chain is not None)


def _chain(graph: nx.Graph) -> tuple[int, ...] | None:
    """The path through a component, or None where it is no path."""
    if any(degree > 2 for _, degree in graph.degree):
        return None
    if graph.number_of_edges() == graph.number_of_nodes():
        graph.remove_edge(*min(graph.edges, key=lambda e: (graph.edges[e]["bytes"], sorted(e))))
    ends = sorted(n for n, degree in graph.degree if degree == 1)
    return tuple(nx.shortest_path(graph, *ends)) if len(ends) == 2 else None


def _forward(chain: tuple[int, ...], first: dict[tuple[int, int], float]) -> tuple[int, ...]:
    votes = sum(1 if first[a, b] < first[b, a] else -1 for a, b in zip(chain, chain[1:], strict=False))
    return chain if votes >= 0 else chain[::-1]
