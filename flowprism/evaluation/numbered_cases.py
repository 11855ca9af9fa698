"""Cases of a family with figures of its own, run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from flowprism.progress import Progress

Outcome = TypeVar("Outcome")


def run_numbered(
    numbers: Sequence[int], run_case: Callable[[int], Outcome], progress: Progress | None
) -> list[Outcome]:
    """Run each case, in order.

    Args:
        numbers: of the cases.
        run_case: a case by its number.
        progress: called with the number of finished cases.
    """
    found: list[Outcome] = []
    for number in numbers:
        found.append(run_case(number))
        if progress is not None:
            progress("cases", len(found), len(numbers))
    return found
