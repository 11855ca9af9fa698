"""When packets were sampled: the likeliest time that the decoder gave, and between which two it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """When packets were sampled, ns, (rows,) each: the likeliest time, and between which two it was."""

    time_ns: Int
    earliest_ns: Int
    latest_ns: Int


def stamps(frame: Frame) -> SampleTimes:
    """When each packet was sampled.

    A sample without a stamp of its agent's own was taken within twice its uncertainty before it was received. One that
    stands at the very begin of that span opened its datagram, because it did not fit into the one before: its time is
    known.

    Args:
        frame: flow records of single packets.
    """
    time_ns, half_ns = frame["time_flow_start_ns"], frame["time_uncertainty_ns"]
    received = frame["time_received_ns"]
    held = (half_ns > 0) & (time_ns <= received)
    earliest = np.where(held, np.minimum(received - 2 * half_ns, time_ns), time_ns)
    opens = time_ns <= earliest + 1  # the half is rounded up
    return SampleTimes(time_ns, earliest, np.where(held & ~opens, received, time_ns))
