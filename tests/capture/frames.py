"""Builds frames and captures byte by byte, without the decoder's own tables, so that the two check each other."""

from __future__ import annotations

import struct
from ipaddress import ip_address
from pathlib import Path

import numpy as np

from capture.files.capture_file import batches
from capture.ingest_log import IngestLog
from capture.packets.packet_columns import PACKET, Packets

REASON = list(PACKET.fields or {}).index("reason")
ACK, PSH_ACK, SYN = 0x10, 0x18, 0x02
SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY, READ_REQUEST = 0x04, 0x06, 0x07, 0x08, 0x0A, 0x0C
ACKNOWLEDGE, CNP = 0x11, 0x81
A, B = "10.0.0.1", "10.0.0.2"


def ethernet(payload: bytes, kind: int = 0x0800, tags: tuple[tuple[int, int], ...] = ()) -> bytes:
    """An Ethernet frame with VLAN tags (ethertype, id)."""
    labels = b"".join(struct.pack("!HH", tag, vlan) for tag, vlan in tags)
    return b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01" + labels + struct.pack("!H", kind) + payload


def ip(
    proto: int,
    payload: bytes,
    src: str = A,
    dst: str = B,
    *,
    tos: int = 0,
    ident: int = 0,
    options: bytes = b"",
    fragment: int = 0,
) -> bytes:
    """An IPv4 packet."""
    words = 5 + len(options) // 4
    total = words * 4 + len(payload)
    head = struct.pack("!BBHHHBBH", 0x40 | words, tos, total, ident, fragment, 64, proto, 0)
    return head + ip_address(src).packed + ip_address(dst).packed + options + payload


def ip6(proto: int, payload: bytes, src: str, dst: str, *, tos: int = 0) -> bytes:
    """An IPv6 packet; extension headers may stand at the front of `payload`."""
    head = struct.pack("!IHBB", 6 << 28 | tos << 20, len(payload), proto, 64)
    return head + ip_address(src).packed + ip_address(dst).packed + payload


def tcp(sport: int, dport: int, seq: int, ack: int, flags: int, payload: int = 0, options: bytes = b"") -> bytes:
    """A TCP segment with `payload` zero bytes."""
    words = 5 + len(options) // 4
    head = struct.pack("!HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, words << 4, flags, 999, 0, 0)
    return head + options + bytes(payload)


def udp(sport: int, dport: int, payload: bytes) -> bytes:
    """A UDP datagram."""
    return struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload


def bth(opcode: int, qp: int, psn: int, body: bytes = b"", *, pad: int = 0, ack_request: bool = False) -> bytes:
    """A Base Transport Header, what follows it, padding and ICRC."""
    head = struct.pack("!BBHII", opcode, pad << 4, 0xFFFF, qp, int(ack_request) << 31 | psn & 0xFFFFFF)
    return head + body + bytes(pad) + b"\xde\xad\xbe\xef"


def reth(length: int) -> bytes:
    """An RDMA extended transport header that announces `length` bytes."""
    return struct.pack("!QII", 0x7F0000000000, 0x1234, length)


def aeth(syndrome: int, msn: int = 1) -> bytes:
    """An acknowledgement extended transport header."""
    return struct.pack("!I", syndrome << 24 | msn)


def tcp_frame(
    seq: int, payload: int, *, ack: int = 1, flags: int = ACK, back: bool = False, ident: int = 0, tos: int = 0
) -> bytes:
    """A TCP segment from A to B port 5000, or `back` from B to A."""
    ends = (B, A) if back else (A, B)
    ports = (5000, 40000) if back else (40000, 5000)
    return ethernet(ip(6, tcp(*ports, seq, ack, flags, payload), *ends, ident=ident, tos=tos))


def roce_frame(
    opcode: int, qp: int, psn: int, body: bytes = b"", *, back: bool = False, sport: int = 50000, tos: int = 0,
    ident: int = 0, pad: int = 0,
) -> bytes:  # fmt: skip
    """A RoCEv2 packet from A to B, or `back` from B to A."""
    ends = (B, A) if back else (A, B)
    return ethernet(ip(17, udp(sport, 4791, bth(opcode, qp, psn, body, pad=pad)), *ends, tos=tos, ident=ident))


def erspan2(frame: bytes, exporter: str, session: int, sequence: int = 1) -> bytes:
    """`frame` mirrored in an ERSPAN type II session."""
    head = struct.pack("!HHI", 0x1000, 0x88BE, sequence) + struct.pack("!HHI", 0x1000, session, 0)
    return ethernet(ip(47, head + frame, exporter, "10.9.9.9"))


def pcap(
    frames: list[tuple[int, bytes]], *, order: str = "<", nanoseconds: bool = True, link: int = 1, snap: int = 262144
) -> bytes:
    """A classic pcap file of (time in ns, frame), frames cut at `snap`."""
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    out = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, snap, link)]
    for time_ns, frame in frames:
        cut = frame[:snap]
        stamp = (time_ns // 10**9, time_ns % 10**9 // unit)
        out.append(struct.pack(order + "IIII", *stamp, len(cut), len(frame)) + cut)
    return b"".join(out)


def decoded(content: bytes, ingest_log: IngestLog | None = None, block: int = 1 << 20) -> Packets:
    """The packet rows of a capture's bytes, handed over in blocks of `block` bytes."""
    blocks = [content[i : i + block] for i in range(0, len(content), block)]
    parts = [batch.packets.copy() for batch in batches(blocks, "test.pcap", ingest_log or IngestLog())]
    return np.concatenate(parts)


def meaning(rows: Packets) -> list[object]:
    """What packet rows say, comparable: of a rejected one only the reason means anything."""
    return [row[REASON] or row for row in rows.tolist()]


def frame_row(frame: bytes, link: int = 1, snap: int = 262144) -> np.void:
    """The packet row of a single frame."""
    rows = decoded(pcap([(1, frame)], link=link, snap=snap))
    assert len(rows) == 1
    return rows[0]  # type: ignore[no-any-return]


def save(folder: Path, content: bytes, name: str = "mirror.pcap") -> Path:
    """`content` as a file."""
    path = folder / name
    path.write_bytes(content)
    return path
