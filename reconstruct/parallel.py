"""Work on many streams over the processor's cores: kernels run without the GIL, so threads do."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Fewer streams are not worth a thread.
WORTH_A_THREAD = 512


def map_slices(work: Callable[[slice], R], size: int) -> list[R]:
    """Do `work` on slices that make up `range(size)`, at least one; results in order, whatever the number of cores.

    Args:
        work: independent of how the range is cut; most of it runs without the GIL.
        size: how much there is.
    """
    parts = max(min(_cores(), size // WORTH_A_THREAD), 1)
    bounds = [size * n // parts for n in range(parts + 1)]
    return parallel_map(work, [slice(a, b) for a, b in pairwise(bounds)])


def parallel_map(work: Callable[[T], R], things: Sequence[T]) -> list[R]:
    """`work` of each of some things, in their order; it pays where much of it runs without the GIL."""
    threads = min(_cores(), len(things))
    if threads < 2:
        return [work(thing) for thing in things]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, things))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
