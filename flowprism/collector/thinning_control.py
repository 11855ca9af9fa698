"""When a worker thins out flow samples: it predicts that its ring will overflow, before it does.

The rate of arrival is compared with the rate at which the worker could work, which is what it decoded and stored over
the time that took it. Where the ring would be full soon, one in 2, 4 ... samples is kept (`capture.sflow.thinning`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from capture.sflow.thinning import MOST_THINNING

# Arrivals are taken as so much more than they were: a worker without any idle time takes it from the receiver, whose
# socket then overflows though the ring does not.
_MARGIN = 1.1
_AHEAD_S = 10.0  # the ring would be full within this time
_HALF_FULL = 0.5  # of the ring: from there on one measurement is enough, before it two in a row
_LOADED = 0.8  # share of its time that a worker is to be busy after a step up
_MOST_FACTOR = 4  # of one step up
_GAIN = 1.05  # a step that makes the worker no faster than this is not followed by another
# A step down needs a mean over this time that promises at most so much of the worker's time afterwards.
_CALM_S, _RELAXED = 4.0, 0.7


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """What a worker had to do, and did, in a stretch of time.

    Attributes:
        span_s: length of the stretch.
        busy_s: of it, time in which the worker was not waiting for datagrams.
        arrived: datagrams put into the ring.
        decoded: datagrams decoded.
        samples: flow samples of sFlow in these, those thinned out included.
        recent_per_s: datagrams that arrived in a second at its very end, however long it is.
        used: share of the ring that is not free, at its end.
        waiting: datagrams that use it.
    """

    span_s: float = 0.0
    busy_s: float = 0.0
    arrived: int = 0
    decoded: int = 0
    samples: int = 0
    recent_per_s: float = 0.0
    used: float = 0.0
    waiting: int = 0

    @property
    def arrival_per_s(self) -> float:
        """Datagrams that arrived in a second, in the mean."""
        return self.arrived / self.span_s if self.span_s else 0.0

    @property
    def capacity_per_s(self) -> float:
        """Datagrams that the worker could decode and store in a second."""
        if self.decoded:
            return self.decoded / self.busy_s if self.busy_s else math.inf
        return 0.0 if self.waiting else math.inf

    @property
    def room(self) -> float:
        """Datagrams that the ring still takes."""
        return self.waiting * (1 - self.used) / self.used if self.used and self.waiting else math.inf

    def plus(self, later: WorkerLoad) -> WorkerLoad:
        """This stretch and the next one."""
        sums = {name: getattr(self, name) + getattr(later, name) for name in ("span_s", "busy_s", "arrived", "decoded")}
        return replace(later, **sums, samples=self.samples + later.samples)


class ThinningControl:
    """Decides how many flow samples one stands for.

    Attributes:
        one_in: so many, a power of two; 1 while the worker keeps up.
    """

    def __init__(self) -> None:
        self.one_in = 1
        self._capacity: dict[int, float] = {}  # by `one_in`, when it was not enough the last time
        self._before = 1  # `one_in` before its last change
        self._warned = self._unsettled = False
        self._since = WorkerLoad()

    def observe(self, load: WorkerLoad) -> bool:
        """Take note of a stretch of time; whether `one_in` has changed.

        The stretch behind a change is passed over, for what it stores was decoded before.
        """
        if self._unsettled:
            self._unsettled = False
            return False
        self._since = self._since.plus(load)
        if _will_overflow(load):
            if self._warned or load.used >= _HALF_FULL:
                return self._keep_fewer(load)
            self._warned = True
            return False
        self._warned = False
        return self.one_in > 1 and self._since.span_s >= _CALM_S and self._keep_more()

    def _keep_fewer(self, load: WorkerLoad) -> bool:
        stepped_up = self._before < self.one_in
        if stepped_up and load.capacity_per_s < _GAIN * self._capacity.get(self._before, 0.0):
            return False
        self._capacity[self.one_in] = load.capacity_per_s
        factor = 2 if load.recent_per_s <= 2 * _LOADED * load.capacity_per_s else _MOST_FACTOR
        return self._set(min(self.one_in * factor, MOST_THINNING))

    def _keep_more(self) -> bool:
        """Keep as many samples as the last seconds say can be decoded.

        Twice the samples are at most twice the work; the capacity measured when it was not enough may promise more.
        """
        load, self._since = self._since, WorkerLoad()
        if load.used >= _HALF_FULL:
            return False
        one_in = 1
        while one_in < self.one_in:
            at_most = max(load.capacity_per_s * one_in / self.one_in, self._capacity.get(one_in, 0.0))
            if load.arrival_per_s < _RELAXED * at_most:
                return self._set(one_in)
            one_in *= 2
        return False

    def _set(self, one_in: int) -> bool:
        changed = one_in != self.one_in
        if changed:
            self._before, self.one_in, self._unsettled = self.one_in, one_in, True
        self._warned, self._since = False, WorkerLoad()
        return changed


def _will_overflow(load: WorkerLoad) -> bool:
    """Whether the ring is full soon if it goes on like this, and flow samples are part of what fills it."""
    growth_per_s = _MARGIN * load.recent_per_s - load.capacity_per_s
    return load.samples > 0 and growth_per_s > 0 and load.room < _AHEAD_S * growth_per_s
