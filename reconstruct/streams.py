"""Flow records -> streams: control traffic and retransmissions left out, one stream a connection."""

from __future__ import annotations

import numpy as np

from datamodel.flows import TCP, UDP, Flows
from datamodel.frame import Frame
from datamodel.streams import Int, Streams
from reconstruct.queue_pairs import connections

# An exact record without payload counts is reverse traffic (acknowledgements, clear-to-send) when its packets are
# no larger than headers: 40 B of TCP/IPv6 beside 40 B of options and padding, 62 B of a RoCEv2 acknowledgement.
CONTROL_PACKET_BYTES = 100
UNKNOWN = 0


def streams(flows: Flows) -> Streams:
    """Group the data rows of `flows` by connection, in order of time.

    A connection is (source, destination, destination queue pair) for RoCEv2, queue pairs that take turns counting as
    one, and (source, destination, ports) for everything else. Rows without new payload are control
    traffic and left out.
    """
    volume = _volume_bytes(flows.frame)
    rows = flows.frame.take(volume > 0)
    volume = volume[volume > 0]
    key = _connection_keys(rows)
    order = np.lexsort([volume, rows["time_flow_end_ns"], rows["time_flow_start_ns"], *reversed(key)])
    rows, volume = rows.take(order), volume[order]
    starts = _group_starts([k[order] for k in key])
    return _numbered(rows, volume, starts, flows.addresses)


def _volume_bytes(frame: Frame) -> Int:
    """New payload where the feed knows it, exported bytes times sampling rate elsewhere; 0 for control traffic.

    Training runs over TCP or RoCE; pings and routing protocols are periodic too.
    """
    payload = frame["payload_bytes"]
    scaled = frame["bytes"] * np.maximum(frame["sampling_rate"], 1)
    control = (frame["packets"] > 0) & (frame["bytes"] < CONTROL_PACKET_BYTES * frame["packets"])
    carries = np.isin(frame["proto"], (UNKNOWN, TCP, UDP))
    return np.where(carries, np.where(payload >= 0, payload, np.where(control, 0, scaled)), 0)


def _connection_keys(rows: Frame) -> list[Int]:
    """Sort keys that name a connection: a queue pair outweighs the UDP source port, which may change."""
    queue_pair = connections(rows)
    ports = [np.where(queue_pair >= 0, 0, rows[c].astype(np.int64)) for c in ("src_port", "dst_port")]
    return [rows["src_addr"].astype(np.int64), rows["dst_addr"].astype(np.int64), queue_pair, *ports]


def _group_starts(key: list[Int]) -> Int:
    if not len(key[0]):
        return np.zeros(1, np.int64)
    change = np.zeros(len(key[0]) - 1, bool)
    for column in key:
        change |= np.diff(column) != 0
    return np.concatenate([[0], np.flatnonzero(change) + 1, [len(key[0])]])


def _numbered(rows: Frame, volume: Int, starts: Int, addresses: tuple[str, ...]) -> Streams:
    """Renumber connections by (source, destination, first byte): port numbers are arbitrary, times are not."""
    first, count = starts[:-1], np.diff(starts)
    order = np.lexsort([first, rows["time_flow_start_ns"][first], rows["dst_addr"][first], rows["src_addr"][first]])
    index = np.repeat(first[order] - np.concatenate([[0], np.cumsum(count[order])[:-1]]), count[order])
    index = index + np.arange(len(index)) if len(index) else np.zeros(0, np.int64)
    r = rows.take(index)
    return Streams(
        src=rows["src_addr"][first[order]].astype(np.int64),
        dst=rows["dst_addr"][first[order]].astype(np.int64),
        trains=np.asarray(rows["payload_bytes"][first[order]] >= 0),
        offsets=np.concatenate([[0], np.cumsum(count[order])]).astype(np.int64),
        start_ns=r["time_flow_start_ns"],
        end_ns=r["time_flow_end_ns"],
        delivered_ns=r["time_acknowledged_ns"],
        bytes=volume[index],
        packets=r["packets"],
        retransmitted=r["retransmitted_packets"],
        ecn_ce=r["ecn_ce_packets"],
        addresses=addresses,
    )
