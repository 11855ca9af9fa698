"""Tasks over processes: results in order, tasks made as needed, failures told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flowprism.workers import AHEAD, Crew, in_order


def test_results_come_in_the_order_of_the_tasks_and_few_are_made_ahead() -> None:
    """No more tasks are held than two a process, whatever their number."""
    made = 0

    def tasks() -> Iterator[int]:
        nonlocal made
        for number in range(-12, 0):
            made += 1
            yield number

    given = 0
    for result in in_order(abs, tasks(), Crew(2)):
        assert result == 12 - given
        given += 1
        assert made <= given + 2 * AHEAD
    assert given == 12


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_fails_is_told_after_those_before_it(workers: int) -> None:
    """What came before is given; the failure is the task's own."""
    results = in_order(int, ["1", "2", "x", "4"], Crew(workers))
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="'x'"):
        next(results)
