"""Independent tasks over the cores of one machine or of a cluster, results in the order of the tasks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from socket import create_connection
from typing import TypeVar
from urllib.parse import urlsplit

from datamodel.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks prepared ahead for each of the scheduler's workers: one to work on, one to go on with.
AHEAD = 2
# A task goes to the scheduler whole, arrays and all, so that it can be given to another worker when one dies.
LARGEST_TASK = "4 GiB"
ANSWER_S = 5.0


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """The workers: so many threads of this process, or the workers of a dask scheduler (`tcp://HOST:PORT`)."""

    workers: int = 1
    scheduler: str | None = None

    @classmethod
    def asked(cls, workers: int | None, scheduler: str | None) -> WorkerPool:
        """As a user asks for it; a thread for each processor where nothing is said."""
        return cls(workers or os.cpu_count() or 1, scheduler)


def map_ordered(
    function: Callable[[Task], Result], task: Callable[[int], Task], count: int, crew: WorkerPool
) -> Iterator[Result]:
    """`function` of `task(0)`, `task(1)` ..., in this order, worked out by the crew.

    A task is made when a worker is free, so that few are held at a time. Threads, not processes: what
    takes long on large arrays runs without the interpreter's lock, and a process would have to be handed the arrays.
    A scheduler gives the task of a worker that dies to another one.

    Args:
        function: what is to be done with a task; for a scheduler it and the task can be pickled.
        task: makes a task by its number; independent of what was made before, and called by any thread.
        count: how many there are.
        crew: the workers.

    Raises:
        InputError: there is no scheduler, or it has no workers.
        Exception: what `function` raised for a task; results of those before it are given first.
    """
    if crew.scheduler is not None:
        yield from _scheduled(function, task, count, crew.scheduler)
    elif crew.workers <= 1:
        yield from (function(task(number)) for number in range(count))
    else:
        # No `with`: the garbage collector may close an abandoned generator, and waiting for threads there can deadlock.
        pool = ThreadPoolExecutor(crew.workers)
        yield from pool.map(lambda number: function(task(number)), range(count))


def _scheduled(
    function: Callable[[Task], Result], task: Callable[[int], Task], count: int, scheduler: str
) -> Iterator[Result]:
    with _dask(scheduler) as (executor, threads):
        waiting: deque[Future[Result]] = deque()
        for number in range(count):
            waiting.append(executor.submit(function, task(number)))
            if len(waiting) >= AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _dask(scheduler: str) -> Iterator[tuple[Executor, int]]:
    """What tasks are handed to, and how many it works on at once."""
    _check_reachable(scheduler)
    import dask  # noqa: PLC0415 - half a second, only with a cluster
    from distributed import Client  # noqa: PLC0415

    settings = {"distributed.admin.large-graph-warning-threshold": LARGEST_TASK}
    with (
        dask.config.set(settings),
        Client(  # type: ignore[no-untyped-call]
            scheduler, set_as_default=False
        ) as client,
    ):
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError(f"{scheduler}: the dask scheduler has no workers")
        yield client.get_executor(pure=False), threads


def _check_reachable(scheduler: str) -> None:
    """Fail at once where no scheduler answers: dask's client would try for half a minute."""
    try:
        address = urlsplit(scheduler)
        if address.scheme not in {"tcp", "tls"} or not address.hostname or not address.port:
            raise InputError(f"{scheduler}: not the address of a dask scheduler: expected tcp://HOST:PORT")
        with create_connection((address.hostname, address.port), ANSWER_S):
            pass
    except (OSError, ValueError) as error:
        raise InputError(f"{scheduler}: no dask scheduler answers: {error}") from None
