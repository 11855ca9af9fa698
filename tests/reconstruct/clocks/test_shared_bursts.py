"""Bursts of connections as exporters see them."""

from __future__ import annotations

import numpy as np

from reconstruct.clocks.shared_bursts import index_bursts
from tests.reconstruct.streams.test_stream_builder import rows

SECOND = 10**9


def test_a_burst_lasts_as_long_as_any_of_its_records() -> None:
    """A meter's record of ten seconds, two within it and one behind are two bursts, whose ends ascend as they begin."""
    starts, ends = (SECOND * np.array(times) for times in ([0, 1, 4, 20], [10, 2, 5, 21]))
    flows = rows(time_flow_start_ns=starts, time_flow_end_ns=ends)
    (seen,) = index_bursts(flows, np.zeros(4, np.int64)).data
    assert (seen.start_ns // SECOND).tolist() == [0, 20]
    assert (seen.end_ns // SECOND).tolist() == [10, 21]
