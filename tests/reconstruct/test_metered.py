"""What a meter's inactive timeout hides."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Streams
from reconstruct.metered import hidden_pause_ns

MS = 1_000_000


def streams(gaps_ms: list[float], lasting_ms: float | list[float] = 100) -> Streams:
    """One stream of records that last so long, with these pauses between them, twice."""
    lasting = np.broadcast_to(np.asarray(lasting_ms, np.float64), len(gaps_ms) + 1)
    starts = np.concatenate([[0.0], np.cumsum(lasting[:-1] + gaps_ms)])
    start, end = ((np.concatenate([t, t]) * MS).astype(np.int64) for t in (starts, starts + lasting))
    rows = len(start)
    zero, ends = np.zeros(rows, np.int64), np.array([0, rows // 2, rows])
    pair = np.array([0, 1]), np.array([1, 0]), np.arange(2), np.zeros(2, np.bool_)
    watch = np.zeros(2, np.int64), np.full(2, end[-1])
    return Streams(*pair, ends, *watch, start, end, zero, zero + 1, zero, zero, zero, ("a", "b"))


def test_the_shortest_pause_is_the_timeout() -> None:
    """Records that the active timeout cut follow at once; what came later than 500 ms began another record."""
    assert hidden_pause_ns(streams([0, 510, 0, 700, 900, 505] * 5)) == 505 * MS


def test_messages_of_their_own_hide_little() -> None:
    """Where short pauses show, nothing was merged."""
    assert hidden_pause_ns(streams([5, 20, 600, 8, 15, 700] * 5)) == 5 * MS


def test_few_pauses_tell_nothing() -> None:
    """A timeout cannot be read from a handful of records."""
    assert hidden_pause_ns(streams([510, 700])) == 0


def test_pauses_behind_records_that_the_active_timeout_ended_tell_nothing() -> None:
    """Where the next packet was 114 ms late when the longest records ended, a new one began all the same."""
    gaps_ms, lasting_ms = [114.0, 600.0, 700.0, 620.0] * 10, [1000.0, 400.0, 400.0, 300.0] * 10
    assert hidden_pause_ns(streams(gaps_ms, [*lasting_ms, 400.0])) == 600 * MS
