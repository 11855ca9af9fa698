"""When samples show that connections were replaced."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, UDP, Flows
from reconstruct.membership.connection_lives import ReplacementTime
from reconstruct.membership.sampled_lives import find_replacements, sampled_lives

SECOND = 10**9
Connection = tuple[int, int, int, float, float]  # sender, receiver, queue pair, first and last second


def samples(*connections: Connection, every_s: float = 0.5) -> Flows:
    """A packet of each connection every half second."""
    rows = [
        (src, dst, pair, round((first + n * every_s) * SECOND))
        for src, dst, pair, first, last in connections
        for n in range(round((last - first) / every_s) + 1)
    ]
    src, dst, pair, time = np.array(rows, np.int64).T
    columns = {
        "time_flow_start_ns": time, "time_flow_end_ns": time, "src_addr": src, "dst_addr": dst, "dst_qp": pair,
        "proto": np.full(len(src), UDP), "bytes": np.full(len(src), 4096), "packets": np.full(len(src), 1),
        "sampling_rate": np.full(len(src), 1000),
    }  # fmt: skip
    return Flows(Frame(FLOWS, columns), tuple(f"10.0.0.{n}" for n in range(12)))


def replaced(
    *connections: Connection, hosts: list[str | None] | None = None
) -> list[tuple[list[int], list[ReplacementTime]]]:
    """What is found, with times in seconds."""
    known = sampled_lives(samples(*connections))
    return [
        (ends.tolist(), [ReplacementTime(a // SECOND, b // SECOND) for a, b in times])
        for ends, times in find_replacements(known, frozenset({11}), hosts, 12)
    ]


def test_lives_are_those_of_queue_pairs() -> None:
    """Two between the same endpoints; bytes are scaled by the rate."""
    found = sampled_lives(samples((0, 1, 7, 0, 10), (0, 1, 8, 4, 10)))
    lives = found.lives
    assert list(zip(lives.start_ns.tolist(), lives.end_ns.tolist(), strict=True)) == [
        (0, 10 * SECOND), (4 * SECOND, 10 * SECOND),
    ]  # fmt: skip
    assert lives.bytes.tolist() == [21 * 4_096_000, 13 * 4_096_000]
    assert found.patience_ns.tolist() == [1_500_000_000] * 2


def test_connections_that_end_before_others_begin_were_replaced() -> None:
    """Once, and twice; what goes on beside them is of the same part, what is elsewhere is not."""
    once = [(0, 1, 1, 0, 20), (1, 0, 2, 0, 60), (0, 2, 3, 30, 60), (5, 6, 4, 0, 60)]
    assert replaced(*once) == [([0, 1, 2], [ReplacementTime(20, 30)])]
    twice = [(0, 1, 1, 0, 20), (0, 1, 2, 30, 50), (0, 1, 3, 60, 80), (1, 0, 4, 0, 80)]
    assert replaced(*twice) == [([0, 1], [ReplacementTime(20, 30), ReplacementTime(50, 60)])]


def test_what_only_ends_or_begins_or_falls_silent_was_not_replaced() -> None:
    """Nor what serves all jobs, what is sent once, and what is seen too rarely to say that it ended."""
    assert replaced((0, 1, 1, 0, 20), (1, 0, 2, 0, 60)) == []
    assert replaced((0, 1, 1, 30, 60), (1, 0, 2, 0, 60)) == []
    assert replaced((0, 1, 1, 0, 20), (0, 1, 1, 40, 60), (1, 0, 2, 0, 20), (1, 0, 2, 40, 60)) == []
    assert replaced((0, 11, 1, 0, 20), (0, 11, 2, 30, 60), (0, 1, 3, 0, 60), (1, 0, 4, 0, 60)) == []
    assert replaced((0, 1, 1, 0, 60), (1, 0, 2, 0, 60), (0, 2, 3, 20, 22.5), (0, 2, 4, 30, 32.5)) == []
    assert replaced((0, 1, 1, 0, 60), (1, 0, 2, 0, 60), (0, 2, 3, 0, 2), (0, 2, 4, 30, 32)) == []


def test_rails_that_were_replaced_at_the_same_time_are_one_part() -> None:
    """Joined by a host of the inventory, or by the time alone; at other times they are two."""
    rails = [(0, 1, 1, 0, 20), (0, 1, 2, 30, 60), (4, 5, 3, 0, 22), (4, 5, 4, 31, 60)]
    assert replaced(*rails) == [([0, 1, 4, 5], [ReplacementTime(22, 30)])]
    hosts = ["a", "b", None, None, "a", "b", *[None] * 6]
    assert replaced(*rails, hosts=hosts) == [([0, 1, 4, 5], [ReplacementTime(22, 30)])]
    later = [(0, 1, 1, 0, 20), (0, 1, 2, 30, 60), (4, 5, 3, 0, 40), (4, 5, 4, 50, 60)]
    assert replaced(*later) == [([0, 1], [ReplacementTime(20, 30)]), ([4, 5], [ReplacementTime(40, 50)])]
