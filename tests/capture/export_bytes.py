"""Builds export datagrams byte by byte, without the decoders' own tables, so that the two check each other."""

from __future__ import annotations

import struct
from ipaddress import ip_address

SFLOW_RAW_HEADER, SFLOW_FLOW_SAMPLE, SFLOW_COUNTER_SAMPLE = 1, 1, 2


def sflow(samples: tuple[bytes, ...], agent: str = "10.255.0.1", sequence: int = 1, uptime_ms: int = 1000) -> bytes:
    """An sFlow v5 datagram."""
    address = ip_address(agent)
    head = struct.pack("!II", 5, 1 if address.version == 4 else 2) + address.packed
    return head + struct.pack("!IIII", 0, sequence, uptime_ms, len(samples)) + b"".join(samples)


def flow_sample(frame: bytes, sequence: int = 1, rate: int = 1000, interface: int = 3, pool: int = 0) -> bytes:
    """A flow sample that holds one raw Ethernet header."""
    padded = frame + bytes(-len(frame) % 4)
    record = struct.pack("!IIIIII", SFLOW_RAW_HEADER, 16 + len(padded), 1, len(frame) + 4, 4, len(frame)) + padded
    body = struct.pack("!IIIIIIII", sequence, interface, rate, pool, 0, interface, 7, 1) + record
    return struct.pack("!II", SFLOW_FLOW_SAMPLE, len(body)) + body


def netflow5(
    records: tuple[bytes, ...], sequence: int = 0, uptime_ms: int = 60_000, unix_s: int = 1_700_000_000
) -> bytes:
    """A NetFlow v5 datagram."""
    return struct.pack("!HHIIIIBBH", 5, len(records), uptime_ms, unix_s, 500, sequence, 0, 1, 0) + b"".join(records)


def record5(
    src: str = "10.0.0.1", dst: str = "10.0.0.2", size: int = 9000, first_ms: int = 0, last_ms: int = 0
) -> bytes:
    """A NetFlow v5 record of TCP port 1000 to 2000."""
    addresses = ip_address(src).packed + ip_address(dst).packed + bytes(4)
    counts = struct.pack("!HHIIII", 3, 4, 9, size, first_ms, last_ms)
    return addresses + counts + struct.pack("!HHBBBBHHBBH", 1000, 2000, 0, 0x10, 6, 0, 0, 0, 24, 24, 0)


def ipfix(sets: tuple[bytes, ...], sequence: int = 0, export_s: int = 1_700_000_000, domain: int = 1) -> bytes:
    """An IPFIX message."""
    body = b"".join(sets)
    return struct.pack("!HHIII", 10, 16 + len(body), export_s, sequence, domain) + body


def netflow9(
    sets: tuple[bytes, ...], count: int, sequence: int = 0, uptime_ms: int = 60_000, unix_s: int = 1_700_000_000
) -> bytes:
    """A NetFlow v9 datagram of source 1 that says it holds `count` records."""
    return struct.pack("!HHIIII", 9, count, uptime_ms, unix_s, sequence, 1) + b"".join(sets)


def flow_set(set_id: int, body: bytes) -> bytes:
    """A set of either protocol, padded to four bytes."""
    padded = body + bytes(-len(body) % 4)
    return struct.pack("!HH", set_id, 4 + len(padded)) + padded


def template(template_id: int, fields: tuple[tuple[int, int], ...]) -> bytes:
    """A template record of fields (element, length in bytes)."""
    return struct.pack("!HH", template_id, len(fields)) + b"".join(struct.pack("!HH", *field) for field in fields)
