"""What a meter's inactive timeout hides."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Streams
from reconstruct.metered import hidden_pause_ns

MS = 1_000_000


def streams(gaps_ms: list[float]) -> Streams:
    """One stream of records of 100 ms with these pauses between them, twice."""
    starts = np.cumsum([0.0, *(100 + g for g in gaps_ms)])
    start = (np.concatenate([starts, starts]) * MS).astype(np.int64)
    rows = len(start)
    zero, ends = np.zeros(rows, np.int64), np.array([0, rows // 2, rows])
    pair = np.array([0, 1]), np.array([1, 0]), np.arange(2), np.zeros(2, np.bool_)
    watch = np.zeros(2, np.int64), np.full(2, start[-1] + 100 * MS)
    return Streams(*pair, ends, *watch, start, start + 100 * MS, zero, zero + 1, zero, zero, zero, ("a", "b"))


def test_the_shortest_pause_is_the_timeout() -> None:
    """Records that the active timeout cut follow at once; what came later than 500 ms began another record."""
    assert hidden_pause_ns(streams([0, 510, 0, 700, 900, 505] * 5)) == 505 * MS


def test_messages_of_their_own_hide_little() -> None:
    """Where short pauses show, nothing was merged."""
    assert hidden_pause_ns(streams([5, 20, 600, 8, 15, 700] * 5)) == 5 * MS


def test_few_pauses_tell_nothing() -> None:
    """A timeout cannot be read from a handful of records."""
    assert hidden_pause_ns(streams([510, 700])) == 0
