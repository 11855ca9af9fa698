"""Independent tasks over the cores of one machine or of a cluster, results in the order of the tasks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from socket import create_connection
from typing import TypeVar
from urllib.parse import urlsplit

from datamodel.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks prepared ahead for each process: one to work on, one to go on with.
AHEAD = 2
# A task goes to the scheduler whole, arrays and all, so that it can be given to another worker when one dies.
LARGEST_TASK = "4 GiB"
ANSWER_S = 5.0


@dataclass(frozen=True, slots=True)
class Crew:
    """Who works: so many processes of this machine, or the workers of a dask scheduler (`tcp://HOST:PORT`)."""

    workers: int = 1
    scheduler: str | None = None

    @classmethod
    def asked(cls, workers: int | None, scheduler: str | None) -> Crew:
        """As a user asks for it; a process for each processor where nothing is said."""
        return cls(workers or os.cpu_count() or 1, scheduler)


def in_order(function: Callable[[Task], Result], tasks: Iterable[Task], crew: Crew) -> Iterator[Result]:
    """`function` of each task, in the tasks' order, worked out by the crew; by this process where that is all of it.

    Tasks are made as they are needed, so that few are held at a time. Processes are spawned, not forked: compiled
    kernels and Arrow have threads of their own. A scheduler gives the task of a worker that dies to another one.

    Raises:
        InputError: there is no scheduler, or it has no workers.
        concurrent.futures.process.BrokenProcessPool: a process of this machine was killed.
        Exception: what `function` raised for a task; results of those before it are given first.
    """
    if crew.scheduler is None and crew.workers <= 1:
        yield from map(function, tasks)
        return
    with _executor(crew) as (executor, processes):
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(executor.submit(function, task))
            if len(waiting) >= AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _executor(crew: Crew) -> Iterator[tuple[Executor, int]]:
    """What tasks are handed to, and how many it works on at once."""
    if crew.scheduler is None:
        with ProcessPoolExecutor(crew.workers, get_context("spawn")) as pool:
            yield pool, crew.workers
        return
    _check_reachable(crew.scheduler)
    import dask  # noqa: PLC0415 - half a second that only those pay who have a cluster
    from distributed import Client  # noqa: PLC0415

    settings = {"distributed.admin.large-graph-warning-threshold": LARGEST_TASK}
    with (
        dask.config.set(settings),
        Client(  # type: ignore[no-untyped-call]
            crew.scheduler, set_as_default=False
        ) as client,
    ):
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError(f"{crew.scheduler}: the dask scheduler has no workers")
        yield client.get_executor(pure=False), threads


def _check_reachable(scheduler: str) -> None:
    """Complain at once where nobody listens: dask's client would try for half a minute."""
    try:
        address = urlsplit(scheduler)
        if address.scheme not in {"tcp", "tls"} or not address.hostname or not address.port:
            raise InputError(f"{scheduler}: not the address of a dask scheduler: expected tcp://HOST:PORT")
        with create_connection((address.hostname, address.port), ANSWER_S):
            pass
    except (OSError, ValueError) as error:
        raise InputError(f"{scheduler}: no dask scheduler answers: {error}") from None
