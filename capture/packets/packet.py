"""Frames to packets: decodes the headers of every indexed frame, through encapsulations, into wire columns."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.packets.headers import (
    ETHERNET,
    INFINIBAND,
    IPV4,
    IPV6,
    be16,
    be32,
    ethernet,
    ipv4,
    ipv6,
    link_layer,
    unlabelled,
)
from capture.packets.packet_columns import (
    ABSENT,
    BAD_TRANSPORT,
    CUT_TRANSPORT,
    FINE,
    NO_TIME_STAMP,
    NOT_IP,
    TOO_DEEP,
    Packets,
    Record,
)
from capture.packets.roce import AETH_AT, BTH_BYTES, EXTENDED_BYTES, ICRC_BYTES, PAYLOAD, RETH_AT, TRAITS
from capture.packets.tunnel import tunnel
from capture.packets.uet import is_uet, uet
from capture.tables.frame_index import NO_TIME, Index
from capture.tables.read_buffer import Bytes
from datamodel.telemetry.flows import ROCE_V2_PORT, TCP, UDP, UET_PORT

_MAX_DEPTH = 4
_GRH_NEXT_HEADER = 27  # "IBA transport" in a RoCEv1 global route header


@jit
def decode(data: Bytes, index: Index, packets: Packets) -> None:
    """Decode the frames that `index` points to; row i of `packets` is frame i."""
    for i in range(len(index)):
        frame = index[i]
        packet = packets[i]
        clear(packet)
        packet["time_ns"] = frame["time_ns"]
        packet["interface"] = frame["interface"]
        if frame["time_ns"] == NO_TIME:
            packet["reason"] = NO_TIME_STAMP
        else:
            start = frame["offset"]
            end, wire_end = start + frame["captured_bytes"], start + frame["wire_bytes"]
            packet["reason"] = frame_packet(data, start, end, max(end, wire_end), frame["link"], packet)


@jit
def clear(packet: Record) -> None:
    """Reset what not every header fills."""
    packet["sampler_high"] = 0
    packet["sampler_low"] = 0
    packet["session"] = 0
    packet["network"] = 0
    packet["sequence"] = 0
    packet["acknowledged"] = 0
    packet["message_bytes"] = 0
    packet["payload_at"] = 0
    packet["queue_pair"] = ABSENT
    packet["opcode"] = ABSENT
    packet["syndrome"] = ABSENT
    packet["tcp_flags"] = 0
    packet["src_port"] = 0
    packet["dst_port"] = 0
    packet["header_cut"] = 0
    packet["more_fragments"] = 0
    packet["trimmed"] = 0


@jit
def frame_packet(data: Bytes, at: int, end: int, wire_end: int, link: int, packet: Record) -> int:
    """Decode the frame `data[at:end]` down to its innermost transport header; the answer is FINE or the reason."""
    kind, at = link_layer(data, at, end, link)
    for _ in range(_MAX_DEPTH):
        if kind == ETHERNET:
            kind, at = ethernet(data, at, end)
        kind, at = unlabelled(data, kind, at, end)
        if kind < 0:
            return -kind
        if kind == ETHERNET:
            continue
        if kind == IPV4:
            proto, at, stop = ipv4(data, at, end, wire_end, packet)
        elif kind in (IPV6, INFINIBAND):
            proto, at, stop = ipv6(data, at, end, wire_end, packet)
        else:
            return NOT_IP
        if proto < 0:
            return -proto
        if packet["fragment"]:
            packet["payload_bytes"] = stop - at
            return FINE
        if kind == INFINIBAND:
            return bth(data, at, end, stop, packet) if proto == _GRH_NEXT_HEADER else NOT_IP
        inner, inside = tunnel(data, proto, at, end, packet)
        if inner < 0:
            return -inner
        if inner == 0:
            return transport(data, proto, at, end, stop, packet)
        kind, at = inner, inside
    return TOO_DEEP


@jit
def transport(data: Bytes, proto: int, at: int, end: int, stop: int, packet: Record) -> int:
    """Fill `packet` from the transport header at `at` of an IP packet that ends at `stop`."""
    if proto == TCP:
        return tcp(data, at, end, stop, packet)
    if proto == UDP:
        return udp(data, at, end, stop, packet)
    packet["payload_bytes"] = stop - at
    return FINE


@jit
def tcp(data: Bytes, at: int, end: int, stop: int, packet: Record) -> int:
    """Fill `packet` from a TCP header (RFC 9293)."""
    if at + 20 > end:
        return CUT_TRANSPORT
    header_bytes = (wide(data[at + 12]) >> 4) * 4
    if header_bytes < 20 or at + header_bytes > stop:
        return BAD_TRANSPORT
    packet["src_port"] = be16(data, at)
    packet["dst_port"] = be16(data, at + 2)
    packet["sequence"] = be32(data, at + 4)
    packet["acknowledged"] = be32(data, at + 8)
    packet["tcp_flags"] = be16(data, at + 12) & 0x1FF
    packet["payload_bytes"] = stop - at - header_bytes
    return FINE


@jit
def udp(data: Bytes, at: int, end: int, stop: int, packet: Record) -> int:
    """Fill `packet` from a UDP header (RFC 768) and, on the ports of RoCEv2 and UET, from the headers behind it.

    A switch that trims a packet shortens what IP says, and leaves UDP's length (Ultra Ethernet Specification 1.0, 4.1).
    """
    if at + 8 > end:
        return CUT_TRANSPORT
    length = be16(data, at + 4)
    if length == 0:  # longer than the field can say
        length = stop - at
    if length < 8:
        return BAD_TRANSPORT
    packet["src_port"] = be16(data, at)
    packet["dst_port"] = be16(data, at + 2)
    packet["trimmed"] = 1 if stop < at + length and not packet["more_fragments"] else 0
    stop = min(stop, at + length)  # a first fragment, or what a switch trimmed, holds less than its datagram
    if stop < at + 8:
        return BAD_TRANSPORT
    if packet["dst_port"] == ROCE_V2_PORT:
        return bth(data, at + 8, end, stop, packet)
    if packet["dst_port"] == UET_PORT and is_uet(data, at + 8, end):
        return uet(data, at + 8, end, stop, packet)
    packet["payload_at"] = at + 8
    packet["payload_bytes"] = stop - at - 8
    return FINE


@jit
def bth(data: Bytes, at: int, end: int, stop: int, packet: Record) -> int:
    """Fill `packet` from a Base Transport Header and the RETH or AETH behind it."""
    if at + BTH_BYTES > end:
        return CUT_TRANSPORT
    opcode = data[at]
    pad = (wide(data[at + 1]) >> 4) & 3
    body = at + BTH_BYTES
    payload = stop - ICRC_BYTES - pad - body - wide(EXTENDED_BYTES[opcode])
    if stop < body:
        return BAD_TRANSPORT
    packet["opcode"] = opcode
    packet["queue_pair"] = be32(data, at + 4) & 0xFFFFFF
    packet["sequence"] = be32(data, at + 8) & 0xFFFFFF
    packet["payload_bytes"] = max(payload, 0) if TRAITS[opcode] & PAYLOAD else 0
    if RETH_AT[opcode] != 255:
        reth = body + wide(RETH_AT[opcode])
        if reth + 16 <= end:
            packet["message_bytes"] = be32(data, reth + 12)
        else:
            packet["header_cut"] = 1
    if AETH_AT[opcode] != 255:
        aeth = body + wide(AETH_AT[opcode])
        if aeth + 4 <= end:
            packet["syndrome"] = data[aeth]
        else:
            packet["header_cut"] = 1
    return FINE
