"""Phases of profiles against phases of endpoints: the shift of iterations, and the likeliest assignment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from diagnose.profiles.group_assignment import NEVER, GroupAssignment, ProfileAssignment, Sides
from diagnose.profiles.intervals import Ints
from diagnose.profiles.options import PlacementOptions
from diagnose.profiles.phases import CommunicationPhases, Floats
from reconstruct.numeric.medians import row_medians


@dataclass(frozen=True, slots=True)
class Scales:
    """How far ends vary over iterations, begins too, and begins differ from endpoint to endpoint; ns."""

    end_ns: float
    begin_ns: float
    lag_ns: float
    own_lag_ns: float

    def costs(self, lags: Floats, ends: Floats) -> Floats:
        """(profiles, endpoints) minus the logarithm of the probability of all iterations, but for a constant."""
        typical = row_medians(lags)
        each = np.abs(lags - typical[..., None]) / self.begin_ns + np.abs(ends) / self.end_ns
        seen = np.isfinite(each).sum(axis=-1)
        # Iterations that were not seen count as the others do: to be seen less is no merit of an endpoint.
        costs = np.nansum(each, axis=-1) * each.shape[-1] / np.maximum(seen, 1)
        return np.asarray(np.where(seen > 0, costs + np.abs(typical - self.lag_ns) / self.own_lag_ns, NEVER))


class PhaseComparison:
    """Profiles' phases of one role next to endpoints' of one kind of collective, at any shift of their iterations."""

    def __init__(
        self, mine: CommunicationPhases, theirs: CommunicationPhases, forbidden: Floats, options: PlacementOptions
    ) -> None:
        self.mine, self.theirs, self.options = mine, theirs, options
        self.count, self.columns = mine.end_ns.shape[1], theirs.end_ns.shape[1]
        self.sides = Sides.of(mine.group, mine.members, theirs.group, theirs.members)
        self._forbidden = forbidden
        self._fellows = _fellows(self.sides.profiles, len(mine.row))

    def residuals(self, shift: int) -> tuple[Floats, Floats, Floats]:
        """(profiles, endpoints, iterations) of begins and ends, and the clocks' offset of each pair.

        All nan for a pair that has few iterations in common. Beyond the last shift the flows' iterations begin anew: no
        time they were recorded at, but what chance gives.
        """
        column = (shift + np.arange(self.count)) % self.columns
        ends = self.theirs.end_ns[:, column] - self.mine.end_ns[:, None]
        begins = self.theirs.begin_ns[:, column] - self.mine.begin_ns[:, None]
        few = np.isfinite(ends + begins).sum(axis=-1) < self.options.iterations
        ends[few] = begins[few] = np.nan
        offset = row_medians(ends)[..., None]
        return begins - offset, ends - offset, offset[..., 0]

    def _lags(self, begins: Floats) -> Iterator[Floats]:
        """How long after a rank's arrival, or that of another one of its group if that was later, bytes left."""
        yield begins
        for fellow in self._fellows:
            yield np.fmin(begins, begins[fellow])

    def costs(self, shift: int, scales: Scales) -> Floats:
        """(profiles, endpoints) of the pairs, each with the fellow that it may have waited for that fits best."""
        begins, ends, _ = self.residuals(shift)
        costs = np.minimum.reduce([scales.costs(lags, ends) for lags in self._lags(begins)])
        return np.asarray(costs + self._forbidden)

    def end_cost(self, shift: int) -> float:
        """Of all profiles, each at the endpoint whose ends fit it best."""
        return float(self._log_size(self.residuals(shift)[1]).min(axis=1).sum())

    def rough_costs(self, shift: int) -> Floats:
        """(profiles, endpoints) of the pairs by themselves, before it is known how far begins and ends may be off."""
        begins, ends, offset = self.residuals(shift)
        varying = [self._log_size(lags - row_medians(lags)[..., None]) for lags in self._lags(begins)]
        costs = self.count * (np.minimum.reduce(varying) + self._log_size(ends))
        return np.asarray(np.where(np.isfinite(offset), costs, NEVER) + self._forbidden)

    def _log_size(self, residuals: Floats) -> Floats:
        seen = np.isfinite(residuals).sum(axis=-1)
        sums = np.nansum(np.abs(residuals), axis=-1)
        size = np.where(seen > 0, sums / np.maximum(seen, 1), np.inf)
        return np.asarray(np.log(size + self.options.resolution_ns))

    def scales(self, shift: int, found: ProfileAssignment) -> Scales:
        """How far begins and ends are off in an assignment."""
        begins, ends, _ = self.residuals(shift)
        placed = np.flatnonzero(found.endpoint >= 0)
        at = placed, found.endpoint[placed]
        lags = np.array([some[at] for some in self._lags(begins)])
        varying = self._log_size(lags - row_medians(lags)[..., None])
        typical = row_medians(lags[varying.argmin(axis=0), np.arange(len(placed))])
        lag, least = float(np.nanmedian(typical)), self.options.resolution_ns
        return Scales(
            end_ns=max(float(np.nanmean(np.abs(ends[at]))), least),
            begin_ns=float(np.exp(varying.min(axis=0)).mean()),
            lag_ns=lag,
            own_lag_ns=max(float(np.nanmean(np.abs(typical - lag))), least),
        )


@dataclass(frozen=True, slots=True)
class PhaseFit:
    """The likeliest assignment at the shift that stands out.

    Attributes:
        rough_cost: of the best endpoint of each profile by itself; comparable between fits of the same profiles.
    """

    compared: PhaseComparison
    shift: int
    solver: GroupAssignment
    rough_cost: float

    def alternatives(self, profile: int) -> tuple[list[int], float]:
        """Rows of endpoints that a profile may be at, the likeliest first, and the probability of that."""
        found, options = self.solver.cheapest(), self.compared.options
        rows, others = [int(found.endpoint[profile])], 0.0
        while rows[-1] >= 0 and len(rows) <= options.alternatives + 1:
            cost, row = self.solver.without(profile, np.array(rows))
            ratio = float(np.exp(found.cost - cost))
            others += ratio
            if ratio * options.odds <= 1:
                break
            rows.append(row)
        return [row for row in rows[: options.alternatives + 1] if row >= 0], round(1 / (1 + others), 4)

    def ahead_ns(self, profile: int, row: int) -> int:
        """By which the flows' clock is ahead of a profile's, if it is at an endpoint."""
        offset_ns = float(self.compared.residuals(self.shift)[2][profile, row])
        return round(offset_ns) + self.compared.theirs.base_ns - self.compared.mine.base_ns


def fit_phases(compared: PhaseComparison) -> PhaseFit | None:
    """The fit of phases; None where none counts."""
    found = _shift(compared)
    if found is None:
        return None
    shift, rough_cost = found
    solver = GroupAssignment(compared.rough_costs(shift), compared.sides)
    for _ in range(compared.options.rounds):
        assigned = solver.cheapest()
        if (assigned.endpoint < 0).all():
            return None
        solver = GroupAssignment(compared.costs(shift, compared.scales(shift, assigned)), compared.sides)
    return PhaseFit(compared, shift, solver, rough_cost)


def _shift(compared: PhaseComparison) -> tuple[int, float] | None:
    """The shift that stands out from all others, and what it costs."""
    enough = compared.options.iterations <= compared.count < compared.columns
    if not enough or not compared.sides.fitting.any():
        return None
    tried = np.argsort([compared.end_cost(shift) for shift in range(compared.columns)], kind="stable")[
        : compared.options.shifts
    ]
    each = np.array([compared.rough_costs(shift).min(axis=1) for shift in tried.tolist()])
    # A profile that is nowhere to be seen at a shift speaks neither for nor against it.
    costs = np.where(each < NEVER, each, each.min(axis=0)).sum(axis=1)
    best, second = np.partition(costs, 1)[:2]
    shift = int(tried[costs.argmin()])
    stands_out = (second - best) / len(compared.mine.row) >= np.log(compared.options.odds)
    return (shift, float(best)) if stands_out and shift <= compared.columns - compared.count else None


def _fellows(groups: tuple[Ints, ...], count: int) -> list[Ints]:
    """By turns, another profile of each profile's group; itself where there is none left."""
    found = []
    for turn in range(1, max(map(len, groups))):
        fellow = np.arange(count)
        for rows in groups:
            fellow[rows] = np.roll(rows, -turn) if turn < len(rows) else rows
        found.append(fellow)
    return found
