"""Packets of a datagram that was held through a pause: on which side of it they were sent, told by their neighbours."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import Flows
from reconstruct.clocks.clock_offsets import sampled_packets
from reconstruct.numeric.factorize import factorize
from reconstruct.numeric.row_runs import run_starts

# Further off than any time of a window.
_NOWHERE_NS = 1 << 62


def resolve_buffered_times(flows: Flows) -> Flows:
    """The records with packets of held datagrams dated as early, or as late, as may be, where that is known.

    A sFlow agent sends a datagram when it is full or when it is time: one that waits through a pause may hold the last
    packets before it and the first behind it, and neither is as late, or as early, as in the middle. Packets come in
    bursts: where, whichever moment of its span it was sent at, its connection's packet before it is nearer than the
    one after, a packet belongs to the burst that ends, and the other way round to the one that begins. Where that
    depends on the moment, or the nearer one is further off than the span is long, its time stays what the decoder gave.
    Packets of one datagram and connection go together, in their order.

    Args:
        flows: records that count every byte; those that are no single numbered packets stay as they are.
    """
    frame = flows.frame
    rows = np.flatnonzero(sampled_packets(frame)) if frame["time_uncertainty_ns"].any() else np.zeros(0, np.int64)
    if not frame["time_uncertainty_ns"][rows].any():
        return flows
    connection = _connections(frame.take(rows))
    order = _order(frame.take(rows), connection)
    rows = rows[order]
    start_ns, end_ns = frame["time_flow_start_ns"].copy(), frame["time_flow_end_ns"].copy()
    start_ns[rows] = end_ns[rows] = _beside_neighbours(frame.take(rows), connection[order])
    return Flows(frame.replace(time_flow_start_ns=start_ns, time_flow_end_ns=end_ns), flows.addresses)


def _connections(packets: Frame) -> Int:
    """(n,) the connection of each packet; RoCE's source port may change, its queue pair does not."""
    source, destination, queue_pair = (packets[name].astype(np.int64) for name in ("src_addr", "dst_addr", "dst_qp"))
    ports = packets["src_port"].astype(np.int64) << 16 | packets["dst_port"].astype(np.int64)
    _, pair = factorize(source << 32 | destination)
    _, name = factorize(np.where(queue_pair >= 0, queue_pair << 32, ports))
    return factorize(pair << 32 | name)[1]


def _order(packets: Frame, connection: Int) -> Int:
    """Packets by connection, time, datagram and number."""
    number = np.where(packets["psn_first"] >= 0, packets["psn_first"], packets["tcp_seq_first"])
    datagram = packets["time_received_ns"], packets["sampler_address"]
    return np.lexsort([packets["bytes"], number, *datagram[::-1], packets["time_flow_start_ns"], connection])


def _beside_neighbours(packets: Frame, connection: Int) -> Int:
    """(n,) when packets, by connection and time, were sent."""
    time_ns, received_ns, half_ns = (
        packets[name].astype(np.int64) for name in ("time_flow_start_ns", "time_received_ns", "time_uncertainty_ns")
    )
    other = run_starts(connection)
    first = np.flatnonzero(other | run_starts(received_ns) | run_starts(packets["sampler_address"]))
    last = np.append(first[1:], len(time_ns)) - 1
    widest_ns = np.maximum.reduceat(half_ns, first)
    latest_ns = np.where(widest_ns > 0, received_ns[first], time_ns[last])
    earliest_ns = np.where(widest_ns > 0, np.minimum(latest_ns - 2 * widest_ns, time_ns[first]), time_ns[first])
    since_ns = np.where(other[first], _NOWHERE_NS, earliest_ns - np.roll(time_ns[last], 1))
    until_ns = np.where(np.roll(other[first], -1), _NOWHERE_NS, np.roll(time_ns[first], -1) - latest_ns)
    width_ns = latest_ns - earliest_ns
    ends = (since_ns < width_ns) & (until_ns > since_ns + width_ns)
    begins = (until_ns < width_ns) & (since_ns > until_ns + width_ns)
    group = np.repeat(np.arange(len(first)), last - first + 1)
    place = np.arange(len(time_ns))
    early_ns, late_ns = earliest_ns[group] + place - first[group], latest_ns[group] + place - last[group]
    return np.where(ends[group], early_ns, np.where(begins[group], late_ns, time_ns))
