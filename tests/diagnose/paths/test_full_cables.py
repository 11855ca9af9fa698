"""Which links with a finding are slow because they, or others on the way, are full."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame, concat
from datamodel.reconstructed.connections import PAYLOADS
from datamodel.reports.findings import Finding, Subject
from datamodel.reports.report import Window
from diagnose.paths.crossing import incidents_ns
from diagnose.paths.full_cables import held_up_ratio
from diagnose.paths.shortest_routes import DirectedCables

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


def test_cables_between_two_switches_are_alike_without_ports() -> None:
    """A link that is found slow without a port may be any of them, so all are left out; another's time is apart."""
    links = [Link(a="leaf1", b="spine1"), Link(a="leaf1", b="spine1"), Link(a="leaf1", b="spine2", a_port=3, b_port=4)]
    slow = Finding(
        id="f", job="j", kind="slow_uplink", severity="warning", start_ns=3, end_ns=5, confidence=0.9,
        slowdown_ratio=1.5, subject=Subject(type="link", ids=("leaf1", "spine1")), summary="", action="",
    )  # fmt: skip
    found = incidents_ns([slow], DirectedCables.of(links), Window(start_ns=0, end_ns=9))
    assert found.tolist() == [[3, 5]] * 4 + [[0, 0]] * 2
