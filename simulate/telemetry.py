"""What a fabric's telemetry makes of bursts: the rows of a mirror, and exact flow records.

Both see every byte at the sender's leaf. Data rows come with what flows back: the receiver's clear-to-send, a small
RDMA write before each burst, its acknowledgements, and its notifications of marked packets among them. The marks
themselves are made behind the place that is watched, by the queues of the path (`simulate.export.congestion`).
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import FLOWS, ROCE_V2_PORT, TCP, UDP

ROCE_HEADER_BYTES = 20 + 8 + 12 + 4  # IP, UDP, BTH and invariant CRC
RETH_BYTES, AETH_BYTES = 16, 4
CNP_REST_BYTES = 16  # reserved bytes behind the BTH (InfiniBand Architecture Specification, annex A17)
TCP_HEADER_BYTES = 52  # with the timestamp option
CLEAR_TO_SEND_BYTES = 64  # one entry of NCCL's FIFO
PACKETS_PER_ACK = 16
CLEAR_AHEAD_NS = 4_000
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY, ACKNOWLEDGE = 6, 7, 8, 10, 0x11

# A mirror's row has no more and lasts no longer (as capture.mirror.packet_tracker cuts them).
ROW_PACKETS, ROW_NS = 64, 5_000_000


def exact_flows(bursts: Frame, notified: Int | None) -> Frame:
    """One flow record a burst, as a meter exports that cuts by message.

    With `notified`, the notifications that each burst provokes, the reverse direction too.
    """
    rows = _data_rows(bursts.take(bursts["packets"] > 0))
    return rows if notified is None else concat(FLOWS, [rows, *_answers(bursts, notified, seen=False)])


def mirror_flows(bursts: Frame, notified: Int | None, gathered: int) -> Frame:
    """Rows as the mirror's decoder makes them: cut short, with payload and acknowledgement known.

    `gathered` of them, which follow one another without a pause, are one row. `notified` as in `exact_flows`.
    """
    sent = bursts.take(bursts["packets"] > 0)
    of, place = _pieces(sent, gathered)
    rows = _trains(_data_rows(sent.take(of)), sent, of, place)
    return rows if notified is None else concat(FLOWS, [rows, *_answers(bursts, notified, seen=True)])


def _data_rows(b: Frame) -> Frame:
    """A row a burst."""
    roce = b["proto"] == UDP
    sent = b["packets"] + b["retransmitted_packets"]
    header = np.where(roce, ROCE_HEADER_BYTES, TCP_HEADER_BYTES)
    again = b["retransmitted_packets"] * (b["bytes"] // np.maximum(b["packets"], 1))
    sprayed, begins = b["turns"] > 1, (b["turns"] == 1) | (b["plane"] == 0)
    alone = (b["packets"] == b["messages"]) & ~sprayed
    opens = np.where(alone, WRITE_ONLY, np.where(begins, WRITE_FIRST, WRITE_MIDDLE))
    closes = np.where(sprayed & (b["plane"] < b["turns"] - 1), WRITE_MIDDLE, np.where(alone, WRITE_ONLY, WRITE_LAST))
    return Frame(
        FLOWS,
        {
            "time_flow_start_ns": b["start_ns"],
            "time_flow_end_ns": b["end_ns"],
            "src_addr": b["src_address"],
            "dst_addr": b["dst_address"],
            "src_port": b["src_port"],
            "dst_port": b["dst_port"],
            "proto": b["proto"],
            "bytes": b["bytes"] + again + sent * header + begins * b["messages"] * RETH_BYTES,
            "packets": sent,
            "dst_qp": b["dst_qp"],
            "psn_first": b["psn_first"],
            "psn_last": b["psn_last"],
            "roce_opcode_first": np.where(roce, opens, -1),
            "roce_opcode_last": np.where(roce, closes, -1),
            "message_bytes": np.where(roce & begins, b["bytes"] * b["turns"], 0),
            "retransmitted_packets": b["retransmitted_packets"],
        },
    )


def _pieces(b: Frame, gathered: int) -> tuple[Int, Int]:
    """Each burst as often as a mirror cuts it, and which of its pieces each is."""
    by_time = -(-(b["end_ns"] - b["start_ns"]) // (ROW_NS * gathered))
    by_packets = -(-b["packets"] // (ROW_PACKETS * gathered))
    count = np.minimum(np.maximum(np.maximum(by_time, by_packets), 1), np.maximum(b["packets"], 1))
    of = np.repeat(np.arange(len(count)), count)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)


def _trains(rows: Frame, bursts: Frame, of: Int, place: Int) -> Frame:
    """Whole-burst rows cut into pieces of equal length, a stretch in which nothing could be sent left out."""
    count = np.bincount(of, minlength=len(bursts))[of]

    def share(name: str) -> Int:
        return rows[name] * (place + 1) // count - rows[name] * place // count

    start, end = rows["time_flow_start_ns"], rows["time_flow_end_ns"]
    gap = (bursts["resumed_ns"] - bursts["paused_ns"])[of]
    busy = end - start - gap
    begin, finish = busy * place // count, busy * (place + 1) // count
    stands = np.where(gap > 0, bursts["paused_ns"][of] - start, np.iinfo(np.int64).max)
    begin, finish = begin + np.where(begin >= stands, gap, 0), finish + np.where(finish > stands, gap, 0)
    payload, arrives = bursts["bytes"][of], bursts["delivered_ns"][of]
    packets = share("packets")
    turns = bursts["turns"][of].astype(np.int64)
    psn = (rows["psn_first"] + bursts["packets"][of] * place // count * turns) % (1 << 24)
    last = (rows["psn_first"] + (bursts["packets"][of] * (place + 1) // count - 1) * turns) % (1 << 24)
    roce = rows["proto"] == UDP
    return rows.replace(
        time_flow_start_ns=start + begin,
        time_flow_end_ns=start + finish,
        bytes=share("bytes"),
        packets=packets,
        payload_bytes=payload * (place + 1) // count - payload * place // count,
        message_bytes=np.where(place == 0, rows["message_bytes"], 0),
        retransmitted_packets=share("retransmitted_packets"),
        psn_first=np.where(roce, psn, -1),
        psn_last=np.where(roce, last, -1),
        time_acknowledged_ns=np.where(arrives > 0, start + finish + arrives - bursts["end_ns"][of], 0),
    )


def _answers(b: Frame, notified: Int, *, seen: bool) -> list[Frame]:
    """What flows back: clear-to-send writes, acknowledgements and notifications of RoCE, acknowledgements of TCP."""
    roce = b.take((b["proto"] == UDP) & ((b["turns"] == 1) | (b["plane"] == 0)))
    clear = _back(roce, roce["ready_ns"] - CLEAR_AHEAD_NS, roce["ready_ns"] - CLEAR_AHEAD_NS, roce["messages"] * 0 + 1)
    clear = clear.replace(
        bytes=np.full(len(roce), ROCE_HEADER_BYTES + RETH_BYTES + CLEAR_TO_SEND_BYTES),
        message_bytes=np.full(len(roce), CLEAR_TO_SEND_BYTES),
        roce_opcode_first=np.full(len(roce), WRITE_ONLY),
        roce_opcode_last=np.full(len(roce), WRITE_ONLY),
        payload_bytes=np.full(len(roce), CLEAR_TO_SEND_BYTES if seen else -1),
    )
    arrived = (b["packets"] > 0) & (b["delivered_ns"] > 0)
    b, notified = b.take(arrived), notified[arrived]
    delay = b["delivered_ns"] - b["end_ns"]
    acks = np.maximum(b["messages"], -(-b["packets"] // PACKETS_PER_ACK))
    back = _back(b, np.minimum(b["start_ns"] + 2 * delay, b["delivered_ns"]), b["delivered_ns"], acks)
    is_roce = back["proto"] == UDP
    size = np.where(is_roce, ROCE_HEADER_BYTES + AETH_BYTES, TCP_HEADER_BYTES)
    opcode = np.where(is_roce, ACKNOWLEDGE, -1)
    back = back.replace(
        bytes=acks * size + notified * (ROCE_HEADER_BYTES + CNP_REST_BYTES),
        packets=acks + notified,
        cnp_packets=notified,
        roce_opcode_first=opcode,
        roce_opcode_last=opcode,
        payload_bytes=np.full(len(b), 0 if seen else -1),
    )
    return [clear, back]


def _back(b: Frame, start_ns: Int, end_ns: Int, packets: Int) -> Frame:
    """Rows from receiver to sender: of RoCE with the receiver's own source port and the sender's queue pair."""
    tcp = b["proto"] == TCP
    return Frame(
        FLOWS,
        {
            "time_flow_start_ns": start_ns,
            "time_flow_end_ns": end_ns,
            "src_addr": b["dst_address"],
            "dst_addr": b["src_address"],
            "src_port": np.where(tcp, b["dst_port"], b["src_port"]),
            "dst_port": np.where(tcp, b["src_port"], ROCE_V2_PORT),
            "proto": b["proto"],
            "bytes": packets,
            "packets": packets,
            "dst_qp": b["src_qp"],
        },
    )
