"""The cheapest plan that reaches a goal, its neighbors, and goals that none reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import ExportingSwitches, fabric_ports, samples_per_s
from flowprism.feed_plan.plan_search import search
from flowprism.feed_plan.plan_text import render_json, render_text
from flowprism.feed_plan.shown_by_rate import ShownByRate
from tests.flowprism.feed_plan.sample import COSTS, fabric, shown

PORTS = fabric_ports(fabric(8, 16))


def test_ports_are_counted_by_role_and_speed() -> None:
    """Each end of a link is a port of its own switch."""
    assert (PORTS.hosts, PORTS.leaf_uplinks, PORTS.others) == ({400: 128}, {800: 64}, {800: 64})
    assert PORTS.at(ExportingSwitches.ALL) == {400: 128, 800: 128}


def test_samples_of_full_ports() -> None:
    """A port of 400 Gb/s has 727 samples a second at 1 in 16,384, as docs/first-cluster.md has it."""
    assert samples_per_s({400: 1}, {400: 16_384}, 1.0, 4200) == pytest.approx(727, abs=1)


def test_inventory_without_speeds_is_refused() -> None:
    """Nothing can be planned for ports of unknown number."""
    with pytest.raises(InputError, match="no endpoint with a switch and a speed"):
        fabric_ports(Inventory.model_validate({"schema": "flowprism.inventory/v1"}))


def test_cheapest_plan_is_the_sparsest_that_shows_the_goal() -> None:
    """1 in 65,536 shows 5 %; uplinks of 800 Gb/s are sampled half as often; leaves are enough."""
    choice = search(PORTS, FeedGoal(), COSTS, shown)
    assert choice.chosen.rates == {400: 65_536, 800: 131_072}
    assert choice.chosen.points is ExportingSwitches.LEAVES
    assert choice.unreachable == ()
    assert choice.chosen.minutes <= 10


def test_neighbors_are_one_rate_away() -> None:
    """Denser costs more and shows no more; sparser costs less and shows less."""
    choice = search(PORTS, FeedGoal(), COSTS, shown)
    assert choice.denser is not None
    assert choice.sparser is not None
    assert (choice.denser.rates[400], choice.sparser.rates[400]) == (16_384, 262_144)
    assert choice.denser.cost.cores > choice.chosen.cost.cores > choice.sparser.cost.cores
    text = render_text(choice, COSTS, {})
    assert "GiB; shows no more and no less" in text
    assert "no longer names stragglers, shows slowdowns from 20.0%" in text


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        (FeedGoal(slowdown_ratio=1.01), "a slowdown of 1.0%: the smallest is 5.0%"),
        (FeedGoal(minutes=0.5), "a finding within 0.5 minutes: 1.2 at least, by windows of 60 s"),
        (FeedGoal(cores=1e-6), "1e-06 cores: "),
        (FeedGoal(disk_gib=1e-3), "0.001 GiB of disk: "),
    ],
)
def test_goal_that_no_plan_reaches_is_named(goal: FeedGoal, says: str) -> None:
    """With the best that there is."""
    choice = search(PORTS, goal, COSTS, shown)
    assert len(choice.unreachable) == 1
    assert choice.unreachable[0].startswith(says)


def test_no_alternative_beats_another() -> None:
    """Of two alternatives neither is cheaper in cores and disk, quicker and shows more."""
    plans = search(PORTS, FeedGoal(), COSTS, shown).alternatives
    assert len(plans) > 2
    for one in plans:
        for other in plans:
            worse = (
                one.cost.cores > other.cost.cores,
                one.disk_gib > other.disk_gib,
                one.minutes > other.minutes,
                (one.shown.smallest_slowdown_ratio or 9) > (other.shown.smallest_slowdown_ratio or 9),
                bool(set(other.shown.named or ()) - set(one.shown.named or ())),
                one.points is ExportingSwitches.LEAVES and other.points is ExportingSwitches.ALL,
            )
            assert one is other or any(worse)


def test_order_of_the_inventory_changes_nothing() -> None:
    """The same bytes, whatever the order of hosts, switches and links."""
    inventory = fabric(3, 8)
    turned = inventory.model_copy(
        update={name: tuple(reversed(getattr(inventory, name))) for name in ("hosts", "switches", "links")}
    )
    one, other = (search(fabric_ports(i), FeedGoal(), COSTS, shown) for i in (inventory, turned))
    assert render_json(one, COSTS, {}) == render_json(other, COSTS, {})


def test_the_search_takes_as_long_for_any_number_of_ports() -> None:
    """Ports are counted by speed: of a hundred thousand as many plans are compared as of fifty."""
    compared = []
    for switches, hosts in ((3, 8), (1_600, 32)):
        ports, asked = fabric_ports(fabric(switches, hosts)), count()

        def counted(gbps: int, rate: int, window_s: float, asked: Iterator[int] = asked) -> ShownByRate:
            next(asked)
            return shown(gbps, rate, window_s)

        search(ports, FeedGoal(), COSTS, counted)
        compared.append((sum(ports.at(ExportingSwitches.ALL).values()), next(asked)))
    (few, small), (many, large) = compared
    assert few < 50
    assert many > 100_000
    assert small == large


def test_mixed_speeds_have_a_rate_each() -> None:
    """The slower ports may be sampled at another rate; what all show at least counts."""
    ports = replace(PORTS, hosts={400: 64, 100: 64})
    choice = search(ports, FeedGoal(slowdown_ratio=1.2), COSTS, lambda s, r, w: shown(s, r * 400 // s, w))
    assert choice.chosen.rates == {100: 65_536, 400: 262_144, 800: 524_288}
