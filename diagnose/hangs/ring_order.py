"""Who sends to whom -> the members of a ring in their order."""

from __future__ import annotations

from collections.abc import Collection


def ring_order(pairs: Collection[tuple[int, int]]) -> tuple[int, ...]:
    """Members in the order they send to one another, the smallest first; empty where pairs form no single ring.

    Args:
        pairs: (sender, receiver), each once.
    """
    after = dict(pairs)
    if not pairs or len(after) < len(pairs):
        return ()
    order = [min(after)]
    while len(order) < len(after) and after.get(order[-1], order[0]) != order[0]:
        order.append(after[order[-1]])
    closed = after.get(order[-1]) == order[0]
    return tuple(order) if closed and len(order) == len(after) else ()
