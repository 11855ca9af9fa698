"""Which links with a finding are slow because they, or others on the way, are full."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame, concat
from datamodel.reconstructed.connections import PAYLOADS
from datamodel.reports.findings import Finding, Subject, Suspect
from diagnose.paths.full_cables import explained, held_up_ratio, suspected_cables
from diagnose.paths.shortest_routes import NONE, DirectedCables

SECOND_NS = 1_000_000_000
SPEED = 50e9
WINDOW = (0, 10 * SECOND_NS)


def payloads(shares: tuple[float, ...]) -> Frame:
    """Ten seconds in which each connection sends every other second, at a share of a cable's speed."""
    start = np.repeat(np.arange(0, 10, 2) * SECOND_NS, len(shares))
    times = len(start) // len(shares)
    columns = {
        "connection": np.tile(np.arange(len(shares)), times),
        "start_ns": start,
        "end_ns": start + SECOND_NS,
        "bytes": np.tile(np.array(shares) * SPEED, times).astype(np.int64),
    }
    return Frame(PAYLOADS, columns)


@pytest.mark.parametrize(
    ("shares", "passes", "ratio"),
    [
        ((0.4, 0.57), [[0, 1], [0, 2]], 1.0),
        ((0.2, 0.3), [[0, 1], [0, 2]], 0.0),
        ((0.2, 0.3, 0.7), [[0, 1], [0, 2], [3, 1]], 0.5),
        ((0.2, 0.3, 0.7, 0.6), [[0, 1], [0, 2], [3, 1], [3, 2]], 1.0),
    ],
    ids=["full itself", "at half its speed", "one of two is held up elsewhere", "both are held up elsewhere"],
)
def test_time_is_explained_by_any_full_link_on_the_way(
    shares: tuple[float, ...], passes: list[list[int]], ratio: float
) -> None:
    """Pauses do not count; a cable that has become slower never carries so much, and nor does what it holds up."""
    assert held_up_ratio(payloads(shares), np.array(passes), np.full(4, SPEED), 0, WINDOW) == ratio


def test_only_the_time_of_the_finding_counts() -> None:
    """A cable that was full before it became slow is slow; before its first bytes nothing is known."""
    passes, speed = np.array([[0, 1], [0, 2]]), np.full(4, SPEED)
    before, slow = payloads((0.4, 0.57)), payloads((0.1, 0.1))
    later = slow.replace(start_ns=slow["start_ns"] + 10 * SECOND_NS, end_ns=slow["end_ns"] + 10 * SECOND_NS)
    rows = concat(PAYLOADS, [before, later])
    assert held_up_ratio(rows, passes, speed, 0, WINDOW) == 1
    assert held_up_ratio(rows, passes, speed, 0, (10 * SECOND_NS, 20 * SECOND_NS)) == 0
    assert held_up_ratio(rows, passes, speed, 0, (20 * SECOND_NS, 30 * SECOND_NS)) is None


def test_samples_and_unknown_speeds_explain_nothing() -> None:
    """A packet has no rate, and no link is known to be full whose speed is not."""
    passes, rows = np.array([[0, 1], [0, 2]]), payloads((0.5, 0.5))
    samples = rows.replace(end_ns=rows["start_ns"])
    assert held_up_ratio(samples, passes, np.full(4, SPEED), 0, WINDOW) is None
    assert held_up_ratio(rows, passes, np.zeros(4), 0, WINDOW) == 0


def test_a_link_without_traffic_in_the_time_of_the_finding_is_not_full() -> None:
    """Connections that pass it sent before; those of the cable are held up by what they pass."""
    passes, rows = np.array([[0, 1], [2, NONE]]), payloads((0.9, 0.5))
    early = rows.take(rows["connection"] == 1)
    late = rows.take(rows["connection"] == 0)
    late = late.replace(start_ns=late["start_ns"] + 10 * SECOND_NS, end_ns=late["end_ns"] + 10 * SECOND_NS)
    both = np.array([[0, 1], [0, 2]])
    window = (10 * SECOND_NS, 20 * SECOND_NS)
    assert held_up_ratio(concat(PAYLOADS, [early, late]), both, np.full(3, SPEED), 0, window) == 1
    assert held_up_ratio(concat(PAYLOADS, [early, late]), passes, np.full(3, SPEED), 2, window) is None


LINKS = [
    Link(a="leaf1", b="spine1"),
    Link(a="leaf1", b="spine1"),
    Link(a="leaf1", b="spine2", a_port=3, b_port=4),
    Link(a="leaf2", b="spine2", a_port=3, b_port=5),
]


def slow(subject: Subject, *suspects: Subject) -> Finding:
    """A slow uplink."""
    each = tuple(Suspect(type=s.type, ids=s.ids, probability=1 / len(suspects)) for s in suspects)
    return Finding(
        id="f", job="j", kind="slow_uplink", severity="warning", start_ns=3, end_ns=5, confidence=0.9,
        slowdown_ratio=1.5, subject=subject, suspects=each, summary="Slow.", action="Check it.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("finding", "numbers"),
    [
        (slow(Subject(type="link", ids=("leaf1", "spine1"))), [0, 1, 2, 3]),
        (slow(Subject(type="link", ids=("leaf1", "spine2"), a_port=3, b_port=4)), [4, 5]),
        (slow(Subject(type="link", ids=("leaf1", "spine2"), a_port=3, b_port=9)), []),
        (slow(Subject(type="switch", ids=("leaf2",))), [6, 7]),
        (
            slow(
                Subject(type="switch", ids=("spine2",)),
                Subject(type="link", ids=("leaf1", "spine2")),
                Subject(type="switch", ids=("leaf2",)),
            ),
            [4, 5, 6, 7],
        ),
        (
            slow(
                Subject(type="switch", ids=("leaf2",)),
                Subject(type="switch", ids=("leaf2",)),
                Subject(type="link", ids=("leaf2", "10.0.0.1")),
            ),
            [],
        ),
        (slow(Subject(type="link", ids=("leaf1", "spine1"))).model_copy(update={"cause": "ecmp_collision"}), []),
    ],
    ids=["alike without ports", "ports", "no such port", "a switch", "suspects", "or a NIC", "known to be full"],
)
def test_suspected_cables_are_those_that_it_can_be(finding: Finding, numbers: list[int]) -> None:
    """None where it may be something else than a cable."""
    assert suspected_cables(finding, DirectedCables.of(LINKS)) == numbers


def test_no_further_cable_is_asked_once_one_is_not_full() -> None:
    """Each takes a pass over all records that share a link with it."""
    asked = iter((0.5, 1.0))
    assert explained(slow(Subject(type="switch", ids=("leaf2",))), asked, (3, 5)) is None
    assert list(asked) == [1.0]


@pytest.mark.parametrize(
    ("ratios", "cleared"),
    [((1.0, 0.9), True), ((None, 1.0), True), ((1.0, 0.5), False), ((None, None), False)],
)
def test_full_links_explain_a_finding_only_if_they_do_on_all_its_cables(
    ratios: tuple[float | None, ...], cleared: bool
) -> None:
    """What is explained is worth knowing and nothing to check; where nothing is sent, nothing is explained."""
    found = explained(slow(Subject(type="switch", ids=("leaf2",))), ratios, (3, 5))
    assert (found is not None) == cleared
    if found is not None:
        assert (found.id, found.severity, found.cause) == ("f", "info", "ecmp_collision")
        assert "no cable is at fault" in found.action
