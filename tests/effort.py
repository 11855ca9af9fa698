"""What work takes, told apart from what else the machine does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable


def processor_s(work: Callable[[], object]) -> float:
    """Processor time of this process, all its threads, that some work takes."""
    before_s = time.process_time()
    work()
    return time.process_time() - before_s


def least(measure: Callable[[], float], enough: float, times: int = 5) -> float:
    """The least of what is measured: whatever else the machine does can only add to it.

    Args:
        measure: a time or another cost.
        enough: what is below it is not measured again.
        times: how often at most.
    """
    found = measure()
    for _ in range(times - 1):
        if found < enough:
            break
        found = min(found, measure())
    return found
