"""Work on slices of a range, over the cores there are."""

from __future__ import annotations

import os

import pytest

from reconstruct.parallel import WORTH_A_THREAD, map_slices, parallel_map


@pytest.mark.parametrize("cores", [1, 2, 7])
@pytest.mark.parametrize("size", [0, 1, WORTH_A_THREAD, 5 * WORTH_A_THREAD + 3])
def test_slices_make_up_the_range_in_order(monkeypatch: pytest.MonkeyPatch, cores: int, size: int) -> None:
    """Whatever the number of cores, each number is worked on once, and results come in order."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    parts = map_slices(lambda some: list(range(size))[some], size)
    assert [n for part in parts for n in part] == list(range(size))
    assert len(parts) == max(min(cores, size // WORTH_A_THREAD), 1)


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_each_thing_is_worked_on_once_in_order(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """Results stand where the things stood, whatever the number of cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    assert parallel_map(str, range(20)) == list(map(str, range(20)))
    assert parallel_map(str, []) == []
