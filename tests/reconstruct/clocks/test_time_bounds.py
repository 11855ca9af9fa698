"""Between which moments the packets of a feed were sent that dates them between two."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.clocks.time_bounds import dates

MS = 1_000_000
BEGIN_NS = 1_780_000_000_000_000_000


def packets(half_ms: list[int], at_ms: list[int], received_ms: list[int]) -> Flows:
    """Sampled packets from 0 to 1, whose datagrams were held for twice so long at most."""
    count = len(at_ms)
    start = BEGIN_NS + np.array(at_ms) * MS
    columns = {
        "time_flow_start_ns": start,
        "time_flow_end_ns": start,
        "time_received_ns": BEGIN_NS + np.array(received_ms) * MS,
        "time_uncertainty_ns": np.array(half_ms) * MS,
        "src_addr": np.zeros(count),
        "dst_addr": np.ones(count),
        "bytes": np.full(count, 4096),
        "packets": np.ones(count),
        "psn_first": np.arange(count),
    }
    return Flows(Frame(FLOWS, columns), ("10.0.0.0", "10.0.0.1"))


def test_both_ends_of_a_packet_know_when_it_was() -> None:
    """Within the span of its datagram; a time is found again though floating-point numbers round it."""
    found = dates(packets([50, 0], [40, 200], [100, 200]))
    assert found is not None
    asked = np.array([BEGIN_NS + 40 * MS + 100, BEGIN_NS + 200 * MS, BEGIN_NS + 300 * MS, np.nan])
    for end in (0, 1):
        earliest, latest = found.bounds(np.full(4, end), asked)
        np.testing.assert_allclose((earliest - BEGIN_NS) / MS, [0, 200, 300, np.nan], atol=0.001)
        np.testing.assert_allclose((latest - BEGIN_NS) / MS, [100, 200, 300, np.nan], atol=0.001)


def test_a_feed_whose_times_are_known_has_none() -> None:
    """Then nothing is looked up at all."""
    assert dates(packets([0, 0], [40, 200], [100, 200])) is None
