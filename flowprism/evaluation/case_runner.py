"""Running many cases in parallel processes: the same outcomes in the same order for any number of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from flowprism.evaluation.suite import CaseName
from flowprism.evaluation.trial import Trial, run_trial
from flowprism.progress import Progress

Outcome = TypeVar("Outcome")


def run_cases(
    cases: Sequence[CaseName], workers: int | None = None, keep: Path | None = None, progress: Progress | None = None
) -> list[Trial]:
    """Trials of all cases, in their order.

    Args:
        cases: which.
        workers: processes; None for as many as there are cores, 1 for this one.
        keep: cases and reports are left below this folder.
        progress: called with the number of finished ones.
    """
    count = min(workers or os.cpu_count() or 1, max(len(cases), 1))
    trial = partial(run_trial, keep=keep)
    if count == 1:
        return _gather(map(trial, cases), len(cases), progress)
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:  # compiled kernels and Arrow have threads: no fork
        return _gather(pool.map(trial, cases), len(cases), progress)


def run_numbered(
    run: Callable[[int], Outcome], total: int, numbers: Sequence[int] | None, progress: Progress | None
) -> list[Outcome]:
    """Outcomes of a family's cases, one after the other in this process.

    Args:
        run: a case, by its number.
        total: cases of the family.
        numbers: of the cases; None for all.
        progress: called with the number of finished cases.
    """
    wanted = range(total) if numbers is None else numbers
    return _gather(map(run, wanted), len(wanted), progress)


def _gather(outcomes: Iterable[Outcome], total: int, progress: Progress | None) -> list[Outcome]:
    """Collect the outcomes of `total` cases as they come; `progress` is called with the number of finished ones."""
    found = []
    for outcome in outcomes:
        found.append(outcome)
        if progress is not None:
            progress("cases", len(found), total)
    return found
