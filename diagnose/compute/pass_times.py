"""Delays of sends -> compute before them: of several sends the quickest tells, others may have waited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.compute.send_delays import SendDelays
from diagnose.compute.stragglers import READY_SHARE

# So many endpoints of a stage tell its compute.
SAMPLE = 256


class StageDelays(NamedTuple):
    """Delays of a stage's endpoints before one kind of send, those that were seen, and their median."""

    values_ns: Float
    median_ns: float


class PassDelays:
    """What each stage's endpoints do in a period; delays before one kind of send are looked up once.

    Attributes:
        stages: (e,) stage of each endpoint.
        period: iterations to judge.
        count: how many stages there are.
    """

    def __init__(self, stages: Int, period: Int) -> None:
        """Take the stage of each endpoint, and the iterations to judge."""
        self.stages, self.period, self.count = stages, period, int(stages.max(initial=0)) + 1
        members = [np.flatnonzero(stages == stage) for stage in range(self.count)]
        self._sample = [np.ix_(own[:: max(len(own) // SAMPLE, 1)], period) for own in members]
        self._cells = np.maximum(np.bincount(stages, minlength=self.count) * len(period), 1)
        self._known: dict[tuple[int, int, int, int], StageDelays] = {}

    def delays(self, kinds: Iterable[SendDelays], stage: int) -> list[StageDelays]:
        """Those of each kind that was seen, of at most `SAMPLE` endpoints of a stage."""
        found = [self._delays(kind, stage) for kind in kinds]
        return [one for one in found if len(one.values_ns)]

    def min_delay_ns(self, kinds: Iterable[SendDelays], stage: int) -> float:
        """The least median delay of sends, those aside that were ready before their turn came; nan of none."""
        found = select_informative(self.delays(kinds, stage))
        return min((one.median_ns for one in found), default=float("nan"))

    def sends(self, kind: SendDelays) -> Bool:
        """(stages,) which stages send a message in most iterations."""
        seen = np.isfinite(kind.start_ns[:, self.period]).sum(axis=1)
        return np.asarray(np.bincount(self.stages, seen, self.count) / self._cells > 0.5)

    def _delays(self, kind: SendDelays, stage: int) -> StageDelays:
        name = kind.role, kind.towards, kind.slot, stage
        if name not in self._known:
            delay = kind.delay_ns[self._sample[stage]]
            delay = delay[np.isfinite(delay)]
            self._known[name] = StageDelays(delay, float(np.median(delay)) if len(delay) else 0.0)
        return self._known[name]


def select_informative(delays: list[StageDelays]) -> list[StageDelays]:
    """Those of sends that were not ready before their turn came."""
    longest_ns = max((one.median_ns for one in delays), default=0.0)
    return [one for one in delays if one.median_ns >= READY_SHARE * longest_ns]
