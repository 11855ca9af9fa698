"""Congestion notifications beside a job's data: on which side of a slow stream the bytes wait.

Switches mark packets that leave a long queue (RFC 3168), and a RoCE receiver notifies the sender of them (InfiniBand
Architecture Specification, annex A17). A link that takes less than comes makes a queue at the port before it. So what
waits for a receiver's link, or for a cable, waits in the network and is marked; what waits for its sender's link waits
in the sender, where nobody marks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.fabric import Fabric
from datamodel.flows import Flows
from datamodel.streams import Bool, Float, Int
from diagnose.links import Crossing, SlowLink, direction_of
from diagnose.rates import Rates
from reconstruct.medians import row_medians

# A stream meets a queue where it provokes so many times as many notifications as usual; counts differ by chance.
MORE = 3.0


@dataclass(frozen=True, slots=True)
class Notices:
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
    def of(cls, flows: Flows) -> Notices:
        """Those that flow records count."""
        frame = flows.frame
        rows = np.flatnonzero(frame["cnp_packets"])
        back, at_ns = (frame["dst_addr"], frame["src_addr"]), frame["time_flow_start_ns"]
        src, dst = (ends[rows].astype(np.int64) for ends in back)
        return cls(src, dst, at_ns[rows].astype(np.int64), frame["cnp_packets"][rows].astype(np.int64))

    def among(self, endpoints: Int) -> Notices:
        """Those between some endpoints."""
        inside = np.isin(self.src, endpoints) & np.isin(self.dst, endpoints)
        return Notices(self.src[inside], self.dst[inside], self.at_ns[inside], self.packets[inside])


NO_NOTICES = Notices(*(np.zeros(0, np.int64) for _ in range(4)))


def located(
    link: SlowLink, rates: Rates, fabric: Fabric, notices: Notices, edges_ns: Int, period: Int, baseline: Int
) -> SlowLink:
    """A slow link with those suspects only on whose side the bytes wait; as it was where notifications do not tell.

    A slow stream that provokes notifications, and usually does not, meets a queue behind its sender's port: at its
    receiver's, or at a cable if it runs between switches. So of such a stream alone notifications do not tell; where
    both directions are slow no cable is meant. A stream that provokes none waits in its sender, if its receiver is one
    that notifies: fabrics without marks tell nothing.

    Args:
        link: what slow streams have in common.
        rates: of the streams.
        fabric: which switch each endpoint is behind.
        notices: of the job.
        edges_ns: (iterations,) end of each complete one.
        period: iterations in which it is slow.
        baseline: iterations of the job at its best; may be empty.
    """
    if link.endpoint is None or not link.rivals or not len(notices.at_ns):
        return link
    told = _by_iteration(rates, notices, edges_ns)
    now = row_medians(told[:, period])
    before = row_medians(told[:, baseline]) if len(baseline) else row_medians(now[~link.slow])
    usual = np.nan_to_num(np.broadcast_to(before, now.shape))
    behind = link.slow & (now > MORE * usual)
    if not ((rates.src == link.endpoint)[link.slow].any() and (rates.dst == link.endpoint)[link.slow].any()):
        behind &= ~Crossing(rates, fabric).across
    within = link.slow & (now == 0) & np.isin(rates.dst, notices.dst)
    suspects = (link.endpoint, *link.rivals)
    for_it, against = np.transpose([_votes(rates, link.lost_ns, behind, within, e) for e in suspects])
    left = [e for e, more in zip(suspects, for_it > against, strict=True) if more]
    if not left or len(left) == len(suspects):
        return link
    most = int(np.argmax(np.where(link.slow, now, -1.0)))
    return replace(
        link,
        endpoint=left[0],
        rivals=tuple(left[1:]),
        direction=direction_of(rates, link.slow, left[0]),
        notified=(most, float(now[most]), float(usual[most])),
    )


def _votes(rates: Rates, lost_ns: Float, behind: Bool, within: Bool, endpoint: int) -> tuple[float, float]:
    """Time lost in streams that wait on an endpoint's side, and in those that wait on the other."""
    out, into = rates.src == endpoint, rates.dst == endpoint
    own = (out & within) | (into & behind)
    other = (out & behind) | (into & within)
    return float(lost_ns[own].sum()), float(lost_ns[other].sum())


def _by_iteration(rates: Rates, notices: Notices, edges_ns: Int) -> Float:
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
