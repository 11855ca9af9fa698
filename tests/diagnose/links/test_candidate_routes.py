"""Which cables streams may have passed, and which they must have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from datamodel.reconstructed.paths import PATH_INTERVALS, Paths
from diagnose.links.candidate_routes import routes, steady
from reconstruct.streams.paths import find_uplink_ports

LEAVES = ("leaf1", "leaf2", "leaf3")
# Each leaf's port to spine n is 10 + n, each spine's port to leaf n is n.
TWO_TIERS = tuple(
    Link(a=leaf, a_port=10 + spine, b=f"spine{spine}", b_port=n)
    for n, leaf in enumerate(LEAVES, 1)
    for spine in (1, 2, 3)
)
Stay = tuple[int, str, int, bool, int, int]


def seen(cables: Sequence[Link], *stays: Stay) -> Paths:
    """Stays as stream, switch, interface, whether it left, time, sightings."""
    doors = find_uplink_ports(cables)
    rows = [(stream, doors.index((switch, port)), out, at, at, n) for stream, switch, port, out, at, n in sorted(stays)]
    columns = {name: [row[n] for row in rows] for n, name in enumerate(PATH_INTERVALS.names)}
    return Paths(Frame(PATH_INTERVALS, columns), doors, tuple(cables))


def way(paths: Paths, ends: tuple[str | None, str | None], *, sure: bool = True) -> list[tuple[str, str]]:
    """Cables, in their direction, that stream 0 must have passed; or may have."""
    found = routes(paths, (0, 100), np.array([0]), [ends], np.ones(1, np.bool_))
    told = np.flatnonzero((found.must if sure else found.may)[0]).tolist()
    cables = [(paths.cables[n // 2], n % 2) for n in told]
    return [(c.b, c.a) if back else (c.a, c.b) for c, back in cables]


def test_without_sightings_all_shortest_ways_are_open() -> None:
    """Any of three spines; nothing leads over a third leaf; inside a switch no cable is passed."""
    nobody = seen(TWO_TIERS)
    assert len(way(nobody, ("leaf1", "leaf2"), sure=False)) == 6
    assert way(nobody, ("leaf1", "leaf2")) == []
    assert way(nobody, ("leaf1", "leaf1"), sure=False) == []
    assert len(way(nobody, (None, "leaf1"), sure=False)) == 2 * len(TWO_TIERS)


@pytest.mark.parametrize(
    "stay", [(0, "leaf1", 12, True, 5, 1), (0, "leaf2", 12, False, 5, 1), (0, "spine2", 1, False, 5, 1)]
)
def test_one_switch_tells_the_whole_way(stay: Stay) -> None:
    """Out of the first leaf, into the second, or at the spine: the rest follows."""
    assert way(seen(TWO_TIERS, stay), ("leaf1", "leaf2")) == [("leaf1", "spine2"), ("spine2", "leaf2")]


def test_sightings_of_other_times_do_not_count() -> None:
    """A connection that was moved later may have gone anywhere before."""
    assert way(seen(TWO_TIERS, (0, "leaf1", 12, True, 200, 9)), ("leaf1", "leaf2")) == []


def test_a_connection_seen_on_two_cables_passed_either() -> None:
    """Moved within the time: the third spine is out, neither of the two is sure."""
    moved = seen(TWO_TIERS, (0, "leaf1", 11, True, 5, 3), (0, "leaf1", 12, True, 50, 3))
    assert way(moved, ("leaf1", "leaf2")) == []
    assert {a for a, _ in way(moved, ("leaf1", "leaf2"), sure=False)} == {"leaf1", "spine1", "spine2"}


def test_a_sighting_off_all_ways_concludes_nothing() -> None:
    """A host on two leaves may leave by the other one: then any cable is open."""
    astray = seen(TWO_TIERS, (0, "leaf3", 12, True, 5, 9))
    assert way(astray, ("leaf1", "leaf2")) == []
    assert len(way(astray, ("leaf1", "leaf2"), sure=False)) == 2 * len(TWO_TIERS)


def test_members_of_an_aggregate_are_told_apart_by_their_own_ports_only() -> None:
    """Two cables between the same switches: one port each tells, an index they share leaves both."""
    apart = [Link(a="a", a_port=n, b="b", b_port=n) for n in (1, 2)]
    assert way(seen(apart, (0, "a", 2, True, 5, 1)), ("a", "b")) == [("a", "b")]
    shared = [Link(a="a", a_port=100, b="b", b_port=n) for n in (1, 2)]
    assert way(seen(shared, (0, "a", 100, True, 5, 1)), ("a", "b")) == []
    assert len(way(seen(shared, (0, "a", 100, True, 5, 1)), ("a", "b"), sure=False)) == 2


def test_three_tiers() -> None:
    """Leaving the leaf tells the pods' aggregation switches; which of their cores it was, the core switch tells."""
    cables = [
        Link(a=f"leaf{pod}{n}", a_port=agg, b=f"agg{pod}{agg}", b_port=n)
        for pod in (1, 2)
        for n in (1, 2)
        for agg in (1, 2)
    ]
    cables += [
        Link(a=f"agg{pod}{agg}", a_port=20 + core, b=f"core{agg}{core}", b_port=pod)
        for pod in (1, 2)
        for agg in (1, 2)
        for core in (1, 2)
    ]
    first = (0, "leaf11", 2, True, 5, 1)
    assert way(seen(cables, first), ("leaf11", "leaf21")) == [("leaf11", "agg12"), ("agg22", "leaf21")]
    both = seen(cables, first, (0, "core21", 1, False, 5, 1))
    assert sorted(way(both, ("leaf11", "leaf21"))) == [
        ("agg12", "core21"),
        ("agg22", "leaf21"),
        ("core21", "agg22"),
        ("leaf11", "agg12"),
    ]


def test_packets_spread_over_cables_tell_no_way() -> None:
    """A connection that changes doors with every sighting is sprayed; one that is moved once is not."""
    assert steady(seen(TWO_TIERS, (0, "leaf1", 11, True, 5, 30), (0, "leaf1", 12, True, 50, 30)))
    sprayed = [(0, "leaf1", 11 + n % 3, True, n, 1) for n in range(30)]
    assert not steady(seen(TWO_TIERS, *sprayed))
    assert not steady(seen(TWO_TIERS, (0, "leaf1", 11, True, 5, 3)))
    assert not steady(seen(TWO_TIERS))
