"""Tasks over threads: results in order, tasks made as needed, failures told."""

from __future__ import annotations

import threading

import pytest

from flowprism.worker_pool import WorkerPool, map_ordered

WORKERS = 2


def test_results_come_in_the_order_of_the_tasks_and_few_are_held() -> None:
    """The first tasks end last, and still come first; a task is made only when a thread works on it."""
    lock, held, most = threading.Lock(), 0, 0
    later = threading.Event()

    def task(number: int) -> int:
        nonlocal held, most
        with lock:
            held += 1
            most = max(most, held)
        return number

    def work(number: int) -> int:
        nonlocal held
        if number == 0:
            assert later.wait(10)
        if number == 5:
            later.set()
        with lock:
            held -= 1
        return -number

    assert list(map_ordered(work, task, 12, WorkerPool(WORKERS))) == [-number for number in range(12)]
    assert most <= WORKERS


@pytest.mark.parametrize("workers", [1, WORKERS])
def test_a_task_that_fails_is_told_after_those_before_it(workers: int) -> None:
    """What came before is given; the failure is the task's own."""
    results = map_ordered(int, ["1", "2", "x", "4"].__getitem__, 4, WorkerPool(workers))
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="'x'"):
        next(results)
