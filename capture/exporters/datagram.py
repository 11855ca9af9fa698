"""Export datagrams: where each lies, when and from where it came, and which protocol its first bytes announce."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capture.jit import jit
from capture.packets.headers import be16, be32
from capture.tables.read_buffer import Bytes

# Protocols that are decoded; index into PROTOCOLS.
NO_EXPORT, SFLOW5, NETFLOW5, NETFLOW9, IPFIX = range(5)
PROTOCOLS = ("", "sFlow v5", "NetFlow v5", "NetFlow v9", "IPFIX")

DATAGRAM = np.dtype(
    [
        ("offset", "i8"),  # of the payload's first byte
        ("time_ns", "i8"),  # when it was received, UTC
        # Source address as two signed 64-bit words; IPv4 is IPv4-mapped.
        ("source_high", "i8"),
        ("source_low", "i8"),
        ("bytes", "i4"),  # payload bytes at hand
        ("source_port", "u2"),
        ("destination_port", "u2"),
        ("protocol", "u1"),  # one of PROTOCOLS
        ("cut", "u1"),  # 1: the capture holds less of the datagram than was sent
        ("in_session", "u1"),  # 1: an IPFIX message of a TCP session; files do not show this and count as UDP
    ],
    align=True,
)

Index = npt.NDArray[np.void]

_SFLOW_MINIMUM_BYTES = 28
_NETFLOW5_HEADER_BYTES, _NETFLOW5_RECORD_BYTES, _NETFLOW5_MOST_RECORDS = 24, 48, 30
_NETFLOW9_HEADER_BYTES = 20
_IPFIX_HEADER_BYTES = 16


@dataclass(frozen=True, slots=True)
class Datagrams:
    """A batch of export datagrams in order of arrival.

    Attributes:
        data: bytes that hold the payloads; valid until the next batch is asked for.
        index: one `DATAGRAM` row a payload.
    """

    data: Bytes
    index: Index

    def __len__(self) -> int:
        return len(self.index)


@jit
def announced(data: Bytes, at: int, end: int) -> int:
    """Which protocol the payload `data[at:end]` says it is; NO_EXPORT where it is none that is decoded.

    sFlow begins with a 32-bit 5 (sFlow version 5 specification, section 5), the others with a 16-bit version
    (NetFlow 5; RFC 3954 section 5.1; RFC 7011 section 3.1), so four bytes distinguish them.
    """
    if at + 4 > end:
        return NO_EXPORT
    if be32(data, at) == 5:
        return SFLOW5
    version = be16(data, at)
    if version == 5:
        return NETFLOW5
    if version == 9:
        return NETFLOW9
    if version == 10:
        return IPFIX
    return NO_EXPORT


@jit
def plausible(data: Bytes, at: int, end: int, bytes_sent: int) -> bool:
    """Check whether the payload `data[at:end]`, `bytes_sent` long when sent, has the structure of an export datagram.

    The first bytes alone would take other traffic for exports; the sizes and counts behind them must fit too.
    """
    protocol = announced(data, at, end)
    if protocol == SFLOW5:
        kind = be32(data, at + 4) if at + 8 <= end else 0
        return bytes_sent >= _SFLOW_MINIMUM_BYTES and kind in (1, 2)
    if protocol == NETFLOW5:
        count = be16(data, at + 2)
        size = _NETFLOW5_HEADER_BYTES + count * _NETFLOW5_RECORD_BYTES
        return 1 <= count <= _NETFLOW5_MOST_RECORDS and bytes_sent >= size
    if protocol == NETFLOW9:
        first = at + _NETFLOW9_HEADER_BYTES
        set_id = be16(data, first) if first + 4 <= end else 2
        return (set_id < 2 or set_id > 255) and first + be16(data, first + 2) <= at + bytes_sent
    if protocol == IPFIX:
        return _IPFIX_HEADER_BYTES <= be16(data, at + 2) <= bytes_sent
    return False
