"""Keeps what a page has read for the request for its spans, which the browser sends right after."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

MOST, LONGEST_S = 4, 20.0  # a whole timeline is some tens of megabytes

Kept = TypeVar("Kept")


class Handing(Generic[Kept]):
    """A small cache from which each entry is taken once; entries expire after LONGEST_S seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty cache."""
        self._clock, self._lock = clock, Lock()
        self._kept: OrderedDict[Hashable, tuple[float, Kept]] = OrderedDict()

    def leave(self, name: Hashable, thing: Kept) -> None:
        """Store an entry; the oldest is evicted when there are more than MOST."""
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = (self._clock(), thing)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def take(self, name: Hashable) -> Kept | None:
        """Remove and return an entry; None where there is none, or it has expired or was taken before."""
        with self._lock:
            now_s = self._clock()
            while self._kept and now_s - next(iter(self._kept.values()))[0] > LONGEST_S:
                self._kept.popitem(last=False)
            found = self._kept.pop(name, None)
            return None if found is None else found[1]
