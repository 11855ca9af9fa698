"""Datagrams that decoders died of, set aside: a pcap file each, which `flowprism feeds` and other tools read."""

from __future__ import annotations

import os
import struct
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from storage.lake.object_store import sync_folder

FOLDER = "quarantine"
MOST_FILES = 1000  # of a hostile sender's datagrams; further ones are counted and not kept

_MAGIC_NS, _LINKTYPE_RAW, _SNAP_BYTES = 0xA1B23C4D, 101, 1 << 18
_UDP, _HOP_LIMIT = 17, 64
_NANOSECONDS = 1_000_000_000
_LONGEST_IPV4_PAYLOAD = 65_507


def quarantine_packet(folder: Path, name: str, packet: bytes, time_ns: int) -> str:
    """Keep one packet in `folder`; the answer is the file's name, "" where too many lie there already.

    Args:
        folder: of the collector.
        name: of the file; a file of that name is replaced.
        packet: a bare IP packet.
        time_ns: when it was received, UTC.

    Raises:
        OSError: it cannot be written.
    """
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    if not (place / name).exists() and sum(1 for _ in place.iterdir()) >= MOST_FILES:
        return ""
    head = struct.pack("=IHHiIII", _MAGIC_NS, 2, 4, 0, 0, _SNAP_BYTES, _LINKTYPE_RAW)
    record = struct.pack("=IIII", *divmod(time_ns, _NANOSECONDS), len(packet), len(packet))
    with (place / name).open("wb") as file:
        file.write(head + record + packet)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(place)
    return name


def udp_packet(source: str, source_port: int, destination_port: int, payload: bytes) -> bytes:
    """A datagram as it may have come, to the loopback address of its family (the real one is not known).

    An IPFIX message from TCP is put the same way, cut to what a datagram can hold.
    """
    address = ip_address(source)
    payload = payload[:_LONGEST_IPV4_PAYLOAD]
    udp = struct.pack("!HHHH", source_port, destination_port, 8 + len(payload), 0) + payload
    if isinstance(address, IPv4Address):
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, _HOP_LIMIT, _UDP, 0)
        addresses = address.packed + IPv4Address("127.0.0.1").packed
        return head[:10] + struct.pack("!H", _checksum(head + addresses)) + addresses + udp
    addresses = address.packed + IPv6Address("::1").packed
    check = _checksum(addresses + struct.pack("!II", len(udp), _UDP) + udp) or 0xFFFF  # IPv6 demands one (RFC 8200 8.1)
    head = struct.pack("!IHBB", 6 << 28, len(udp), _UDP, _HOP_LIMIT)
    return head + addresses + udp[:6] + struct.pack("!H", check) + udp[8:]


def _checksum(content: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    padded = content + b"\0" * (len(content) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
