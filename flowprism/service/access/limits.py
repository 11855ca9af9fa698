"""Rate limits: a token bucket for each caller."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_KEYS = 20_000  # the longest unseen are dropped first: callers from ever new addresses fill no memory


@dataclass(slots=True)
class TokenBuckets:
    """Of each key, how much is left.

    Attributes:
        size: what a full bucket holds; each ask takes one.
        fill_s: in which time an empty one is full again.
        clock: seconds that only go on.
    """

    size: int
    fill_s: float
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, *keys: str) -> float:
        """Take one out of each bucket, or out of none; how many seconds until that is possible, 0 where it is."""
        with self._lock:
            now_s = self.clock()
            left = {key: self._now(key, now_s) for key in keys}
            missing = 1.0 - min(left.values())
            if missing > 0:
                return missing * self.fill_s / self.size
            for key, amount in left.items():
                self._put(key, amount - 1.0, now_s)
            return 0.0

    def give_back(self, *keys: str) -> None:
        """What was taken did not count."""
        with self._lock:
            now_s = self.clock()
            for key in keys:
                self._put(key, min(self._now(key, now_s) + 1.0, float(self.size)), now_s)

    def _now(self, key: str, now_s: float) -> float:
        amount, then_s = self._left.get(key, (float(self.size), now_s))
        return min(float(self.size), amount + (now_s - then_s) * self.size / self.fill_s)

    def _put(self, key: str, amount: float, now_s: float) -> None:
        self._left[key] = (amount, now_s)
        self._left.move_to_end(key)
        while len(self._left) > MOST_KEYS:
            self._left.popitem(last=False)
