"""Writes pcapng files block by block, in either byte order."""

from __future__ import annotations

import struct


class Writer:
    """Writes blocks in one byte order."""

    def __init__(self, order: str = "<") -> None:
        self.order = order
        self.out = b""

    def block(self, kind: int, body: bytes) -> Writer:
        """Append a block."""
        body += bytes(-len(body) % 4)
        length = struct.pack(self.order + "I", len(body) + 12)
        self.out += struct.pack(self.order + "I", kind) + length + body + length
        return self

    def section(self) -> Writer:
        """Append a section header."""
        return self.block(0x0A0D0D0A, struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(self, link: int = 1, options: tuple[tuple[int, bytes], ...] = (), snap: int = 0) -> Writer:
        """Append an interface description."""
        body = struct.pack(self.order + "HHI", link, 0, snap)
        for code, value in (*options, (0, b"")):
            body += struct.pack(self.order + "HH", code, len(value)) + value + bytes(-len(value) % 4)
        return self.block(1, body)

    def packet(self, ticks: int, frame: bytes, interface: int = 0) -> Writer:
        """Append an enhanced packet block."""
        head = struct.pack(self.order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
        return self.block(6, head + frame)
