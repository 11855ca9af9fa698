"""Paths that packets of a pair may take through the fabric: all shortest ones, as equal-cost routing uses them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamodel.service.api_models import FabricLink

MOST_ROUTES = 256


def routes(links: Iterable[FabricLink], src: str, dst: str) -> list[tuple[str, ...]]:
    """Find all shortest routes from one node to another, both ends included, ordered by node names; may be empty.

    At most `MOST_ROUTES` of them.
    """
    neighbors: dict[str, set[str]] = {}
    for link in links:
        neighbors.setdefault(link.a, set()).add(link.b)
        neighbors.setdefault(link.b, set()).add(link.a)
    away = _hops(neighbors, dst)
    if src == dst or src not in away:
        return []
    found: list[tuple[str, ...]] = []
    open_ends: list[tuple[str, ...]] = [(src,)]
    while open_ends and len(found) < MOST_ROUTES:
        way = open_ends.pop()
        if way[-1] == dst:
            found.append(way)
            continue
        nearer = (node for node in neighbors[way[-1]] if away.get(node) == away[way[-1]] - 1)
        open_ends += [(*way, node) for node in sorted(nearer, reverse=True)]
    return found


def _hops(neighbors: dict[str, set[str]], dst: str) -> dict[str, int]:
    """Return the distance of each reachable node from `dst` in links, by breadth-first search."""
    away = {dst: 0} if dst in neighbors else {}
    edge = list(away)
    while edge:
        following = {other for node in edge for other in neighbors[node] if other not in away}
        away |= dict.fromkeys(following, away[edge[0]] + 1)
        edge = list(following)
    return away


def shared(found: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """Return the set of nodes at each hop; all packets of the pair pass a hop that has one member."""
    return [set(hop) for hop in zip(*found, strict=True)]
