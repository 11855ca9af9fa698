"""The ways that packets of a pair may take through the fabric: all shortest ones, as equal-cost routing uses them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamodel.api_models import FabricLink

MOST_ROUTES = 256


def routes(links: Iterable[FabricLink], src: str, dst: str) -> list[tuple[str, ...]]:
    """All shortest routes from one node to another, both ends included, in the order of names; none where none is.

    At most `MOST_ROUTES` of them.
    """
    beside: dict[str, set[str]] = {}
    for link in links:
        beside.setdefault(link.a, set()).add(link.b)
        beside.setdefault(link.b, set()).add(link.a)
    away = _hops(beside, dst)
    if src == dst or src not in away:
        return []
    found: list[tuple[str, ...]] = []
    open_ends: list[tuple[str, ...]] = [(src,)]
    while open_ends and len(found) < MOST_ROUTES:
        way = open_ends.pop()
        if way[-1] == dst:
            found.append(way)
            continue
        nearer = (node for node in beside[way[-1]] if away.get(node) == away[way[-1]] - 1)
        open_ends += [(*way, node) for node in sorted(nearer, reverse=True)]
    return found


def _hops(beside: dict[str, set[str]], dst: str) -> dict[str, int]:
    """How many cables away from `dst` each node is."""
    away = {dst: 0} if dst in beside else {}
    edge = list(away)
    while edge:
        following = {other for node in edge for other in beside[node] if other not in away}
        away |= dict.fromkeys(following, away[edge[0]] + 1)
        edge = list(following)
    return away


def shared(found: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """The nodes at each hop, one set a hop: where it has one member all packets of the pair come by."""
    return [set(hop) for hop in zip(*found, strict=True)]
