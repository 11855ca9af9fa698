"""When a worker is added or taken away: decided from a second's load after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowprism.collector.workers.worker_count import GroupLoad, WorkerCount, idle_s


def wanted(count: WorkerCount, seconds: int, *busy: float, free: float = 2.0) -> int:
    """How many there are to be after so many seconds of one load."""
    found = len(busy)
    for _ in range(seconds):
        found = count.wanted(GroupLoad(1.0, busy, free))
        if found != len(busy):
            break
    return found


def test_busy_workers_get_one_more() -> None:
    """Three busy seconds in a row do it, as far as the range goes."""
    assert wanted(WorkerCount(1, 4), 2, 0.9) == 1
    assert wanted(WorkerCount(1, 4), 3, 0.9) == 2
    assert wanted(WorkerCount(1, 4), 99, 1.0, 1.0, 1.0, 1.0) == 4
    count = WorkerCount(1, 4)
    assert [count.wanted(GroupLoad(1.0, [busy], 2.0)) for busy in (0.9, 0.9, 0.5, 0.9, 0.9, 0.9)] == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("busy", "free"),
    [((0.7,), 2.0), ((1.0, 0.0), 2.0), ((1.0, 1.0), 0.5)],
    ids=["not so busy", "one exporter has it all", "no core is free"],
)
def test_no_worker_is_added(busy: tuple[float, ...], free: float) -> None:
    """Where another one would not help."""
    assert wanted(WorkerCount(1, 4), 99, *busy, free=free) == len(busy)


def test_a_fixed_number_stays() -> None:
    """Whatever the load is."""
    assert wanted(WorkerCount(1, 1), 99, 1.0) == 1
    assert wanted(WorkerCount(2, 2), 999, 0.0, 0.0) == 2


def test_a_long_rest_takes_one_away() -> None:
    """Ten minutes in which one fewer would have been at rest, too; never below the least."""
    assert wanted(WorkerCount(1, 4), 599, 0.1, 0.2) == 2
    assert wanted(WorkerCount(1, 4), 600, 0.1, 0.2) == 1
    assert wanted(WorkerCount(1, 4), 999, 0.1, 0.4) == 2
    assert wanted(WorkerCount(2, 4), 999, 0.1, 0.2) == 2
    assert wanted(WorkerCount(1, 4), 999, 0.0) == 1


def test_a_change_settles_first() -> None:
    """What new workers have to catch up with is no reason for another change."""
    count = WorkerCount(1, 4)
    count.changed()
    assert wanted(count, 11, 1.0) == 1
    assert wanted(count, 1, 1.0) == 2


def test_idle_time(tmp_path: Path) -> None:
    """From the kernel's first line; what it does not have is no idle time."""
    (tmp_path / "stat").write_text("cpu  10 0 10 700 300 0 0 0 0 0\ncpu0 1\n")
    assert idle_s(tmp_path / "stat") > 0
    assert idle_s(tmp_path / "none") == 0
    (tmp_path / "stat").write_text("cpu\n")
    assert idle_s(tmp_path / "stat") == 0
