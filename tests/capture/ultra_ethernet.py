"""Builds Ultra Ethernet packets byte by byte, without the decoder's own tables (specification 1.0, 3.4 and 3.5)."""

import struct

TSS, RUD, ACK, NACK, RUD_CC = 1, 2, 7, 10, 13
STANDARD, WRITE = 3, 1


def prologue(kind: int, following: int = 0, flags: int = 0) -> int:
    """Packet type, next header and flags."""
    return kind << 11 | following << 7 | flags


def request(kind: int, number: int, own: int, others: int, rest: bytes) -> bytes:
    """A numbered request between two contexts, with a standard semantic header in `rest`."""
    return struct.pack("!HHIHH", prologue(kind, STANDARD, 0x08), 0xFFFF, number, own, others) + rest


def answer(kind: int, number: int, own: int, others: int) -> bytes:
    """An acknowledgement of all up to a number, or a negative one (code: trimmed)."""
    rest = struct.pack("!BBH", 1, 0, 0) if kind == NACK else b""
    return struct.pack("!HHIHH", prologue(kind), 0, number, own, others) + rest


def standard(length: int, *, starts: bool = False, ends: bool = False, message: int = 1) -> bytes:
    """A standard semantic header of a write of `length` bytes."""
    head = struct.pack("!BBHIHH", WRITE, ends << 1 | starts, message, 0x1234, 1, 2)
    return head + struct.pack("!QIQQI", 0, 0, 0, 0, length)
