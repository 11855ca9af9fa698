"""What a page has read is kept a moment for the request for its spans, which its browser sends at once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

MOST, LONGEST_S = 4, 20.0  # a whole timeline is some tens of megabytes

Kept = TypeVar("Kept")


class Handing(Generic[Kept]):
    """A few things laid down under a name, each taken once; what nobody comes for is let go of."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing."""
        self._clock, self._lock = clock, Lock()
        self._kept: OrderedDict[Hashable, tuple[float, Kept]] = OrderedDict()

    def leave(self, name: Hashable, thing: Kept) -> None:
        """Lay something down; the oldest makes room for it."""
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = (self._clock(), thing)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def take(self, name: Hashable) -> Kept | None:
        """What was laid down under a name of late; None where nothing was, or somebody took it."""
        with self._lock:
            now_s = self._clock()
            while self._kept and now_s - next(iter(self._kept.values()))[0] > LONGEST_S:
                self._kept.popitem(last=False)
            found = self._kept.pop(name, None)
            return None if found is None else found[1]
