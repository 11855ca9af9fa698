"""The first bytes of sampled packets: Ethernet, IPv4, UDP or TCP, and the InfiniBand headers of RoCEv2."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from capture.packets.roce import AETH_BYTES, BTH_BYTES, CNP, ICRC_BYTES, RETH_BYTES
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import UDP

Rows = npt.NDArray[np.uint8]
Fields = npt.NDArray[np.void]

ETHERNET_BYTES, CHECKSUM_BYTES = 14, 4
SHORTEST_FRAME_BYTES = 60  # without its checksum; shorter ones are filled up
HEADER_BYTES = 128  # of each packet that sFlow agents usually keep
_IPV4_BYTES, _UDP_BYTES = 20, 8
_IPV4, _VERSION_AND_LENGTH, _DO_NOT_FRAGMENT, _TIME_TO_LIVE = 0x0800, 0x45, 0x4000, 64
_LOCAL_MAC = 0x0200  # a locally administered address
_TCP_OPTIONS, _TCP_WORDS, _ACKNOWLEDGES, _WINDOW = 0x0101080A, 8, 0x10, 0xFFFF  # timestamps, which stay zero
_FULL_PARTITION, _BACKWARD_NOTIFIED = 0xFFFF, 0x40
_IP, _TRANSPORT = ETHERNET_BYTES, ETHERNET_BYTES + _IPV4_BYTES
_BTH = _TRANSPORT + _UDP_BYTES
_EXTENDED = _BTH + BTH_BYTES
_MASK32 = 0xFFFFFFFF


def _view(*fields: tuple[str, str, int]) -> np.dtype[np.void]:
    """Fields (name, type, place) of a sampled header."""
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": HEADER_BYTES})


_EVERY = _view(
    ("dst_high", ">u2", 0), ("dst_mac", ">u4", 2), ("src_high", ">u2", 6), ("src_mac", ">u4", 8), ("type", ">u2", 12),
    ("version", "u1", _IP), ("tos", "u1", _IP + 1), ("size", ">u2", _IP + 2), ("id", ">u2", _IP + 4),
    ("flags", ">u2", _IP + 6), ("life", "u1", _IP + 8), ("proto", "u1", _IP + 9), ("checksum", ">u2", _IP + 10),
    ("src", ">u4", _IP + 12), ("dst", ">u4", _IP + 16), ("src_port", ">u2", _TRANSPORT),
    ("dst_port", ">u2", _TRANSPORT + 2),
)  # fmt: skip
_ROCE = _view(
    ("udp_bytes", ">u2", _TRANSPORT + 4), ("opcode", "u1", _BTH), ("pad", "u1", _BTH + 1),
    ("partition", ">u2", _BTH + 2), ("queue_pair", ">u4", _BTH + 4), ("sequence", ">u4", _BTH + 8),
)  # fmt: skip
_RETH = _view(("address", ">u8", _EXTENDED), ("key", ">u4", _EXTENDED + 8), ("message", ">u4", _EXTENDED + 12))
_AETH = _view(("syndrome", ">u4", _EXTENDED))  # a byte of syndrome, three of message sequence number
_TCP = _view(
    ("sequence", ">u4", _TRANSPORT + 4), ("acknowledged", ">u4", _TRANSPORT + 8), ("flags", ">u2", _TRANSPORT + 12),
    ("window", ">u2", _TRANSPORT + 14), ("options", ">u4", _TRANSPORT + 20),
)  # fmt: skip


def sampled_headers(packets: Frame, addresses: Int) -> tuple[Rows, Int]:
    """The first HEADER_BYTES of each packet's frame, zeros behind a shorter one, and how many of them there are.

    Args:
        packets: rows of `PACKETS`.
        addresses: IPv4 address of each endpoint as a number.
    """
    rows = np.zeros((len(packets), HEADER_BYTES), np.uint8)
    _every(rows.view(_EVERY)[:, 0], packets, addresses)
    rows[:, _IP + 10 : _IP + 12] = (
        internet_checksum(rows[:, _IP : _IP + _IPV4_BYTES]).astype(">u2").view(np.uint8).reshape(-1, 2)
    )
    roce = packets["proto"] == UDP
    _roce(rows, packets, np.flatnonzero(roce))
    _tcp(rows, packets, np.flatnonzero(~roce))
    frame = ETHERNET_BYTES + packets["bytes"]
    _invariant_checksums(rows, packets, np.flatnonzero(roce & (frame <= HEADER_BYTES)))
    return rows, np.minimum(np.maximum(frame, SHORTEST_FRAME_BYTES), HEADER_BYTES)


def frame_bytes(packets: Frame) -> Int:
    """(n,) bytes of each packet's frame with its checksum."""
    return np.maximum(ETHERNET_BYTES + packets["bytes"], SHORTEST_FRAME_BYTES) + CHECKSUM_BYTES


def _every(v: Fields, p: Frame, addresses: Int) -> None:
    """Ethernet, IPv4 but for its checksum, and ports."""
    v["src_high"] = v["dst_high"] = _LOCAL_MAC
    v["src_mac"], v["dst_mac"], v["type"] = p["src"], p["dst"], _IPV4
    v["version"], v["tos"], v["size"], v["flags"] = _VERSION_AND_LENGTH, p["tos"], p["bytes"], _DO_NOT_FRAGMENT
    v["id"] = (p["burst"] + p["sequence"]) & 0xFFFF
    v["life"], v["proto"] = _TIME_TO_LIVE, p["proto"]
    v["src"], v["dst"] = addresses[p["src"]], addresses[p["dst"]]
    v["src_port"], v["dst_port"] = p["src_port"], p["dst_port"]


def internet_checksum(rows: Rows) -> Int:
    """(n,) one's complement sum of each row's 16-bit words (RFC 1071)."""
    words = rows[:, ::2].astype(np.int64) << 8 | rows[:, 1::2]
    total = words.sum(axis=1)
    total = (total & 0xFFFF) + (total >> 16)
    checksum: Int = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return checksum


def _roce(rows: Rows, packets: Frame, where: Int) -> None:
    """UDP without a checksum, BTH, and RETH or AETH."""
    p = packets.take(where)
    filled = np.zeros((len(where), HEADER_BYTES), np.uint8)
    v = filled.view(_ROCE)[:, 0]
    with_reth, with_aeth = p["message_bytes"] >= 0, p["syndrome"] >= 0
    inner = p["bytes"] - _IPV4_BYTES - _UDP_BYTES - BTH_BYTES - ICRC_BYTES
    inner = inner - np.where(with_reth, RETH_BYTES, 0) - np.where(with_aeth, AETH_BYTES, 0)
    v["udp_bytes"], v["opcode"], v["pad"] = p["bytes"] - _IPV4_BYTES, p["opcode"], (-inner & 3) << 4
    v["partition"] = _FULL_PARTITION
    v["queue_pair"] = np.where(p["opcode"] == CNP, _BACKWARD_NOTIFIED << 24, 0) | p["queue_pair"]
    v["sequence"] = p["sequence"]
    reth = filled.view(_RETH)[:, 0]
    for name, value in (("address", p["sequence"] << 12), ("key", p["queue_pair"] * 31 & _MASK32)):
        reth[name][with_reth] = value[with_reth]
    reth["message"][with_reth] = p["message_bytes"][with_reth]
    aeth = p["syndrome"].astype(np.int64) << 24 | p["sequence"]  # messages are counted as packets are
    filled.view(_AETH)[:, 0]["syndrome"][with_aeth] = aeth[with_aeth]
    rows[where, _TRANSPORT + 4 : _EXTENDED + RETH_BYTES] = filled[:, _TRANSPORT + 4 : _EXTENDED + RETH_BYTES]


def _tcp(rows: Rows, packets: Frame, where: Int) -> None:
    """TCP with the timestamp option and no checksum."""
    p = packets.take(where)
    filled = np.zeros((len(where), HEADER_BYTES), np.uint8)
    v = filled.view(_TCP)[:, 0]
    v["sequence"], v["acknowledged"] = p["sequence"], p["acknowledged"]
    v["flags"], v["window"], v["options"] = _TCP_WORDS << 12 | _ACKNOWLEDGES, _WINDOW, _TCP_OPTIONS
    rows[where, _TRANSPORT + 4 : _TRANSPORT + 4 * _TCP_WORDS] = filled[:, _TRANSPORT + 4 : _TRANSPORT + 4 * _TCP_WORDS]


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
