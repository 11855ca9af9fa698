"""Link and network headers: bytes -> what comes next and where.

Every function takes the bytes and the positions [at, end) it may read, and answers with a kind and a position;
a negative kind is minus the reason (`capture.packets.packet_columns`) why there is nothing further.
"""

from __future__ import annotations

import numpy as np

from capture.jit import jit, wide
from capture.packets.packet_columns import (
    BAD_NETWORK,
    CUT_LINK,
    CUT_NETWORK,
    NOT_IP,
    TOO_DEEP,
    UNKNOWN_LINK,
    Record,
)
from capture.tables.read_buffer import Bytes

IPV4, IPV6, ETHERNET, INFINIBAND = 0x0800, 0x86DD, 0x6558, 0x8915
_VLAN, _QINQ, _OLD_QINQ, _MPLS, _MPLS_MULTICAST = 0x8100, 0x88A8, 0x9100, 0x8847, 0x8848
_MAX_LABELS = 8
_SEGMENT_ROUTING = 4  # type of a routing header
MAX_EXTENSIONS = 8
ROUTING_HEADER, FRAGMENT_HEADER, AUTHENTICATION_HEADER = (
    43,
    44,
    51,
)  # of IPv6's extension headers those that are not like the others
MAPPED = 0xFFFF << 32
LONGEST_PACKET_BYTES = 1 << 20  # that segmentation offload hands over whole: half of it (Linux's BIG TCP)
_ONE = np.uint64(1)

# LINKTYPE_ values (and the DLT_RAW values that some writers store instead).
_NULL, _ETHERNET, _DLT_RAW, _DLT_RAW_BSD, _RAW, _LOOP = 0, 1, 12, 14, 101, 108
_LINUX_SLL, _RAW_IPV4, _RAW_IPV6, _LINUX_SLL2 = 113, 228, 229, 276


@jit
def be16(data: Bytes, at: int) -> int:
    """The big-endian 16-bit integer at `at`, which is not negative.

    The index is unsigned because a signed one is tested for counting from the end, byte by byte; without the tests
    the bytes of an integer are loaded at once.
    """
    first = np.uint64(at)
    return wide(data[first]) << 8 | wide(data[first + _ONE])


@jit
def be32(data: Bytes, at: int) -> int:
    """The big-endian 32-bit integer at `at`."""
    return be16(data, at) << 16 | be16(data, at + 2)


@jit
def be64(data: Bytes, at: int) -> int:
    """The big-endian signed 64-bit integer at `at`."""
    return be32(data, at) << 32 | be32(data, at + 4)


@jit
def is_congested(tos: int) -> bool:
    """Whether the field that holds DSCP and ECN says that congestion was experienced (RFC 3168)."""
    return tos & 3 == 3


@jit
def by_version(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """What the version nibble of a bare IP packet says."""
    if at >= end:
        return -CUT_LINK, at
    version = data[at] >> 4
    if version == 4:
        return IPV4, at
    if version == 6:
        return IPV6, at
    return -NOT_IP, at


@jit
def link_layer(data: Bytes, at: int, end: int, link: int) -> tuple[int, int]:
    """The ethertype behind a frame's link header of type `link`."""
    if link == _ETHERNET:
        return ETHERNET, at
    if link in (_RAW, _DLT_RAW, _DLT_RAW_BSD, _RAW_IPV4, _RAW_IPV6):
        return by_version(data, at, end)
    if link == _LINUX_SLL:
        return (be16(data, at + 14), at + 16) if at + 16 <= end else (-CUT_LINK, at)
    if link == _LINUX_SLL2:
        return (be16(data, at), at + 20) if at + 20 <= end else (-CUT_LINK, at)
    if link in (_NULL, _LOOP):
        # Four bytes of address family, in the byte order and by the numbering of the machine that captured.
        return by_version(data, at + 4, end) if at + 5 <= end else (-CUT_LINK, at)
    return -UNKNOWN_LINK, at


@jit
def ethernet(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The ethertype of an Ethernet frame."""
    if at + 14 > end:
        return -CUT_LINK, at
    return be16(data, at + 12), at + 14


@jit
def unlabelled(data: Bytes, kind: int, at: int, end: int) -> tuple[int, int]:
    """The ethertype behind any VLAN tags (IEEE 802.1Q, 802.1ad, the older 0x9100) and MPLS labels (RFC 3032).

    ETHERNET where the labels are those of a pseudowire: another frame begins there.
    """
    for _ in range(_MAX_LABELS):
        if kind in (_VLAN, _QINQ, _OLD_QINQ):
            if at + 4 > end:
                return -CUT_LINK, at
            kind, at = be16(data, at + 2), at + 4
        elif kind in (_MPLS, _MPLS_MULTICAST):
            if at + 4 > end:
                return -CUT_LINK, at
            bottom = data[at + 2] & 1
            at += 4
            if bottom:
                return beneath_labels(data, at, end)
        else:
            return kind, at
    return -TOO_DEEP, at


@jit
def beneath_labels(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """What an MPLS label stack carries: IP, or the frame of a pseudowire (RFC 4448), with or without its control word.

    Nothing in the stack says which. A control word begins with four zero bits, as IP never does (RFC 4385 section 3).
    """
    kind, inside = by_version(data, at, end)
    # No IPv4 header is as short as that, and hardly an IPv6 address looks like a type and another header.
    is_address = (kind == IPV4 and (data[at] & 15) < 5) or (kind == IPV6 and is_frame(data, at, end))
    if kind > 0 and not is_address:
        return kind, inside
    if at < end and data[at] >> 4 == 0 and is_frame(data, at + 4, end):
        return ETHERNET, at + 4
    return (ETHERNET, at) if is_frame(data, at, end) else (-NOT_IP, at)


@jit
def is_frame(data: Bytes, at: int, end: int) -> bool:
    """Whether an Ethernet frame that leads to IP, through tags or labels or at once, may begin at `at`."""
    if at + 15 > end:
        return False
    kind, version = be16(data, at + 12), data[at + 14] >> 4
    if kind in (IPV4, IPV6):
        return bool(version == (4 if kind == IPV4 else 6))
    return kind in (_VLAN, _QINQ, _OLD_QINQ, _MPLS, _MPLS_MULTICAST)


@jit
def ipv4(data: Bytes, at: int, end: int, wire_end: int, packet: Record) -> tuple[int, int, int]:
    """Fill `packet` from an IPv4 header (RFC 791); the whole frame would end at `wire_end`, the capture of it at `end`.

    Returns:
        The protocol, where its header begins, and where the packet ends (beyond `end` where the capture was cut).
    """
    if at + 20 > end:
        return -CUT_NETWORK, at, at
    header_bytes = (wide(data[at]) & 15) * 4
    total = be16(data, at + 2)
    if total == 0:  # segmentation offload leaves the field empty where the packet is longer than it can say
        total = wire_end - at
    if data[at] >> 4 != 4 or header_bytes < 20 or total < header_bytes or total > LONGEST_PACKET_BYTES:
        return -BAD_NETWORK, at, at
    fragment = be16(data, at + 6)
    packet["ip_bytes"] = total
    packet["tos"] = data[at + 1]
    packet["ip_id"] = be16(data, at + 4)
    packet["fragment"] = 1 if fragment & 0x1FFF else 0
    packet["more_fragments"] = 1 if fragment & 0x2000 else 0
    packet["proto"] = data[at + 9]
    packet["src_high"] = 0
    packet["dst_high"] = 0
    packet["src_low"] = MAPPED | be32(data, at + 12)
    packet["dst_low"] = MAPPED | be32(data, at + 16)
    return wide(data[at + 9]), at + header_bytes, at + total


@jit
def ipv6(data: Bytes, at: int, end: int, wire_end: int, packet: Record) -> tuple[int, int, int]:
    """Fill `packet` from an IPv6 header and its extension headers (RFC 8200).

    Returns:
        As `ipv4`.
    """
    if at + 40 > end:
        return -CUT_NETWORK, at, at
    if data[at] >> 4 != 6:
        return -BAD_NETWORK, at, at
    length = be16(data, at + 4)
    stop = at + 40 + length if length else wire_end  # zero: a jumbogram or segmentation offload
    if stop > at + LONGEST_PACKET_BYTES:
        return -BAD_NETWORK, at, at
    packet["ip_bytes"] = stop - at
    packet["tos"] = (be16(data, at) >> 4) & 0xFF
    packet["ip_id"] = 0
    packet["fragment"] = 0
    packet["src_high"] = be64(data, at + 8)
    packet["src_low"] = be64(data, at + 16)
    packet["dst_high"] = be64(data, at + 24)
    packet["dst_low"] = be64(data, at + 32)
    proto, at = extensions(data, wide(data[at + 6]), at + 40, end, packet)
    if proto >= 0:
        packet["proto"] = proto
        if at > stop:
            return -BAD_NETWORK, at, at
    return proto, at, stop


@jit
def extensions(data: Bytes, proto: int, at: int, end: int, packet: Record) -> tuple[int, int]:
    """The upper-layer protocol behind IPv6 extension headers, and where it begins."""
    for _ in range(MAX_EXTENSIONS):
        if not is_extension(proto):
            return proto, at
        if at + 8 > end:
            return -CUT_NETWORK, at
        if proto == FRAGMENT_HEADER:
            packet["ip_id"] = be32(data, at + 4) & 0x7FFFFFFF
            packet["more_fragments"] = data[at + 3] & 1
            if be16(data, at + 2) & 0xFFF8:
                packet["fragment"] = 1
                return wide(data[at]), at + 8
        if proto == ROUTING_HEADER:
            last_segment(data, at, end, packet)
        proto, at = behind(data, proto, at)
    return -TOO_DEEP, at


@jit
def last_segment(data: Bytes, at: int, end: int, packet: Record) -> None:
    """Take the last segment for the destination where segments are left to visit (RFC 8754): it is listed first."""
    if data[at + 2] == _SEGMENT_ROUTING and data[at + 3] > 0 and data[at + 1] >= 2 and at + 24 <= end:
        packet["dst_high"] = be64(data, at + 8)
        packet["dst_low"] = be64(data, at + 16)


@jit
def is_extension(proto: int) -> bool:
    """Whether a protocol is an IPv6 extension header.

    These are hop-by-hop options, routing, fragment, authentication, destination options, mobility, HIP, Shim6.
    """
    return proto in (0, ROUTING_HEADER, FRAGMENT_HEADER, AUTHENTICATION_HEADER, 60, 135, 139, 140)


@jit
def behind(data: Bytes, proto: int, at: int) -> tuple[int, int]:
    """Return what follows the extension header at `at`, and where; its first eight bytes are present."""
    size = 8 if proto == FRAGMENT_HEADER else (wide(data[at + 1]) + 1) * 8
    if proto == AUTHENTICATION_HEADER:  # counts words of four bytes
        size = (wide(data[at + 1]) + 2) * 4
    return wide(data[at]), at + size
