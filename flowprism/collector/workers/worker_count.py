"""How many workers there are to be: one more while they are busy and a core is free, one fewer after long rest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A worker is added when one has been so busy, and all together in the mean, for so long. Where one alone is busy, its
# exporters may be a single one, which cannot be divided.
_BUSY, _BUSY_MEAN, _BUSY_S = 0.8, 0.6, 3.0
_FREE_CORES = 1.0
# One is taken away when the others would not have been busier than this, for so long.
_AT_REST, _AT_REST_S = 0.4, 600.0
_SETTLES_S = 10.0  # after a change, in which new workers catch up


@dataclass(frozen=True, slots=True)
class GroupLoad:
    """What the workers did in a stretch of time.

    Attributes:
        span_s: its length.
        busy: share of it in which each worker's decoder was at work; 1 where it thins out samples.
        free_cores: processors' worth of time that nothing used.
    """

    span_s: float
    busy: Sequence[float]
    free_cores: float


class WorkerCount:
    """Decides how many workers there are to be.

    Attributes:
        least, most: bounds; where they are equal nothing is decided.
    """

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most
        self._busy_s = self._rest_s = 0.0
        self._settles_s = 0.0

    def changed(self) -> None:
        """Take note that the number of workers has changed."""
        self._busy_s = self._rest_s = 0.0
        self._settles_s = _SETTLES_S

    def wanted(self, load: GroupLoad) -> int:
        """How many workers there are to be, given what they did since the last time."""
        now = len(load.busy)
        self._settles_s -= load.span_s
        if self.least == self.most or not now or self._settles_s > 0:
            return now
        mean = sum(load.busy) / now
        is_busy = max(load.busy) >= _BUSY and mean >= _BUSY_MEAN and load.free_cores >= _FREE_CORES
        self._busy_s = self._busy_s + load.span_s if is_busy else 0.0
        is_at_rest = now > 1 and sum(load.busy) / (now - 1) <= _AT_REST
        self._rest_s = self._rest_s + load.span_s if is_at_rest else 0.0
        if self._busy_s >= _BUSY_S:
            return min(now + 1, self.most)
        if self._rest_s >= _AT_REST_S:
            return max(now - 1, self.least)
        return now


def idle_s(stat: Path = Path("/proc/stat")) -> float:
    """Processor time that nothing used since the machine started, over all processors; 0 where that is not known."""
    try:
        fields = stat.read_text().split("\n", 1)[0].split()
        return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
