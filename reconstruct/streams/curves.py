"""Observations -> curves: how much each connection had sent by when, between bounds.

A connection sends no faster than its line and takes nothing back. Two observations in a row therefore leave a
parallelogram: the most it can have sent follows from the first, the least from the second. Where no time is uncertain
and the connection sent at its line's rate, both bounds are one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.ragged_arrays import offsets_of


class Interval(NamedTuple):
    """Least and most that values can be, (n,) each."""

    low: Float
    high: Float

    @property
    def width(self) -> Float:
        """(n,) how much is not known."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Curve:
    """Bounds on cumulative bytes over time, of many streams.

    Attributes:
        offsets: (n + 1,) bounds of each stream's observations, which ascend in time and in bytes.
        time_ns, error_ns, low_bytes, high_bytes: (observations,) as in `datamodel.reconstructed.observations`.
        bytes_per_ns: (n,) the most that each stream sends.
    """

    offsets: Int
    time_ns: Int
    error_ns: Int
    low_bytes: Int
    high_bytes: Int
    bytes_per_ns: Float

    @staticmethod
    def of(observations: Frame, streams: int, bytes_per_ns: Float) -> Curve:
        """The curves of some streams, numbered from 0, whose observations ascend by stream, time and bytes."""
        count = np.bincount(observations["stream"], minlength=streams)
        names = ("time_ns", "time_error_ns", "bytes_low", "bytes_high")
        time_ns, error_ns, low_bytes, high_bytes = (to_contiguous(observations[name]) for name in names)
        return Curve(offsets_of(count), time_ns, error_ns, low_bytes, high_bytes, bytes_per_ns)

    def bytes_at(self, stream: Int, at_ns: Int) -> Interval:
        """What each of some streams had sent by an instant, bytes.

        Args:
            stream: (n,) which.
            at_ns: (n,) when. Before the first observation nothing, behind the last everything.
        """
        before, after, inside = self._around(self.time_ns, stream, at_ns)
        rate = self.bytes_per_ns[stream]
        since = np.maximum(at_ns - self.time_ns[before] + self.error_ns[before], 0)
        until = np.maximum(self.time_ns[after] + self.error_ns[after] - at_ns, 0)
        least, most = self.low_bytes[before].astype(np.float64), self.high_bytes[after].astype(np.float64)
        low = np.maximum(least, self.low_bytes[after] - rate * until)
        high = np.minimum(most, self.high_bytes[before] + rate * since)
        return Interval(np.where(inside, low, least), np.where(inside, np.maximum(high, low), most))

    def time_at(self, stream: Int, sent_bytes: Int) -> Interval:
        """When each of some streams had sent so much, ns.

        Args:
            stream: (n,) which.
            sent_bytes: (n,) how much; of no more than the stream sent.
        """
        before, after, inside = self._around(self.low_bytes, stream, sent_bytes - 1)
        rate = self.bytes_per_ns[stream]
        low = self.time_ns[before] - self.error_ns[before] + np.maximum(sent_bytes - self.high_bytes[before], 0) / rate
        high = self.time_ns[after] + self.error_ns[after] - np.maximum(self.low_bytes[after] - sent_bytes, 0) / rate
        earliest = np.where(inside, low, self.time_ns[after] - self.error_ns[after])
        return Interval(
            earliest, np.maximum(np.where(inside, high, self.time_ns[after] + self.error_ns[after]), earliest)
        )

    def _around(self, column: Int, stream: Int, values: Int) -> tuple[Int, Int, np.ndarray]:
        """(n,) last observation at or before a value, the one behind it, and whether both are there."""
        first, last = self.offsets[stream], self.offsets[stream + 1] - 1
        before = _last_not_above(first, last + 1, column, to_contiguous(np.asarray(values, np.int64)))
        inside = (before >= first) & (before < last)
        return np.clip(before, first, last), np.clip(before + 1, first, last), inside


@compiled
def _last_not_above(low: Int, high: Int, column: Int, values: Int) -> Int:
    """(n,) place of the last entry of column[low:high], ascending, that is not above each value; low - 1 for none."""
    found = np.empty(len(values), np.int64)
    for k in range(len(values)):
        a, b = low[k], high[k]
        while a < b:
            middle = (a + b) // 2
            if column[middle] <= values[k]:
                a = middle + 1
            else:
                b = middle
        found[k] = a - 1
    return found
