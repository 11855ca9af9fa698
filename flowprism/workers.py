"""Independent tasks over the cores of one machine, results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks prepared ahead for each process: one to work on, one to go on with.
AHEAD = 2


def in_order(function: Callable[[Task], Result], tasks: Iterable[Task], workers: int) -> Iterator[Result]:
    """`function` of each task, in the tasks' order, worked out by `workers` processes; by this one where that is 1.

    Tasks are made as they are needed, so that few are held at a time. Processes are spawned, not forked: compiled
    kernels and Arrow have threads of their own.

    Raises:
        concurrent.futures.process.BrokenProcessPool: a process was killed.
        Exception: what `function` raised for a task; results of those before it are given first.
    """
    if workers <= 1:
        yield from map(function, tasks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
