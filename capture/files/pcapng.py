"""pcapng files: bytes -> where each frame lies (draft-ietf-opsawg-pcapng).

Sections of either byte order; several interfaces with link types, time stamp resolutions and offsets of their own;
enhanced, simple and obsolete packet blocks. Blocks of other kinds are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from capture.files.pcap import u32
from capture.ingest_log import IngestLog
from capture.jit import jit, wide
from capture.packets.packet_columns import Record
from capture.tables.frame_index import MAX_FRAME_BYTES, NO_TIME, Index
from capture.tables.read_buffer import Bytes

MAGIC = b"\x0a\x0d\x0d\x0a"
SECTION, INTERFACE, OBSOLETE_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
MAX_BLOCK_BYTES = MAX_FRAME_BYTES + 4096
OPTION_RESOLUTION, OPTION_OFFSET = 9, 14

# Columns of the interface table.
LINK, SNAP_BYTES, MULTIPLY, DIVIDE, BINARY_DIGITS, OFFSET_S = range(6)

# Why a scan of blocks stops.
MORE_BYTES, INDEX_FULL, CONTROL_BLOCK, BROKEN = range(4)


class Pcapng:
    """The frames of one pcapng file."""

    def __init__(self, ingest_log: IngestLog) -> None:
        self.damage = ""
        self._ledger = ingest_log
        self._little = True
        self._interfaces = np.empty((0, 6), np.int64)

    def scan(self, data: Bytes, start: int, end: int, index: Index) -> tuple[int, int]:
        """See `Container.scan`."""
        count, at = 0, start
        while True:
            more, at, why, malformed = scan_blocks(data, at, end, self._little, self._interfaces, index[count:])
            count += more
            self._ledger.reject("malformed pcapng packet block", malformed)
            if why == BROKEN:
                self.damage = "a block's length is impossible"
            if why != CONTROL_BLOCK:
                return count, at
            block = self._control_block(data, at, end)
            if not block:
                return count, at
            at += len(block)

    def _control_block(self, data: Bytes, at: int, end: int) -> bytes:
        """Take in the section header or interface description at `at`; empty where it is incomplete or damaged."""
        if at + 12 > end:
            return b""
        section = u32(data, at, self._little) == SECTION
        if section:
            order = bytes(data[at + 8 : at + 12])
            if order not in {b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"}:
                self.damage = "a section header has no byte-order magic"
                return b""
            self._little = order[0] == 0x4D
        length = u32(data, at + 4, self._little)
        if length % 4 or not (28 if section else 20) <= length <= MAX_BLOCK_BYTES:
            self.damage = "a block's length is impossible"
            return b""
        if at + length > end:
            return b""
        block = bytes(data[at : at + length])
        if section:
            self._interfaces = np.empty((0, 6), np.int64)
        else:
            self._interfaces = np.vstack([self._interfaces, self._interface(block)])
        return block

    def _interface(self, block: bytes) -> npt.NDArray[np.int64]:
        """The interface table's row for one interface description block."""
        order: Literal["little", "big"] = "little" if self._little else "big"
        row = np.zeros(6, np.int64)
        row[LINK] = int.from_bytes(block[8:10], order)
        row[SNAP_BYTES] = int.from_bytes(block[12:16], order)
        row[MULTIPLY], row[DIVIDE] = 1000, 1  # microseconds unless an option says otherwise
        for code, value in _options(block[16:-4], order):
            if code == OPTION_RESOLUTION and value:
                row[MULTIPLY : BINARY_DIGITS + 1] = _resolution(value[0])
            elif code == OPTION_OFFSET and len(value) >= 8:
                row[OFFSET_S] = int.from_bytes(value[:8], order, signed=True)
        return row


def _options(data: bytes, order: Literal["little", "big"]) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        code, length = int.from_bytes(data[at : at + 2], order), int.from_bytes(data[at + 2 : at + 4], order)
        if code == 0:
            return
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def _resolution(code: int) -> tuple[int, int, int]:
    """Multiplier, divisor and binary digits that turn ticks into nanoseconds (if_tsresol).

    The top bit of `code` chooses negative powers of two over negative powers of ten. Beyond what a signed 64-bit
    tick count since 1970 can hold (10^-18 s, 2^-62 s) the value is taken as that bound.
    """
    digits = code & 0x7F
    if code & 0x80:
        return 1, 1, min(digits, 62)
    return 10 ** max(0, 9 - digits), 10 ** max(0, min(digits, 18) - 9), 0


@jit
def ticks_to_ns(ticks: int, interface: npt.NDArray[np.int64]) -> int:
    """Time in ns of a time stamp of `ticks` units of the interface; NO_TIME where it is out of range."""
    shift, multiply, divide = wide(interface[BINARY_DIGITS]), wide(interface[MULTIPLY]), wide(interface[DIVIDE])
    offset_s = wide(interface[OFFSET_S])
    if ticks < 0 or abs(offset_s) > 0xFFFFFFFF:
        return NO_TIME
    if shift:
        part = ticks & ((1 << shift) - 1)
        whole = ticks >> shift
        if whole > 0xFFFFFFFF:
            return NO_TIME
        spare = max(shift - 33, 0)  # keeps the product within 63 bits
        time_ns = whole * 1_000_000_000 + ((part >> spare) * 1_000_000_000 >> (shift - spare))
    elif ticks > (1 << 62) // multiply:
        return NO_TIME
    else:
        time_ns = ticks * multiply // divide
    return max(time_ns + offset_s * 1_000_000_000, NO_TIME)


@jit
def scan_blocks(
    data: Bytes, start: int, end: int, little: bool, interfaces: npt.NDArray[np.int64], index: Index
) -> tuple[int, int, int, int]:
    """Index the packet blocks of `data[start:end]` up to the next section header or interface description.

    Returns:
        Rows filled, first byte not consumed, why it stopped, and packet blocks passed over as malformed.
    """
    count, malformed, at = 0, 0, start
    while at + 12 <= end:
        kind = u32(data, at, little)
        if kind in (SECTION, INTERFACE):
            return count, at, CONTROL_BLOCK, malformed
        length = u32(data, at + 4, little)
        if length < 12 or length % 4 or length > MAX_BLOCK_BYTES:
            return count, at, BROKEN, malformed
        if at + length > end:
            break
        if kind in (ENHANCED_PACKET, OBSOLETE_PACKET, SIMPLE_PACKET):
            if count == len(index):
                return count, at, INDEX_FULL, malformed
            if packet_block(data, at, length, kind, little, interfaces, index[count]):
                count += 1
            else:
                malformed += 1
        at += length
    return count, at, MORE_BYTES, malformed


@jit
def packet_block(
    data: Bytes, at: int, length: int, kind: int, little: bool, interfaces: npt.NDArray[np.int64], row: Record
) -> bool:
    """Fill `row` from the packet block of `length` bytes at `at`; False where the block contradicts itself."""
    if kind == SIMPLE_PACKET:
        head, number = 12, wide(0)
    else:
        head, number = 28, u32(data, at + 8, little)
    if length < head + 4:
        return False
    ticks = wide(NO_TIME)
    if kind == SIMPLE_PACKET:
        wire = u32(data, at + 8, little)
        captured = min(wire, length - head - 4)
        if len(interfaces) and interfaces[0, SNAP_BYTES] and captured > interfaces[0, SNAP_BYTES]:
            captured = interfaces[0, SNAP_BYTES]
    else:
        if kind == OBSOLETE_PACKET:  # a 16-bit interface number, then a 16-bit count of drops
            number = number & 0xFFFF if little else number >> 16
        ticks = u32(data, at + 12, little) << 32 | u32(data, at + 16, little)
        captured, wire = u32(data, at + 20, little), u32(data, at + 24, little)
    if captured > length - head - 4:
        return False
    known = number < len(interfaces)
    row["offset"] = at + head
    row["time_ns"] = ticks_to_ns(ticks, interfaces[number]) if known and ticks >= 0 else NO_TIME
    row["captured_bytes"] = captured
    row["wire_bytes"] = min(wire, 0x7FFFFFFF)
    row["link"] = interfaces[number, LINK] if known else -1
    row["interface"] = min(number, 0xFFFF)
    return True
