"""Congestion notifications beside a job's data: on which side of a slow stream the bytes wait.

Switches mark packets that leave a long queue (RFC 3168), and a RoCE receiver notifies the sender of them (InfiniBand
Architecture Specification, annex A17). A link that takes less than comes makes a queue at the port before it. So what
waits for a receiver's link, or for a cable, waits in the network and is marked; what waits for its sender's link waits
in the sender, where nobody marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from diagnose.measures.stream_rates import Rates
from diagnose.options import ModelOptions
from reconstruct.numeric.medians import row_medians


@dataclass(frozen=True, slots=True)
class CongestionNotifications:
    """Congestion notifications of some receivers.

    Attributes:
        src, dst: (n,) address codes of who sent the data and of who received it, and notified the sender.
        at_ns: (n,) when the first of a record was seen.
        packets: (n,) how many.
    """

    src: Int
    dst: Int
    at_ns: Int
    packets: Int

    @classmethod
    def of(cls, flows: Flows) -> CongestionNotifications:
        """Those that flow records count."""
        frame = flows.frame
        rows = np.flatnonzero(frame["cnp_packets"])
        back, at_ns = (frame["dst_addr"], frame["src_addr"]), frame["time_flow_start_ns"]
        src, dst = (ends[rows].astype(np.int64) for ends in back)
        return cls(src, dst, at_ns[rows].astype(np.int64), frame["cnp_packets"][rows].astype(np.int64))

    def among(self, endpoints: Int) -> CongestionNotifications:
        """Those between some endpoints."""
        inside = np.isin(self.src, endpoints) & np.isin(self.dst, endpoints)
        return CongestionNotifications(self.src[inside], self.dst[inside], self.at_ns[inside], self.packets[inside])


NO_NOTICES = CongestionNotifications(*(np.zeros(0, np.int64) for _ in range(4)))


class Notified(NamedTuple):
    """Of the slow stream that provokes most notifications: how many an iteration, and how many usually."""

    stream: int
    now: float
    usual: float


def notified(
    rates: Rates,
    notices: CongestionNotifications,
    edges_ns: Int,
    interval: Int,
    baseline: Int,
    slow: Bool,
    options: ModelOptions,
) -> tuple[Float, Notified | None]:
    """What notifications say of slow streams: that they wait behind their sender's port, or before it.

    A slow stream that provokes notifications, and usually does not, meets a queue behind its sender's port: at its
    receiver's, or at a cable if it runs between switches. One that provokes none waits in its sender, if its receiver
    is one that notifies: fabrics without marks say nothing.

    Args:
        rates: of the streams.
        notices: of the job.
        edges_ns: (iterations,) end of each complete one.
        interval: iterations in which they are slow.
        baseline: iterations of the job at its best; may be empty.
        slow: (s,) which streams are.
        options: of the model.

    Returns:
        (s,) weight for behind, negative for before; and the stream that is notified most, None where nothing is said.
    """
    weight = np.zeros(len(rates.src))
    if not len(notices.at_ns) or not slow.any():
        return weight, None
    told = _by_iteration(rates, notices, edges_ns)
    now = row_medians(told[:, interval])
    before = row_medians(told[:, baseline]) if len(baseline) else row_medians(now[~slow])
    usual = np.nan_to_num(np.broadcast_to(before, now.shape))
    weight[slow & (now > options.notice_ratio * usual)] = options.notice_weight
    weight[slow & (now == 0) & np.isin(rates.dst, notices.dst)] = -options.notice_weight
    most = int(np.argmax(np.where(slow, now, -1.0)))
    return weight, Notified(most, float(now[most]), float(usual[most])) if weight.any() else None


def _by_iteration(rates: Rates, notices: CongestionNotifications, edges_ns: Int) -> Float:
    """(s, iterations) notifications that passed between a stream's ends."""
    iteration = np.searchsorted(edges_ns, notices.at_ns)
    size = int(max(rates.src.max(), rates.dst.max(), notices.src.max(), notices.dst.max())) + 1
    pairs, which = np.unique(rates.src * size + rates.dst, return_inverse=True)
    place = np.searchsorted(pairs, notices.src * size + notices.dst)
    known = (place < len(pairs)) & (iteration < len(edges_ns))
    known[known] = pairs[place[known]] == (notices.src * size + notices.dst)[known]
    cell = place[known] * len(edges_ns) + iteration[known]
    total = np.bincount(cell, notices.packets[known], len(pairs) * len(edges_ns))
    return np.asarray(total.reshape(len(pairs), len(edges_ns))[which], np.float64)
