"""When packets were sampled: their place in a datagram bounds it closer than the datagram's arrival does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.streams import Int

_DATAGRAM = ("sampler_address", "observation_domain_id", "time_received_ns")


@dataclass(frozen=True, slots=True)
class Stamps:
    """When packets were sampled, ns, (rows,) each: the likeliest time, and between which two it was."""

    time_ns: Int
    earliest_ns: Int
    latest_ns: Int


def stamps(frame: Frame) -> Stamps:
    """When each packet was sampled, as well as an arrival tells; all other rows keep their start.

    The reference agent (sflow_receiver.c of sFlow.org, which hsflowd and Open vSwitch build in) sends a datagram when
    the next sample does not fit into it any more, and that sample opens the next one. So the first sample of a datagram
    was taken when the previous one arrived, the others in their order between then and the datagram's own arrival; they
    are spread evenly. A time stamp of the agent's own, whose uncertainty is 0, stays.

    Args:
        frame: flow records; samples of one datagram follow one another as they came.
    """
    arrived, half_ns = frame["time_flow_end_ns"], frame["time_uncertainty_ns"]
    start = frame["time_flow_start_ns"]
    held = (half_ns > 0) & (start == arrived) & (arrived == frame["time_received_ns"])
    if not held.any():
        return Stamps(start, start, start)
    opens = np.ones(len(frame), np.bool_)
    opens[1:] = np.any([np.diff(frame[name].astype(np.int64)) != 0 for name in _DATAGRAM], axis=0)
    first = np.flatnonzero(opens)
    datagram = np.cumsum(opens) - 1
    place = np.arange(len(frame)) - first[datagram]
    count = np.diff(np.concatenate([first, [len(frame)]]))[datagram]
    earliest = np.where(held, arrived - 2 * half_ns, start)
    spread = np.where(held, 2 * half_ns * place // count, 0)
    return Stamps(earliest + spread, earliest, np.where(held & (place > 0), arrived, earliest))
