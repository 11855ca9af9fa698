"""What counters show at any moment while packets pass evenly: packets or bytes so far, and how fast they come."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int


class Passing:
    """Stretches of time in which something passes at an even pace, each on a counter; counters are numbered from 0."""

    def __init__(self, counter: Int, start_ns: Int, end_ns: Int, amount: Float | Int) -> None:
        """Take in the stretches.

        Args:
            counter: (n,) which counter each passes.
            start_ns: (n,) from when.
            end_ns: (n,) until when; one that takes no time takes a nanosecond.
            amount: (n,) how much passes.
        """
        end = np.maximum(end_ns, start_ns + 1)
        pace = amount / (end - start_ns)
        self._origin = int(start_ns.min()) if len(start_ns) else 0
        self._span = int(end.max()) - self._origin + 1 if len(start_ns) else 1
        places = np.concatenate([self._place(counter, start_ns), self._place(counter, end)])
        order = np.argsort(places, kind="stable")
        self._places = places[order]
        begins = np.diff(self._places // self._span, prepend=-1) != 0
        total = np.cumsum(np.concatenate([pace, -pace])[order])
        self._pace = total - _held(np.where(begins, np.concatenate([[0.0], total[:-1]]), 0.0), begins)
        step = np.diff(self._places, prepend=0) * np.concatenate([[0.0], self._pace[:-1]])
        sums = np.cumsum(np.where(begins, 0.0, step))
        self._sums = sums - _held(np.where(begins, sums, 0.0), begins)

    def _place(self, counter: Int, time_ns: Int) -> Int:
        """Counters one after the other on one axis of time."""
        inside: Int = counter * self._span + np.clip(time_ns - self._origin, 0, self._span - 1)
        return inside

    def _find(self, counter: Int, time_ns: Int) -> tuple[Int, Int, np.ndarray]:
        place = self._place(counter, time_ns)
        at = np.searchsorted(self._places, place, "right") - 1
        known = (at >= 0) & (self._places[at] // self._span == counter) if len(self._places) else at > 0
        return np.maximum(at, 0), place, known & (time_ns >= self._origin)

    def so_far(self, counter: Int, time_ns: Int) -> Float:
        """(m,) how much has passed each counter by each time."""
        if not len(self._places):
            return np.zeros(len(counter))
        at, place, known = self._find(counter, time_ns)
        return np.where(known, self._sums[at] + self._pace[at] * (place - self._places[at]), 0.0)

    def pace(self, counter: Int, time_ns: Int) -> Float:
        """(m,) how much passes each counter a nanosecond at each time."""
        if not len(self._places):
            return np.zeros(len(counter))
        at, _, known = self._find(counter, time_ns)
        return np.where(known, np.maximum(self._pace[at], 0.0), 0.0)


def _held(values: Float, begins: np.ndarray) -> Float:
    """Each counter's first value, on all of its rows."""
    first = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
    return values[first]
