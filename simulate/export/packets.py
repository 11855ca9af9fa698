"""Sampled packets: what each is, from its number in its train."""

from __future__ import annotations

import numpy as np

from capture.packets.roce import AETH_BYTES, CNP, PSN_BITS, RELIABLE_ACK, RETH_BYTES
from datamodel.frame import Column, Frame, Schema
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import ROCE_V2_PORT, UDP
from simulate.bursts import MTU_BYTES, SEGMENT_BYTES
from simulate.export.observations import ends
from simulate.export.trains import (
    ACKNOWLEDGE,
    CLEAR,
    DATA,
    NOTIFY,
    REFUSE,
    acknowledgements,
)
from simulate.network.hashing import mixed
from simulate.telemetry import (
    CLEAR_TO_SEND_BYTES,
    CNP_REST_BYTES,
    ROCE_HEADER_BYTES,
    TCP_HEADER_BYTES,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_ONLY,
)

WRITE_MIDDLE = 7
CREDITS, OUT_OF_SEQUENCE = 0x1F, 0x60  # AETH syndromes: acknowledged with no limit, PSN sequence error
NOTHING = -1
_ROCE_TOS, _NOTIFY_TOS = 26 << 2, 48 << 2  # usual DSCP of lossless and of highest-priority traffic
_CAPABLE, _EXPERIENCED = 2, 3  # ECN (RFC 3168)
_PSN_MASK = (1 << PSN_BITS) - 1
_SEQUENCE_MASK = (1 << 32) - 1

PACKETS = Schema(
    "packets",
    (
        Column("burst", "i8", "", "row of the burst"),
        Column("kind", "i1", "code", "kind of its train"),
        Column("src", "i4", "code", "endpoint that sends"),
        Column("dst", "i4", "code", "endpoint that receives"),
        Column("src_port", "u2", "", "transport source port"),
        Column("dst_port", "u2", "", "transport destination port"),
        Column("proto", "u1", "", "IP protocol"),
        Column("tos", "u1", "", "DSCP and ECN"),
        Column("bytes", "i8", "B", "of the IP packet"),
        Column("opcode", "i2", "", "of the BTH; -1 not RoCE"),
        Column("queue_pair", "i8", "", "destination queue pair"),
        Column("sequence", "i8", "", "packet sequence number, or of TCP the sequence number"),
        Column("message_bytes", "i8", "B", "length in the RETH; -1 none"),
        Column("syndrome", "i2", "", "of the AETH; -1 none"),
        Column("acknowledged", "i8", "", "TCP acknowledgement number"),
    ),
)


def packets(bursts: Frame, trains: Frame, train: Int, number: Int, marked: Bool) -> Frame:
    """What packets are.

    Args:
        bursts: rows of `BURSTS`.
        trains: rows of `TRAINS`.
        train: (n,) row of each packet's train.
        number: (n,) its number in the train, from 0.
        marked: (n,) a switch has marked it.
    """
    of = trains.take(train)
    burst = of["burst"]
    b, kind = bursts.take(burst), of["kind"].astype(np.int64)
    place = of["first"] + number
    src, dst = ends(bursts, of)
    roce, data = b["proto"] == UDP, kind == DATA
    message, payload, opcode = _data(b, place)
    opcode = np.select([data, kind == CLEAR, kind == NOTIFY], [opcode, WRITE_ONLY, CNP], RELIABLE_ACK)
    with_reth = roce & np.isin(opcode, (WRITE_FIRST, WRITE_ONLY))
    with_aeth = roce & np.isin(kind, (ACKNOWLEDGE, REFUSE))
    inner = np.select(
        [data, kind == CLEAR], [payload, CLEAR_TO_SEND_BYTES], np.where(kind == NOTIFY, CNP_REST_BYTES, 0)
    )
    size = np.where(roce, ROCE_HEADER_BYTES, TCP_HEADER_BYTES) + inner
    size += np.where(with_reth, RETH_BYTES, 0) + np.where(with_aeth, AETH_BYTES, 0)
    tos = np.where(kind == NOTIFY, _NOTIFY_TOS, _ROCE_TOS) | np.where(marked & data, _EXPERIENCED, _CAPABLE)
    sequence, acknowledged = _numbers(bursts, burst, kind, place)
    return Frame(
        PACKETS,
        {
            "burst": burst,
            "kind": kind,
            "src": src,
            "dst": dst,
            "src_port": np.where(roce | data, b["src_port"], b["dst_port"]),
            "dst_port": np.where(roce, ROCE_V2_PORT, np.where(data, b["dst_port"], b["src_port"])),
            "proto": b["proto"],
            "tos": np.where(roce, tos, 0),
            "bytes": size,
            "opcode": np.where(roce, opcode, NOTHING),
            "queue_pair": np.where(data, b["dst_qp"], b["src_qp"]),
            "sequence": sequence,
            "message_bytes": np.where(with_reth, np.where(data, message, CLEAR_TO_SEND_BYTES), NOTHING),
            "syndrome": np.where(with_aeth, np.where(kind == REFUSE, OUT_OF_SEQUENCE, CREDITS), NOTHING),
            "acknowledged": acknowledged,
        },
    )


def _numbers(bursts: Frame, burst: Int, kind: Int, place: Int) -> tuple[Int, Int]:
    """Sequence and, of TCP, acknowledgement numbers of packets."""
    b = bursts.take(burst)
    clears = _running(bursts, ("src", "dst", "dst_qp"), np.ones(len(bursts), np.int64))
    before = _running(bursts, ("src", "dst", "src_port", "dst_port"), bursts["bytes"])
    sent, received = _tcp_numbers(b, before[burst], place)
    forward = kind == DATA
    tcp = np.where(forward, sent, received)
    sequence = np.where(b["proto"] == UDP, _sequence(b, clears[burst], kind, place), tcp)
    return sequence, np.where(forward, received, sent)


def _original(b: Frame, place: Int) -> Int:
    """Number of each packet of a burst without those sent again, which follow right behind the lost ones."""
    sent = b["packets"] + b["retransmitted_packets"]
    number: Int = place * b["packets"] // np.maximum(sent, 1)
    return number


def _data(b: Frame, place: Int) -> tuple[Int, Int, Int]:
    """Bytes of the message, payload and opcode of data packets."""
    number = np.minimum(_original(b, place), b["packets"] - 1)
    usual = -(-b["message_bytes"] // MTU_BYTES)
    message = np.minimum(number // np.maximum(usual, 1), b["messages"] - 1)
    last = message == b["messages"] - 1
    size = np.where(last, b["bytes"] - (b["messages"] - 1) * b["message_bytes"], b["message_bytes"])
    within, count = number - message * usual, -(-size // MTU_BYTES)
    roce = b["proto"] == UDP
    unit = np.where(roce, MTU_BYTES, SEGMENT_BYTES)
    ends_it = np.where(roce, within == count - 1, number == b["packets"] - 1)
    rest = np.where(roce, size - (count - 1) * MTU_BYTES, b["bytes"] - (b["packets"] - 1) * SEGMENT_BYTES)
    opcode = np.select(
        [count == 1, within == 0, within == count - 1], [WRITE_ONLY, WRITE_FIRST, WRITE_LAST], WRITE_MIDDLE
    )
    return size, np.where(ends_it, rest, unit), opcode


def _sequence(b: Frame, clears: Int, kind: Int, place: Int) -> Int:
    """Packet sequence numbers of RoCE packets: of data, of what is acknowledged or missing, of clear-to-send."""
    acks = acknowledgements(b)
    after = np.select(
        [kind == DATA, kind == ACKNOWLEDGE, kind == REFUSE],
        [
            np.minimum(_original(b, place), b["packets"] - 1),
            (place + 1) * b["packets"] // acks - 1,
            (place + 1) * b["packets"] // (b["retransmitted_packets"] + 1),
        ],
        0,
    )
    forward = (b["psn_first"] + after) & _PSN_MASK
    back = (mixed(b["src_qp"], b["dst_qp"]) + clears) & _PSN_MASK
    numbers: Int = np.select([kind == NOTIFY, kind == CLEAR], [0, back], forward)
    return numbers


def _running(bursts: Frame, names: tuple[str, ...], amount: Int) -> Int:
    """(bursts,) sum of `amount` over the earlier bursts that agree in the named columns."""
    order = np.lexsort([bursts["start_ns"], *(bursts[name] for name in names)])
    keys = [bursts[name][order] for name in names]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.any([k[1:] != k[:-1] for k in keys], axis=0)
    before = np.cumsum(amount[order]) - amount[order]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    total = np.empty(len(order), np.int64)
    total[order] = before - before[first]
    return total


def _tcp_numbers(b: Frame, sent: Int, place: Int) -> tuple[Int, Int]:
    """TCP sequence number of the sender's segments, and of the other side, which is taken to send nothing itself."""
    base = mixed(b["src"], b["dst"], b["src_port"], b["dst_port"])
    other = mixed(b["dst"], b["src"], b["dst_port"], b["src_port"])
    return (base + sent + place * SEGMENT_BYTES) & _SEQUENCE_MASK, other & _SEQUENCE_MASK


def chosen(ratio: Float, random: np.random.Generator) -> Bool:
    """(n,) true with the given probabilities."""
    return random.random(len(ratio)) < ratio
