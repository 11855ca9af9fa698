"""Encapsulations that mirrors and overlays use: bytes -> what is inside and where.

GRE (RFC 2784, 2890), ERSPAN types I to III (draft-foschiano-erspan), NVGRE (RFC 7637), VXLAN (RFC 7348) with or
without group policy (draft-smith-vxlan-group-policy), VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe), Geneve (RFC 8926), and IP
in IP. Kinds are ethertypes; 0 means no encapsulation, a negative kind is minus the reason.
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.packets.headers import ETHERNET, IPV4, IPV6, be16, be32, by_version
from capture.packets.packet_columns import CUT_TUNNEL, UNKNOWN_TUNNEL, Record
from capture.tables.read_buffer import Bytes

_IP_IN_IP, _UDP, _IPV6_IN_IP, _GRE = 4, 17, 41, 47
_VXLAN_PORT, _LINUX_VXLAN_PORT = 4789, 8472  # Linux had a port of its own before IANA gave one
_VXLAN_GPE_PORT, _GENEVE_PORT = 4790, 6081
_ERSPAN, _ERSPAN_III = 0x88BE, 0x22EB


@jit
def tunnel(data: Bytes, proto: int, at: int, end: int, packet: Record) -> tuple[int, int]:
    """What the payload of IP protocol `proto` at `at` encapsulates.

    An ERSPAN session's outer source becomes the packet's sampler; of an overlay its network is kept.
    """
    if proto == _UDP:
        return udp_tunnel(data, at, end, packet)
    if proto == _GRE:
        return gre(data, at, end, packet)
    if proto in (_IP_IN_IP, _IPV6_IN_IP):
        return by_version(data, at, end)
    return 0, at


@jit
def udp_tunnel(data: Bytes, at: int, end: int, packet: Record) -> tuple[int, int]:
    """VXLAN, VXLAN-GPE and Geneve, recognised by port and by a header that is consistent; all else is plain UDP."""
    if at + 16 > end:
        return 0, at
    port = be16(data, at + 2)
    if port in (_VXLAN_PORT, _LINUX_VXLAN_PORT) and is_vxlan(data, at + 8):
        packet["network"] = network(data, at + 12)
        return ETHERNET, at + 16
    if port == _VXLAN_GPE_PORT:
        kind = vxlan_gpe(data, at + 8)
        if kind:
            packet["network"] = network(data, at + 12)
        return kind, at + 16 if kind else at
    if port == _GENEVE_PORT and data[at + 8] >> 6 == 0:
        kind = be16(data, at + 10)
        if kind in (ETHERNET, IPV4, IPV6):
            packet["network"] = network(data, at + 12)
            return kind, at + 16 + (wide(data[at + 8]) & 0x3F) * 4
    return 0, at


@jit
def network(data: Bytes, at: int) -> int:
    """The network identifier of 24 bits at `at`."""
    return be32(data, at) >> 8


@jit
def is_vxlan(data: Bytes, at: int) -> bool:
    """Whether a VXLAN header stands at `at`: of its reserved bits only those are set that group policy uses."""
    plain = data[at] == 0x08 and be16(data, at + 1) == 0
    return bool((plain or data[at] == 0x88) and data[at + 7] == 0)


@jit
def vxlan_gpe(data: Bytes, at: int) -> int:
    """What the VXLAN-GPE header at `at` says comes next; 0 where it is none, or leads to no packet of IP or Ethernet.

    Of its flags the network identifier's (0x08) must be set; next protocol (0x04) and "to many" (0x02) may be. Other
    versions, reserved bits and the tunnel's own maintenance packets (0x01) are not followed.
    """
    if data[at] & 0xF9 != 0x08 or be16(data, at + 1) or data[at + 7]:
        return wide(0)
    if not data[at] & 0x04:
        return wide(ETHERNET)  # as in VXLAN
    protocol = wide(data[at + 3])
    if protocol == 1:
        return wide(IPV4)
    if protocol == 2:
        return wide(IPV6)
    return wide(ETHERNET) if protocol == 3 else wide(0)


@jit
def gre(data: Bytes, at: int, end: int, packet: Record) -> tuple[int, int]:
    """What a GRE header leads to."""
    if at + 4 > end:
        return -CUT_TUNNEL, at
    flags, kind = be16(data, at), be16(data, at + 2)
    if flags & 0x4007:  # source routing (obsolete), or a version other than 0 (PPTP)
        return -UNKNOWN_TUNNEL, at
    numbered = (flags & 0x1000) != 0
    at += 4
    key_at = at + (4 if flags & 0x8000 else 0)
    if kind == ETHERNET and flags & 0x2000 and key_at + 4 <= end:  # NVGRE
        packet["network"] = network(data, key_at)
    for bit in (0x8000, 0x2000, 0x1000):  # checksum, key, sequence number: four bytes each
        if flags & bit:
            at += 4
    if kind in (_ERSPAN, _ERSPAN_III):
        return erspan(data, kind, numbered, at, end, packet)
    if kind in (IPV4, IPV6, ETHERNET):
        return kind, at
    return -UNKNOWN_TUNNEL, at


@jit
def erspan(data: Bytes, kind: int, numbered: bool, at: int, end: int, packet: Record) -> tuple[int, int]:
    """The mirrored frame in an ERSPAN packet; type I has no header and, unlike type II, no GRE sequence number."""
    packet["sampler_high"] = packet["src_high"]
    packet["sampler_low"] = packet["src_low"]
    if kind == _ERSPAN and not numbered:
        return ETHERNET, at
    header_bytes = 8 if kind == _ERSPAN else 12
    if at + header_bytes > end:
        return -CUT_TUNNEL, at
    if data[at] >> 4 != (1 if kind == _ERSPAN else 2):
        return -UNKNOWN_TUNNEL, at
    packet["session"] = be16(data, at + 2) & 0x3FF
    if kind == _ERSPAN:
        return ETHERNET, at + header_bytes
    word = be32(data, at + 8)
    frame_type = (word >> 10) & 0x1F  # 0 Ethernet, 2 a bare IP packet
    at += header_bytes + (8 if word & 1 else 0)  # the O bit announces a platform subheader
    if frame_type == 0:
        return ETHERNET, at
    if frame_type == 2:
        return by_version(data, at, end)
    return -UNKNOWN_TUNNEL, at
