"""All ways to fill places with standbys."""

from __future__ import annotations

from diagnose.eviction.standby import UNFIT


def least_cost(table: list[list[float]]) -> float:
    """The least cost of all ways to fill places in order, each with a standby that is free, or with none."""
    ways = {0: 0.0}  # standbys in use, as bits -> least cost of the places so far
    for row in table:
        longer: dict[int, float] = {}
        for used, cost in ways.items():
            free = ((used | 1 << n, cost + own) for n, own in enumerate(row) if not used >> n & 1)
            for now, sum_ in ((used, cost + UNFIT), *free):
                longer[now] = min(longer.get(now, float("inf")), sum_)
        ways = longer
    return min(ways.values())
