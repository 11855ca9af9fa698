"""The first bytes of sampled packets: Ethernet, IPv4, UDP or TCP, and the InfiniBand headers of RoCEv2."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from capture.roce import AETH_BYTES, BTH_BYTES, CNP, ICRC_BYTES, RETH_BYTES
from datamodel.flows import UDP
from datamodel.frame import Frame
from datamodel.streams import Int
from simulate.fabric import mixed

Rows = npt.NDArray[np.uint8]

ETHERNET_BYTES, CHECKSUM_BYTES = 14, 4
SHORTEST_FRAME_BYTES = 60  # without its checksum; shorter ones are filled up
HEADER_BYTES = 128  # of each packet that sFlow agents usually keep
_IPV4_BYTES, _UDP_BYTES = 20, 8
_TIME_TO_LIVE = 64
_LOCAL_MAC = 0x02  # a locally administered address
_ACK_FLAG = 0x10
_IP, _TRANSPORT = ETHERNET_BYTES, ETHERNET_BYTES + _IPV4_BYTES
_BTH = _TRANSPORT + _UDP_BYTES
_EXTENDED = _BTH + BTH_BYTES
_FULL_PARTITION = 0xFFFF
_BECN_BIT = 0x40
_MASK32 = 0xFFFFFFFF


def sampled_headers(packets: Frame, addresses: Int) -> tuple[Rows, Int]:
    """The first HEADER_BYTES of each packet's frame, zeros behind a shorter one, and how many of them there are.

    Args:
        packets: rows of `PACKETS`.
        addresses: IPv4 address of each endpoint as a number.
    """
    rows = np.zeros((len(packets), HEADER_BYTES), np.uint8)
    src, dst = packets["src"].astype(np.int64), packets["dst"].astype(np.int64)
    _put(rows, 0, 6, _mac(dst))
    _put(rows, 6, 6, _mac(src))
    _put(rows, 12, 2, np.full(len(rows), 0x0800))
    _ipv4(rows, packets, addresses[src], addresses[dst])
    roce = packets["proto"] == UDP
    _udp(rows, packets, roce)
    _tcp(rows, packets, ~roce)
    frame = ETHERNET_BYTES + packets["bytes"]
    short = roce & (frame <= HEADER_BYTES)
    _invariant_checksums(rows, packets, np.flatnonzero(short))
    return rows, np.minimum(np.maximum(frame, SHORTEST_FRAME_BYTES), HEADER_BYTES)


def frame_bytes(packets: Frame) -> Int:
    """(n,) bytes of each packet's frame with its checksum."""
    return np.maximum(ETHERNET_BYTES + packets["bytes"], SHORTEST_FRAME_BYTES) + CHECKSUM_BYTES


def _put(rows: Rows, at: int, size: int, values: Int, where: npt.NDArray[np.bool_] | None = None) -> None:
    """Write big-endian integers of `size` bytes."""
    for k in range(size):
        byte = (values >> 8 * (size - 1 - k)) & 0xFF
        if where is None:
            rows[:, at + k] = byte
        else:
            rows[where, at + k] = byte[where]


def _mac(endpoint: Int) -> Int:
    return (_LOCAL_MAC << 40) + endpoint


def _ipv4(rows: Rows, p: Frame, src: Int, dst: Int) -> None:
    _put(rows, _IP, 2, 0x4500 | p["tos"].astype(np.int64))
    _put(rows, _IP + 2, 2, p["bytes"])
    _put(rows, _IP + 4, 2, mixed(p["burst"], p["sequence"]) & 0xFFFF)
    _put(rows, _IP + 6, 2, np.full(len(rows), 0x4000))  # don't fragment
    _put(rows, _IP + 8, 2, _TIME_TO_LIVE << 8 | p["proto"].astype(np.int64))
    _put(rows, _IP + 12, 4, src)
    _put(rows, _IP + 16, 4, dst)
    _put(rows, _IP + 10, 2, internet_checksum(rows[:, _IP : _IP + _IPV4_BYTES]))


def internet_checksum(rows: Rows) -> Int:
    """(n,) one's complement sum of each row's 16-bit words (RFC 1071)."""
    words = rows[:, ::2].astype(np.int64) << 8 | rows[:, 1::2]
    total = words.sum(axis=1)
    total = (total & 0xFFFF) + (total >> 16)
    checksum: Int = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return checksum


def _udp(rows: Rows, p: Frame, roce: npt.NDArray[np.bool_]) -> None:
    _put(rows, _TRANSPORT, 2, p["src_port"].astype(np.int64), roce)
    _put(rows, _TRANSPORT + 2, 2, p["dst_port"].astype(np.int64), roce)
    _put(rows, _TRANSPORT + 4, 2, p["bytes"] - _IPV4_BYTES, roce)
    inner = p["bytes"] - _IPV4_BYTES - _UDP_BYTES - BTH_BYTES - ICRC_BYTES
    inner = inner - np.where(p["message_bytes"] >= 0, RETH_BYTES, 0) - np.where(p["syndrome"] >= 0, AETH_BYTES, 0)
    _put(rows, _BTH, 1, p["opcode"].astype(np.int64), roce)
    _put(rows, _BTH + 1, 1, (-inner & 3) << 4, roce)
    _put(rows, _BTH + 2, 2, np.full(len(rows), _FULL_PARTITION), roce)
    _put(rows, _BTH + 4, 1, np.where(p["opcode"] == CNP, _BECN_BIT, 0), roce)
    _put(rows, _BTH + 5, 3, p["queue_pair"], roce)
    _put(rows, _BTH + 9, 3, p["sequence"], roce)
    reth, aeth = roce & (p["message_bytes"] >= 0), roce & (p["syndrome"] >= 0)
    _put(rows, _EXTENDED, 8, mixed(p["queue_pair"], p["sequence"]) << 12, reth)
    _put(rows, _EXTENDED + 8, 4, mixed(p["queue_pair"], p["queue_pair"]), reth)
    _put(rows, _EXTENDED + 12, 4, p["message_bytes"], reth)
    _put(rows, _EXTENDED, 1, p["syndrome"].astype(np.int64), aeth)
    _put(rows, _EXTENDED + 1, 3, p["sequence"], aeth)  # message sequence number: one a packet here


def _tcp(rows: Rows, p: Frame, tcp: npt.NDArray[np.bool_]) -> None:
    _put(rows, _TRANSPORT, 2, p["src_port"].astype(np.int64), tcp)
    _put(rows, _TRANSPORT + 2, 2, p["dst_port"].astype(np.int64), tcp)
    _put(rows, _TRANSPORT + 4, 4, p["sequence"], tcp)
    _put(rows, _TRANSPORT + 8, 4, p["acknowledged"], tcp)
    _put(rows, _TRANSPORT + 12, 2, np.full(len(rows), 8 << 12 | _ACK_FLAG), tcp)
    _put(rows, _TRANSPORT + 14, 2, np.full(len(rows), 0xFFFF), tcp)
    _put(rows, _TRANSPORT + 20, 4, np.full(len(rows), 0x0101080A), tcp)  # timestamp option, which stays zero


def _invariant_checksums(rows: Rows, p: Frame, where: Int) -> None:
    """Invariant CRC of packets that are in the sample as a whole."""
    for size in np.unique(p["bytes"][where]).tolist():
        group = where[p["bytes"][where] == size]
        end = ETHERNET_BYTES + size
        rows[group, end - ICRC_BYTES : end] = invariant_checksums(rows[group, _IP : end - ICRC_BYTES])


def invariant_checksums(packets: Rows) -> Rows:
    """(n, 4) CRC-32 over IPv4 packets of RoCEv2 up to their invariant CRC, as it stands on the wire.

    What switches change counts as ones: type of service, time to live, both checksums, and a byte of the BTH; eight
    bytes of ones stand for the link layer's header (InfiniBand Architecture Specification, annex A17).
    """
    masked = packets.copy()
    masked[:, [1, 8, 10, 11, _IPV4_BYTES + 6, _IPV4_BYTES + 7, _IPV4_BYTES + _UDP_BYTES + 4]] = 0xFF
    state = np.full(len(packets), zlib.crc32(b"\xff" * 8) ^ _MASK32, np.uint32)
    for column in masked.T:
        state = _CRC_TABLE[(state ^ column) & 0xFF] ^ (state >> 8)
    return (state ^ np.uint32(_MASK32)).astype("<u4").view(np.uint8).reshape(-1, 4)


def _crc_table() -> npt.NDArray[np.uint32]:
    """What each byte does to CRC-32 (IEEE 802.3, reflected)."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    return table


_CRC_TABLE = _crc_table()
