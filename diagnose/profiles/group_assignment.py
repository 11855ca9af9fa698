"""Costs of profiles at endpoints -> the cheapest assignment, one to one, that keeps process groups together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diagnose.profiles.intervals import Ints
from diagnose.profiles.phases import Floats

# More than any sum of logarithms of probabilities; what costs it is no place.
NEVER = 1e9


@dataclass(frozen=True, slots=True)
class Sides:
    """Process groups of profiles and of endpoints.

    Attributes:
        profiles, endpoints: rows of each group.
        fitting: (groups of profiles, groups of endpoints) whether they have as many members.
    """

    profiles: tuple[Ints, ...]
    endpoints: tuple[Ints, ...]
    fitting: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, profile_group: Ints, profile_members: Ints, endpoint_group: Ints, endpoint_members: Ints) -> Sides:
        """Group rows. A group whose ranks are not listed fits any that is large enough."""
        mine = tuple(np.flatnonzero(profile_group == group) for group in np.unique(profile_group))
        theirs = tuple(np.flatnonzero(endpoint_group == group) for group in np.unique(endpoint_group))
        sizes, found = (
            np.array([members[rows[0]] for rows in groups])
            for members, groups in ((profile_members, mine), (endpoint_members, theirs))
        )
        enough = np.array([len(rows) for rows in mine])[:, None] <= np.array([len(rows) for rows in theirs])
        return cls(mine, theirs, enough & ((sizes[:, None] == 0) | (sizes[:, None] == found)))


@dataclass(frozen=True, slots=True)
class ProfileAssignment:
    """The endpoint's row of each profile, -1 none, and what all cost together."""

    cost: float
    endpoint: Ints


class GroupAssignment:
    """The cheapest assignment, and those that are cheapest when a profile must not have its endpoint.

    Within two groups the cheapest assignment is found first, then that of groups to groups.
    """

    def __init__(self, costs: Floats, sides: Sides) -> None:
        self._costs, self._sides = costs, sides
        shape = sides.fitting.shape
        inner = [[self._inner(p, q, costs) for q in range(shape[1])] for p in range(shape[0])]
        self._table = np.array([[cost for cost, _ in row] for row in inner])
        self._chosen = [[chosen for _, chosen in row] for row in inner]

    def cheapest(self) -> ProfileAssignment:
        """Where nothing is forbidden."""
        rows, columns = _solved(self._table)
        endpoint = np.full(len(self._costs), -1, np.int64)
        for p, q in zip(rows.tolist(), columns.tolist(), strict=True):
            endpoint[self._sides.profiles[p]] = self._chosen[p][q]
        placed = (endpoint >= 0) & (self._costs[np.arange(len(endpoint)), endpoint] < NEVER)
        short = NEVER * (len(self._table) - len(rows))
        return ProfileAssignment(float(self._table[rows, columns].sum()) + short, np.where(placed, endpoint, -1))

    def without(self, profile: int, endpoints: Ints) -> tuple[float, int]:
        """What the cheapest costs that has a profile at none of some endpoints, and where it has it; -1 nowhere."""
        group = next(p for p, rows in enumerate(self._sides.profiles) if profile in rows)
        costs, table = self._costs.copy(), self._table.copy()
        costs[profile, endpoints] = NEVER
        inner = [self._inner(group, q, costs) for q in range(table.shape[1])]
        table[group] = [cost for cost, _ in inner]
        rows, columns = _solved(table)
        cost = float(table[rows, columns].sum()) + NEVER * (len(table) - len(rows))
        if group not in rows:
            return cost, -1
        column = int(columns[rows == group][0])
        place = int(inner[column][1][self._sides.profiles[group] == profile][0])
        return cost, place if costs[profile, place] < NEVER else -1

    def _inner(self, p: int, q: int, costs: Floats) -> tuple[float, Ints]:
        mine, theirs = self._sides.profiles[p], self._sides.endpoints[q]
        if not self._sides.fitting[p, q]:
            return NEVER, np.full(len(mine), -1, np.int64)
        rows, columns = _solved(costs[np.ix_(mine, theirs)])
        return float(costs[mine[rows], theirs[columns]].sum()), theirs[columns]


def _solved(table: Floats) -> tuple[Ints, Ints]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - most profiles say their rank, and need none

    rows, columns = linear_sum_assignment(table)
    return np.asarray(rows), np.asarray(columns)
