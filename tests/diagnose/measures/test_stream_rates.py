"""Rates count only the time with bytes under way."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.measures.stream_rates import rates
from reconstruct.numeric.medians import median_over
from tests.diagnose.hand_made import DP, PP, Op, operations


def test_a_rate_is_bytes_over_time_under_way() -> None:
    """Two operations of 1 kB in 1 us and 3 kB in 3 us are 8 Gbit/s, however long the pause between them."""
    ops = operations([Op(0, 1, 0, 1_000, bytes=1_000), Op(0, 1, 9_000_000, 9_003_000, slot=1, bytes=3_000)])
    found = rates(ops, 1)
    assert found.delivered_bps.tolist() == [[8e9]]
    assert (found.bytes.tolist(), found.busy_ns.tolist()) == ([[4_000.0]], [[4_000.0]])


def test_sent_and_delivered_differ_where_bytes_queue() -> None:
    """What leaves in a quarter of the time it is under way leaves four times as fast."""
    found = rates(operations([Op(0, 1, 0, 500, delivered_ns=2_000, bytes=1_000, busy_ns=2_000, sending_ns=500)]), 1)
    assert (found.sent_bps.item(), found.delivered_bps.item()) == (16e9, 4e9)


def test_only_complete_iterations_count() -> None:
    """Operations before the first edge (-1) and after the last are left out; where none was is nan."""
    ops = [Op(0, 1, 0, 1_000, iteration=i, bytes=1_000 * (i + 2)) for i in (-1, 0, 2, 3)]
    found = rates(operations(ops), 3)
    assert found.bytes.tolist() == [[2_000.0, 0.0, 4_000.0]]
    assert found.delivered_bps[0].tolist() == [16e9, pytest.approx(np.nan, nan_ok=True), 32e9]


def test_streams_keep_their_ends_and_roles() -> None:
    """One row a stream, ascending, also where operations of several streams alternate."""
    ops = [Op(3, 4, 0, 9, role=PP, stream=8), Op(0, 1, 0, 9, stream=2), Op(3, 4, 10, 19, role=PP, stream=8, slot=1)]
    found = rates(operations(ops), 1)
    assert found.streams.tolist() == [2, 8]
    assert list(zip(found.src.tolist(), found.dst.tolist(), found.role.tolist(), strict=True)) == [
        (0, 1, DP),
        (3, 4, PP),
    ]


def test_retransmissions_add_up() -> None:
    """By stream and iteration."""
    ops = [Op(0, 1, n, n + 1, iteration=n // 2, slot=n % 2, retransmitted_packets=n) for n in range(4)]
    assert rates(operations(ops), 2).retransmitted.tolist() == [[1.0, 5.0]]


def test_a_median_passes_over_what_was_not_seen() -> None:
    """A stream that was seen in none of the iterations has no median, without a warning."""
    values = np.array([[1.0, np.nan, 3.0, 100.0], [np.nan, np.nan, np.nan, 7.0]])
    assert median_over(values, np.array([0, 1, 2])).tolist() == [2.0, pytest.approx(np.nan, nan_ok=True)]
    assert np.isnan(median_over(values, np.array([0]))).tolist() == [False, True]
