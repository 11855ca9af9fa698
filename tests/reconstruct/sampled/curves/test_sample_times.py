"""Between which two times samples were taken."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS
from reconstruct.sampled.curves.sample_times import stamps

MS = 1_000_000


def samples(received_ms: list[int], holds_ms: list[int], times_ms: list[int]) -> Frame:
    """Samples by the arrival of their datagram, how long that may have held them, and when the decoder puts them."""
    return Frame(
        FLOWS,
        {
            "time_received_ns": np.array(received_ms) * MS,
            "time_flow_start_ns": np.array(times_ms) * MS,
            "time_flow_end_ns": np.array(times_ms) * MS,
            "time_uncertainty_ns": np.array(holds_ms) * MS // 2,
            "src_addr": np.zeros(len(received_ms)),
            "dst_addr": np.ones(len(received_ms)),
            "bytes": np.full(len(received_ms), 1500),
            "packets": np.ones(len(received_ms)),
        },
    )


def test_a_sample_lies_between_two_datagrams() -> None:
    """The one that opens its datagram is known to the time the previous one left; the others lie before the arrival."""
    when = stamps(samples([100, 100, 100, 140], [80, 80, 80, 40], [20, 40, 80, 100]))
    assert (when.time_ns // MS).tolist() == [20, 40, 80, 100]
    assert (when.earliest_ns // MS).tolist() == [20, 20, 20, 100]
    assert (when.latest_ns // MS).tolist() == [20, 100, 100, 100]


def test_an_agents_own_stamp_stays() -> None:
    """Uncertainty 0 is a stamp that the agent took, whenever its datagram came."""
    when = stamps(samples([100, 100], [0, 0], [30, 90]))
    assert (when.time_ns // MS).tolist() == [30, 90]
    assert (when.latest_ns == when.earliest_ns).all()
