"""Chooses sampling rates, observation points, collectors and windows: the cheapest plan that reaches the goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from flowprism.feed_plan.cost_model import SFLOW, Costs, FeedLoad, LoadCost, cost_of
from flowprism.feed_plan.goal import FEWEST_ITERATIONS, LONGEST_WINDOW_S, FeedGoal
from flowprism.feed_plan.observation_points import ExportingSwitches, FabricPorts, samples_per_s
from flowprism.feed_plan.shown_by_rate import ShownByRate

RATES = (4_096, 16_384, 65_536, 262_144, 1_048_576)
WINDOWS_S = (60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, LONGEST_WINDOW_S)
EVERY_S = (30.0, 60.0, 120.0, 300.0, 600.0)
_ARRIVAL_S = 10.0  # a commit, and what a scan waits for late records (collect.commit_every_s, scans.settle_s)
_GIB = 1 << 30

# Of a port speed in Gb/s, a rate and a window in s.
ShownAt = Callable[[int, int, float], ShownByRate]


@dataclass(frozen=True, slots=True)
class FeedPlan:
    """One plan.

    Attributes:
        rates: N of 1 in N by port speed in Gb/s.
        points: which switches export.
        window_s, every_s: of scans.
        samples_per_s: that arrive.
        workers: collectors.
        cost: predicted.
        disk_gib: of what is kept, as it is committed; packing takes a third to a half of it.
        minutes: from the onset of a slowdown to the finding.
        shown: what the least shown port speed shows.
    """

    rates: Mapping[int, int]
    points: ExportingSwitches
    window_s: float
    every_s: float
    samples_per_s: float
    workers: int
    cost: LoadCost
    disk_gib: float
    minutes: float
    shown: ShownByRate

    @property
    def order(self) -> tuple[float, ...]:
        """Cheapest first: cores, disk, and of equal ones the quickest."""
        return self.cost.cores, self.disk_gib, self.minutes, *self.rates.values()


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The answer.

    Attributes:
        chosen: the cheapest plan that reaches the goal, or that reaches what can be reached.
        denser, sparser: the same with the next rates, where there are some.
        alternatives: plans that no other one beats in all of cost, disk, slowdown, time and what is named.
        unreachable: goals that no plan reaches, each with the best there is.
    """

    chosen: FeedPlan
    denser: FeedPlan | None
    sparser: FeedPlan | None
    alternatives: tuple[FeedPlan, ...]
    unreachable: tuple[str, ...]


def search(
    ports: FabricPorts, goal: FeedGoal, costs: Costs, shown: ShownAt, rates: Sequence[int] = RATES
) -> PlanChoice:
    """Search all plans."""
    plans = list(_plans(ports, goal, costs, shown, rates))
    chosen, unreachable = _cheapest(plans, goal)
    return PlanChoice(
        chosen,
        _next(plans, chosen, sorted(rates, reverse=True)),
        _next(plans, chosen, sorted(rates)),
        tuple(sorted(drop_dominated(plans), key=lambda plan: plan.order)),
        unreachable,
    )


def _plans(
    ports: FabricPorts, goal: FeedGoal, costs: Costs, shown: ShownAt, rates: Sequence[int]
) -> Iterator[FeedPlan]:
    speeds = sorted(ports.hosts)
    for chosen in product(rates, repeat=len(speeds)):
        by_speed = _for_all_speeds(ports, dict(zip(speeds, chosen, strict=True)))
        for points in ExportingSwitches:
            arriving = samples_per_s(ports.at(points), by_speed, goal.busy_ratio, goal.packet_bytes)
            for window_s, every_s in product(WINDOWS_S, EVERY_S):
                if every_s > window_s or window_s < FEWEST_ITERATIONS * goal.iteration_s:
                    continue
                cost = cost_of(costs, FeedLoad(SFLOW, arriving, ports.endpoints, window_s, every_s))
                yield FeedPlan(
                    by_speed, points, window_s, every_s, arriving, cost.workers(arriving), cost,
                    cost.stored_bytes_per_s * goal.keep_h * 3600 / _GIB,
                    (window_s / 2 + every_s + _ARRIVAL_S) / 60,
                    _least([shown(speed, by_speed[speed], window_s) for speed in speeds]),
                )  # fmt: skip


def _for_all_speeds(ports: FabricPorts, hosts: Mapping[int, int]) -> dict[int, int]:
    """With rates of speeds that only links between switches have: as many samples of a full port as the fastest NIC."""
    fastest = max(hosts)
    others = {*ports.leaf_uplinks, *ports.others} - hosts.keys()
    return {**hosts, **{speed: max(1, hosts[fastest] * speed // fastest) for speed in sorted(others)}}


def _least(shown: Sequence[ShownByRate]) -> ShownByRate:
    """What all port speeds show at least."""
    named = [set(one.named or ()) for one in shown]
    worst = shown[0]
    for one in shown[1:]:
        worst = replace(
            worst,
            rate=max(worst.rate, one.rate),
            timeline_error_ratio=_greater(worst.timeline_error_ratio, one.timeline_error_ratio),
            smallest_slowdown_ratio=_greater(worst.smallest_slowdown_ratio, one.smallest_slowdown_ratio),
        )
    return replace(worst, named=tuple(sorted(set.intersection(*named))))


def _greater(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _cheapest(plans: Sequence[FeedPlan], goal: FeedGoal) -> tuple[FeedPlan, tuple[str, ...]]:
    """The cheapest plan; goals are dropped, last first, where none reaches them all."""
    left, missed = list(plans), []
    for reaches, best in _GOALS:
        kept = [plan for plan in left if reaches(plan, goal)]
        if not kept:
            missed.append(best(left, goal))
        left = kept or left
    return min(left, key=lambda plan: plan.order), tuple(missed)


def _best_slowdown(plans: Sequence[FeedPlan], goal: FeedGoal) -> str:
    asked = f"a slowdown of {goal.slowdown_ratio - 1:.1%}"
    seen = [plan for plan in plans if plan.shown.smallest_slowdown_ratio is not None]
    if not seen:
        return f"{asked}: no rate shows any slowdown of such a job"
    best = min(seen, key=lambda plan: (plan.shown.smallest_slowdown_ratio or 0.0, plan.order))
    return f"{asked}: the smallest is {(best.shown.smallest_slowdown_ratio or 1) - 1:.1%}, at {rates_text(best)}"


def _quickest(plans: Sequence[FeedPlan], goal: FeedGoal) -> str:
    best = min(plans, key=lambda plan: (plan.minutes, plan.order))
    return f"a finding within {goal.minutes:g} minutes: {best.minutes:.1f} at least, by windows of {best.window_s:g} s"


def _fewest_cores(plans: Sequence[FeedPlan], goal: FeedGoal) -> str:
    best = min(plans, key=lambda plan: plan.order)
    return f"{goal.cores:g} cores: {best.cost.cores:.2g} at least, at {rates_text(best)}"


def _least_disk(plans: Sequence[FeedPlan], goal: FeedGoal) -> str:
    best = min(plans, key=lambda plan: (plan.disk_gib, plan.order))
    return f"{goal.disk_gib:g} GiB of disk: {best.disk_gib:.2g} at least, at {rates_text(best)}"


# Each goal in the order in which they are given up last, and the words for one that no plan reaches.
_GOALS: tuple[tuple[Callable[[FeedPlan, FeedGoal], bool], Callable[[Sequence[FeedPlan], FeedGoal], str]], ...] = (
    (lambda plan, goal: plan.shown.shows(goal.slowdown_ratio), _best_slowdown),
    (lambda plan, goal: plan.minutes <= goal.minutes, _quickest),
    (lambda plan, goal: goal.cores is None or plan.cost.cores <= goal.cores, _fewest_cores),
    (lambda plan, goal: goal.disk_gib is None or plan.disk_gib <= goal.disk_gib, _least_disk),
)


def rates_text(plan: FeedPlan) -> str:
    """`1 in 16384 (400 Gb/s), 1 in 4096 (100 Gb/s)`."""
    return ", ".join(f"1 in {rate} ({speed} Gb/s)" for speed, rate in sorted(plan.rates.items(), reverse=True))


def _next(plans: Sequence[FeedPlan], chosen: FeedPlan, rates: Sequence[int]) -> FeedPlan | None:
    """The plan with each rate one further along `rates`, all else equal."""
    following = dict(pairwise(rates))
    wanted = {speed: following.get(rate, rate) for speed, rate in chosen.rates.items() if rate in following}
    if not wanted:
        return None
    return next(
        (
            plan
            for plan in plans
            if (plan.points, plan.window_s, plan.every_s) == (chosen.points, chosen.window_s, chosen.every_s)
            and all(plan.rates[speed] == rate for speed, rate in wanted.items())
            and plan is not chosen
        ),
        None,
    )


def drop_dominated(plans: Sequence[FeedPlan]) -> list[FeedPlan]:
    """Plans that no other one beats: cheaper or equal in everything, and better in something."""
    cheapest: dict[tuple[object, ...], FeedPlan] = {}
    for plan in sorted(plans, key=lambda plan: plan.order):
        cheapest.setdefault(_benefit(plan), plan)
    kept = list(cheapest.values())
    return [plan for plan in kept if not any(_dominates(other, plan) for other in kept)]


def _benefit(plan: FeedPlan) -> tuple[object, ...]:
    return plan.minutes, plan.shown.smallest_slowdown_ratio, plan.shown.named, plan.points


def _dominates(one: FeedPlan, other: FeedPlan) -> bool:
    better = (
        one.cost.cores <= other.cost.cores, one.disk_gib <= other.disk_gib, one.minutes <= other.minutes,
        (one.shown.smallest_slowdown_ratio or 9e9) <= (other.shown.smallest_slowdown_ratio or 9e9),
        set(one.shown.named or ()) >= set(other.shown.named or ()),
        one.points is other.points or one.points is ExportingSwitches.ALL,
    )  # fmt: skip
    return one is not other and all(better)
