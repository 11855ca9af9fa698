"""When samples were taken."""

from __future__ import annotations

import numpy as np

from datamodel.flows import FLOWS
from datamodel.frame import Frame
from reconstruct.sampled.stamps import stamps

MS = 1_000_000


def samples(arrivals_ms: list[int], holds_ms: list[int]) -> Frame:
    """Samples of one agent by the arrival of their datagram and how long that may have held them."""
    arrived = np.array(arrivals_ms) * MS
    return Frame(
        FLOWS,
        {
            "time_received_ns": arrived,
            "time_flow_start_ns": arrived,
            "time_flow_end_ns": arrived,
            "time_uncertainty_ns": np.array(holds_ms) * MS // 2,
            "sampler_address": np.zeros(len(arrived)),
            "src_addr": np.zeros(len(arrived)),
            "dst_addr": np.ones(len(arrived)),
            "bytes": np.full(len(arrived), 1500),
            "packets": np.ones(len(arrived)),
        },
    )


def test_the_first_sample_of_a_datagram_was_taken_when_the_previous_one_left() -> None:
    """It did not fit into that one any more; the others are spread up to their own arrival."""
    when = stamps(samples([100, 100, 100, 100, 140, 140], [80, 80, 80, 80, 40, 40]))
    assert (when.time_ns // MS).tolist() == [20, 40, 60, 80, 100, 120]
    assert (when.earliest_ns // MS).tolist() == [20, 20, 20, 20, 100, 100]
    assert (when.latest_ns // MS).tolist() == [20, 100, 100, 100, 100, 140]


def test_an_agents_own_stamp_stays() -> None:
    """Uncertainty 0 is a stamp that the agent took."""
    when = stamps(samples([100, 100, 100], [0, 0, 0]))
    assert (when.time_ns // MS).tolist() == [100, 100, 100]
    assert (when.latest_ns == when.earliest_ns).all()


def test_records_that_last_keep_their_start() -> None:
    """Only what was dated by its arrival is moved."""
    frame = samples([100, 100], [50, 50])
    frame = frame.replace(time_flow_end_ns=frame["time_flow_end_ns"] + MS)
    assert (stamps(frame).time_ns // MS).tolist() == [100, 100]
