"""GRE payloads of the three ERSPAN types, byte by byte; what a switch puts behind the IP header."""

import struct


def erspan_one(frame: bytes) -> bytes:
    """Type I: no header, no number."""
    return struct.pack("!HH", 0, 0x88BE) + frame


def erspan_two(frame: bytes, session: int, sequence: int) -> bytes:
    """Type II."""
    gre = struct.pack("!HHI", 0x1000, 0x88BE, sequence & 0xFFFFFFFF)
    return gre + struct.pack("!HHI", 0x1000, session, 0) + frame


def erspan_three(frame: bytes, session: int, sequence: int, *, subheader: bool = False) -> bytes:
    """Type III, with its 32-bit time stamp, and with a platform-specific subheader on request."""
    gre = struct.pack("!HHI", 0x1000, 0x22EB, sequence & 0xFFFFFFFF)
    head = struct.pack("!HHIHH", 0x2000, session, 0x12345678, 0, int(subheader))
    return gre + head + (bytes(8) if subheader else b"") + frame
