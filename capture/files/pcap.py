"""Classic pcap files: bytes -> where each frame lies (draft-ietf-opsawg-pcap).

Both byte orders, microsecond and nanosecond timestamps.
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.tables.frame_index import MAX_FRAME_BYTES, Index
from capture.tables.read_buffer import Bytes

HEADER_BYTES = 24
MAGICS = {  # first four bytes -> byte order, ns per unit of the second time field
    b"\xa1\xb2\xc3\xd4": ("big", 1000),
    b"\xd4\xc3\xb2\xa1": ("little", 1000),
    b"\xa1\xb2\x3c\x4d": ("big", 1),
    b"\x4d\x3c\xb2\xa1": ("little", 1),
}


class Pcap:
    """The frames of one classic pcap file."""

    def __init__(self) -> None:
        self.damage = ""
        self._header_seen = False
        self._little = True
        self._unit_ns = 1
        self._link = -1

    def scan(self, data: Bytes, start: int, end: int, index: Index) -> tuple[int, int]:
        """See `Container.scan`."""
        if not self._header_seen:
            if end - start < HEADER_BYTES:
                return 0, start
            self._read_header(bytes(data[start : start + HEADER_BYTES]))
            start += HEADER_BYTES
        count, stop, broken = scan_records(data, start, end, self._little, self._unit_ns, self._link, index)
        if broken:
            self.damage = "a packet record's length is impossible"
        return count, stop

    def _read_header(self, header: bytes) -> None:
        order, self._unit_ns = MAGICS[header[:4]]
        self._little = order == "little"
        # The upper half of the last field describes frame check sequences, not of the link type.
        self._link = int.from_bytes(header[20:24], "little" if self._little else "big") & 0xFFFF
        self._header_seen = True


@jit
def u32(data: Bytes, at: int, little: bool) -> int:
    """The unsigned 32-bit integer at `at`, in the given byte order."""
    a, b = wide(data[at]), wide(data[at + 1])
    c, d = wide(data[at + 2]), wide(data[at + 3])
    if little:
        return a | b << 8 | c << 16 | d << 24
    return d | c << 8 | b << 16 | a << 24


@jit
def scan_records(
    data: Bytes, start: int, end: int, little: bool, unit_ns: int, link: int, index: Index
) -> tuple[int, int, bool]:
    """Index the packet records of `data[start:end]`.

    Returns:
        Rows filled, first byte not consumed, and whether a record's length is impossible.
    """
    count = 0
    at = start
    while count < len(index) and at + 16 <= end:
        captured = u32(data, at + 8, little)
        if captured > MAX_FRAME_BYTES:
            return count, at, True
        if at + 16 + captured > end:
            break
        row = index[count]
        row["offset"] = at + 16
        row["time_ns"] = u32(data, at, little) * 1_000_000_000 + u32(data, at + 4, little) * unit_ns
        row["captured_bytes"] = captured
        row["wire_bytes"] = min(u32(data, at + 12, little), 0x7FFFFFFF)
        row["link"] = link
        row["interface"] = 0
        count += 1
        at += 16 + captured
    return count, at, False
