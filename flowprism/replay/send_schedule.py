"""When each datagram of a replay is to be sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]

_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class SendPace:
    """How fast to send: at `per_s` datagrams a second where that is given, else `speed` times as fast as recorded.

    Attributes:
        speed: 1 is the original timing; infinity leaves no pauses.
        per_s: datagrams a second; 0 goes by `speed`.
    """

    speed: float = 1.0
    per_s: float = 0.0


class Schedule:
    """Times of sending of one datagram after the other; never earlier than the one before, so that order is kept."""

    def __init__(self, pace: SendPace) -> None:
        self._pace = pace
        self._sent = 0
        self._first_ns: int | None = None
        self._last_s = 0.0

    def due_s(self, times_ns: npt.NDArray[np.int64]) -> Times:
        """When the next datagrams are due, in seconds since the first one of all.

        Args:
            times_ns: when they were recorded.
        """
        if not len(times_ns):
            return np.zeros(0)
        if self._first_ns is None:
            self._first_ns = int(times_ns[0])
        if self._pace.per_s:
            due = (self._sent + np.arange(len(times_ns))) / self._pace.per_s
        else:
            due = (times_ns - self._first_ns) / _NANOSECONDS / self._pace.speed
        self._sent += len(times_ns)
        ordered = np.maximum.accumulate(np.maximum(due, self._last_s))
        self._last_s = float(ordered[-1])
        return ordered
