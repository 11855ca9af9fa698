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


def test_abandoned_results_wait_for_no_thread() -> None:
    """Closing half-taken results waits for no task: the garbage collector may do it where waiting deadlocks."""
    go_on = threading.Event()
    results = map_ordered(lambda number: number == 0 or go_on.wait(30), lambda number: number, 4, WorkerPool(WORKERS))
    assert next(results)
    closing = threading.Thread(target=results.close)  # type: ignore[attr-defined]
    closing.start()
    closing.join(10)
    still_waits = closing.is_alive()
    go_on.set()
    closing.join()
    assert not still_waits
