"""Point-to-point edges -> pipelines: chains of stages, ordered by who sends first."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.row_runs import run_starts
from strategy.closure import Members, components
from strategy.traffic.traffic_edges import TrafficEdges


def find_pipelines(edges: TrafficEdges, chosen: Int) -> list[Members]:
    """Chains of endpoints in stage order, by first endpoint; what is no chain is left out.

    Endpoints that take turns sending to one another are neighbouring stages. An interleaved pipeline closes into a
    circle; it is opened at the link that carries least, because activations wrap around once less often than they
    move on. The first message of an iteration goes forward, which distinguishes the first stage from the last.
    """
    low, high, size, lead = _links(edges, chosen)
    part = components(low, high)
    nodes, index = np.unique(np.concatenate([low, high]), return_inverse=True)
    ends = index.reshape(2, -1)
    of_node = np.empty(len(nodes), np.int64)
    of_node[ends[0]] = of_node[ends[1]] = part
    parts = int(part.max(initial=-1)) + 1
    links = np.bincount(part, minlength=parts)
    count = np.bincount(of_node, minlength=parts)
    widest = np.zeros(parts, np.int64)
    np.maximum.at(widest, of_node, np.bincount(ends.ravel(), minlength=len(nodes)))
    kept = _opened(part, size, low, (links == count) & (widest <= 2))
    plain = ((widest <= 2) & (links <= count))[part] & kept
    return _walked(nodes, ends[:, plain], lead[plain])


def _links(edges: TrafficEdges, chosen: Int) -> tuple[Int, Int, Float, Float]:
    """Pairs that take turns: lower and higher code, bytes of both ways, and by how much the lower one sends first."""
    src, dst = edges.src[chosen], edges.dst[chosen]
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    codes = int(high.max(initial=0)) + 1
    pair, index = np.unique(low * codes + high, return_inverse=True)
    size = np.bincount(index, edges.iteration_bytes[chosen], len(pair)).astype(np.float64)
    first = np.full((2, len(pair)), np.inf)
    # the endpoint that sends first, on any connection, opens the iteration
    np.minimum.at(first, ((src > dst).astype(np.int64), index), edges.first_ns[chosen])
    with np.errstate(invalid="ignore"):
        lead = np.nan_to_num(first[1] - first[0], posinf=np.inf, neginf=-np.inf)
    return pair // codes, pair % codes, size, lead


def _opened(part: Int, size: Float, low: Int, circle: Bool) -> Bool:
    """(links,) without the least one of each circle."""
    order = np.lexsort([low, size, part])
    least = order[run_starts(part[order])]
    kept = np.ones(len(part), np.bool_)
    kept[least[circle[part[least]]]] = False
    return kept


def _walked(nodes: Int, ends: Int, lead: Float) -> list[Members]:
    """Paths followed from their lower end all at once, each turned so that most links are led by the earlier stage."""
    node, other = np.concatenate([ends[0], ends[1]]), np.concatenate([ends[1], ends[0]])
    order = np.lexsort([other, node])
    place = np.arange(len(order)) - np.searchsorted(node[order], node[order])
    neighbour, sign = np.full((len(nodes), 2), -1, np.int64), np.zeros((len(nodes), 2))
    neighbour[node[order], place] = other[order]
    sign[node[order], place] = np.sign(np.concatenate([lead, -lead]))[order]
    here = np.flatnonzero((neighbour[:, 0] >= 0) & (neighbour[:, 1] < 0))
    path, votes, before = [here], np.zeros(len(here)), np.full(len(here), -1)
    alive = np.ones(len(here), np.bool_)
    while alive.any():
        turn = (neighbour[here] != before[:, None]) & (neighbour[here] >= 0)
        alive &= turn.any(axis=1)
        way = np.argmax(turn, axis=1)
        following = np.where(alive, neighbour[here, way], here)
        votes += np.where(alive, sign[here, way], 0.0)
        before, here = np.where(alive, here, before), following
        path.append(np.where(alive, here, -1))
    walk = np.stack(path, axis=1)
    chains: dict[frozenset[int], Members] = {}
    for row, vote in zip(walk.tolist(), votes.tolist(), strict=True):
        chain = [int(nodes[n]) for n in row if n >= 0]
        key = frozenset((chain[0], chain[-1]))
        if key not in chains:
            ahead = vote > 0 or (vote == 0 and chain[0] < chain[-1])
            chains[key] = tuple(chain if ahead else chain[::-1])
    return sorted(chains.values())
