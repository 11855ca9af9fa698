"""Header decoding: links, networks, encapsulations, transports."""

import struct
from ipaddress import ip_address

import numpy as np
import pytest

from capture.packets.packet_columns import REASONS
from capture.tables.addresses import from_words
from tests.capture.frames import (
    ACK,
    ACKNOWLEDGE,
    CNP,
    READ_REQUEST,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    A,
    B,
    aeth,
    bth,
    erspan2,
    ethernet,
    frame_row,
    ip,
    ip6,
    reth,
    roce_frame,
    tcp,
    tcp_frame,
    udp,
)

SEGMENT = tcp(40000, 5000, 77, 88, ACK, 100)
INNER = ethernet(ip(6, SEGMENT))
V6_A, V6_B = "2001:db8::1", "2001:db8::2"


def ends(row: np.void) -> tuple[str, str]:
    """Source and destination of a packet row, as text."""
    return (
        from_words(int(row["src_high"]), int(row["src_low"])),
        from_words(int(row["dst_high"]), int(row["dst_low"])),
    )


def reason(row: np.void) -> str:
    """Why a frame was rejected; empty where it was not."""
    return REASONS[row["reason"]]


@pytest.mark.parametrize(
    ("link", "head"),
    [
        (1, b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0"),
        (101, b""),
        (12, b""),
        (14, b""),
        (228, b""),
        (0, b"\x02\0\0\0"),
        (0, b"\0\0\0\x02"),
        (108, b"\0\0\0\x02"),
        (113, bytes(14) + b"\x08\0"),
        (276, b"\x08\0" + bytes(18)),
    ],
)
def test_link_types(link: int, head: bytes) -> None:
    """Ethernet, raw IP, BSD loopback in either byte order and both Linux cooked headers lead to the same packet."""
    row = frame_row(head + ip(6, SEGMENT), link)
    assert reason(row) == ""
    assert ends(row) == (A, B)
    assert (row["src_port"], row["dst_port"], row["sequence"], row["acknowledged"]) == (40000, 5000, 77, 88)
    assert (row["payload_bytes"], row["ip_bytes"], row["proto"]) == (100, 140, 6)


@pytest.mark.parametrize(
    "tags",
    [((0x8100, 5),), ((0x88A8, 5), (0x8100, 6)), ((0x9100, 5), (0x8100, 6)), ((0x8100, 1), (0x8100, 2), (0x8100, 3))],
)
def test_vlan_tags(tags: tuple[tuple[int, int], ...]) -> None:
    """802.1Q, QinQ under both of its ethertypes, and deeper stacks are passed over."""
    assert ends(frame_row(ethernet(ip(6, SEGMENT), tags=tags))) == (A, B)


def test_mpls_labels() -> None:
    """A label stack is passed over down to its bottom."""
    labels = struct.pack("!II", 16 << 12 | 64, 17 << 12 | 1 << 8 | 64)
    assert ends(frame_row(ethernet(labels + ip(6, SEGMENT), 0x8847))) == (A, B)


def gre(kind: int, flags: int = 0, fields: bytes = b"") -> bytes:
    """A GRE header."""
    return struct.pack("!HH", flags, kind) + fields


def erspan3(frame: bytes, word: int = 0, subheader: bytes = b"") -> bytes:
    """An ERSPAN type III payload."""
    return struct.pack("!HHII", 0x2000, 0x0123, 0, word) + subheader + frame


def vxlan_gpe(flags: int, protocol: int, reserved: int = 0) -> bytes:
    """A VXLAN-GPE header."""
    return struct.pack("!BHBI", flags, reserved, protocol, 77 << 8)


OUTER = ("192.0.2.1", "192.0.2.2")
VXLAN = struct.pack("!II", 0x08 << 24, 77 << 8)
GENEVE = struct.pack("!BBHI", 2, 0, 0x6558, 77 << 8) + bytes(8)


@pytest.mark.parametrize(
    ("proto", "payload", "sampled"),
    [
        (47, gre(0x0800) + INNER[14:], False),
        (47, gre(0x0800, 0xB000, bytes(12)) + INNER[14:], False),
        (47, gre(0x6558, 0x2000, bytes(4)) + INNER, False),
        (47, gre(0x88BE) + INNER, True),
        (47, gre(0x88BE, 0x1000, bytes(4)) + struct.pack("!HHI", 0x1000, 7, 0) + INNER, True),
        (47, gre(0x22EB, 0x1000, bytes(4)) + erspan3(INNER), True),
        (47, gre(0x22EB, 0x1000, bytes(4)) + erspan3(INNER, 1, bytes(8)), True),
        (47, gre(0x22EB, 0x1000, bytes(4)) + erspan3(INNER[14:], 2 << 10), True),
        (17, udp(5555, 4789, VXLAN + INNER), False),
        (17, udp(5555, 8472, VXLAN + INNER), False),
        (17, udp(5555, 4789, struct.pack("!BBHI", 0x88, 0x48, 1234, 77 << 8) + INNER), False),
        (17, udp(5555, 4790, vxlan_gpe(0x0C, 3) + INNER), False),
        (17, udp(5555, 4790, vxlan_gpe(0x0E, 1) + INNER[14:]), False),
        (17, udp(5555, 4790, VXLAN + INNER), False),
        (17, udp(5555, 6081, GENEVE + INNER), False),
        (17, udp(5555, 6081, struct.pack("!BBHI", 0, 0, 0x0800, 77 << 8) + INNER[14:]), False),
        (4, INNER[14:], False),
    ],
    ids=["gre", "gre-all-fields", "nvgre", "erspan1", "erspan2", "erspan3", "erspan3-platform", "erspan3-ip", "vxlan",
         "vxlan-linux", "vxlan-group-policy", "vxlan-gpe", "vxlan-gpe-ip", "vxlan-gpe-plain", "geneve",
         "geneve-ip", "ipip"],
)  # fmt: skip
@pytest.mark.parametrize("outer6", [False, True])
def test_encapsulations(proto: int, payload: bytes, sampled: bool, outer6: bool) -> None:
    """The flow is the inner one; an ERSPAN session's outer source is the exporter, other tunnels name none."""
    sender, packet = OUTER[0], ip(proto, payload, *OUTER)
    if outer6:
        sender, packet = V6_A, ip6(proto, payload, V6_A, V6_B)
    row = frame_row(ethernet(packet, 0x86DD if outer6 else 0x0800))
    assert reason(row) == ""
    assert ends(row) == (A, B)
    assert (row["sequence"], row["payload_bytes"], row["ip_bytes"]) == (77, 100, 140)
    exporter = (int(row["sampler_high"]), int(row["sampler_low"]))
    assert exporter != (0, 0) if sampled else exporter == (0, 0)
    assert not sampled or from_words(*exporter) == sender


def test_roce_inside_vxlan() -> None:
    """A RoCEv2 packet between overlay addresses keeps its queue pair and sequence number."""
    inner = roce_frame(WRITE_MIDDLE, 0x1234, 99, bytes(1024))
    row = frame_row(ethernet(ip(17, udp(7, 4789, VXLAN + inner), *OUTER)))
    assert ends(row) == (A, B)
    assert (row["queue_pair"], row["sequence"], row["opcode"], row["payload_bytes"]) == (0x1234, 99, 7, 1024)


def test_port_4789_without_vxlan_is_plain_udp() -> None:
    """A datagram that only shares VXLAN's port stays the flow it is."""
    row = frame_row(ethernet(ip(17, udp(7, 4789, b"not a vxlan header at all"))))
    assert (reason(row), row["dst_port"], row["payload_bytes"]) == ("", 4789, 25)


def test_ipv6_inside_vxlan_gpe() -> None:
    """Next protocol 2 is IPv6."""
    row = frame_row(ethernet(ip(17, udp(7, 4790, vxlan_gpe(0x0C, 2) + ip6(6, SEGMENT, V6_A, V6_B)), *OUTER)))
    assert (reason(row), ends(row), row["payload_bytes"]) == ("", (V6_A, V6_B), 100)


@pytest.mark.parametrize(
    ("flags", "protocol", "reserved"),
    [(0x0D, 3, 0), (0x1C, 3, 0), (0x04, 3, 0), (0x8C, 3, 0), (0x0C, 3, 1), (0x0C, 4, 0), (0x0C, 0, 0)],
    ids=["maintenance", "version", "no-network", "reserved-flag", "reserved-bits", "service-header", "none"],
)
def test_vxlan_gpe_that_leads_nowhere_is_plain_udp(flags: int, protocol: int, reserved: int) -> None:
    """A header that is not consistent, or carries neither IP nor Ethernet, leaves the outer flow."""
    row = frame_row(ethernet(ip(17, udp(7, 4790, vxlan_gpe(flags, protocol, reserved) + INNER), *OUTER)))
    assert (reason(row), ends(row), row["dst_port"]) == ("", OUTER, 4790)


def test_ipv4_options_and_service_class() -> None:
    """The transport header is found behind IPv4 options; type of service and identification are kept."""
    row = frame_row(ethernet(ip(6, SEGMENT, tos=0x6B, ident=4242, options=bytes(8))))
    assert (row["sequence"], row["payload_bytes"], row["tos"], row["ip_id"]) == (77, 100, 0x6B, 4242)


def test_ipv6_extension_headers() -> None:
    """Hop-by-hop, routing, destination and authentication headers lead on to the transport header."""
    chain = (
        struct.pack("!BB6x", 43, 0) + struct.pack("!BB14x", 60, 1) + struct.pack("!BB6x", 51, 0)
        + struct.pack("!BB10x", 6, 1) + SEGMENT
    )  # fmt: skip
    row = frame_row(ethernet(ip6(0, chain, V6_A, V6_B, tos=3), 0x86DD))
    assert ends(row) == (V6_A, V6_B)
    assert (row["sequence"], row["payload_bytes"], row["tos"], row["proto"]) == (77, 100, 3, 6)


def test_fragments_have_no_ports() -> None:
    """Only the first fragment shows ports; later ones carry their share of the payload, IPv4 and IPv6 alike."""
    first = frame_row(ethernet(ip(17, udp(1, 2, bytes(40))[:32], fragment=0x2000)))
    later = frame_row(ethernet(ip(17, bytes(24), fragment=4)))
    later6 = frame_row(ethernet(ip6(44, struct.pack("!BBHI", 17, 0, 32, 9) + bytes(24), V6_A, V6_B), 0x86DD))
    assert (first["fragment"], first["src_port"], first["payload_bytes"]) == (0, 1, 24)
    for row in (later, later6):
        assert (row["fragment"], row["src_port"], row["proto"], row["payload_bytes"]) == (1, 0, 17, 24)


@pytest.mark.parametrize(
    ("opcode", "body", "payload", "message", "syndrome"),
    [
        (0x00, bytes(256), 256, 0, -1),
        (0x03, bytes(4 + 100), 100, 0, -1),
        (WRITE_FIRST, reth(65536) + bytes(1024), 1024, 65536, -1),
        (0x0B, reth(8) + bytes(4 + 8), 8, 8, -1),
        (READ_REQUEST, reth(4096), 0, 4096, -1),
        (0x0D, aeth(0x1F) + bytes(1024), 1024, 0, 0x1F),
        (0x0E, bytes(1024), 1024, 0, -1),
        (ACKNOWLEDGE, aeth(0x60), 0, 0, 0x60),
        (0x12, aeth(0) + bytes(8), 0, 0, 0),
        (0x13, bytes(28), 0, 0, -1),
        (0x17, bytes(4 + 64), 64, 0, -1),
        (0x26, reth(512) + bytes(256), 256, 512, -1),
        (0x64, bytes(8 + 64), 64, 0, -1),
        (0xA6, bytes(4) + reth(777) + bytes(256), 256, 777, -1),
        (CNP, bytes(16), 0, 0, -1),
    ],
)
def test_roce_opcodes(opcode: int, body: bytes, payload: int, message: int, syndrome: int) -> None:
    """Per opcode the extended headers are known, so that payload, message length and syndrome come out right."""
    row = frame_row(roce_frame(opcode, 0x654321, 0xABCDEF, body))
    assert (row["opcode"], row["queue_pair"], row["sequence"]) == (opcode, 0x654321, 0xABCDEF)
    assert (row["payload_bytes"], row["message_bytes"], row["syndrome"]) == (payload, message, syndrome)


def test_roce_padding_is_no_payload() -> None:
    """The pad count of the BTH is taken off."""
    assert frame_row(roce_frame(WRITE_LAST, 1, 2, bytes(61), pad=3))["payload_bytes"] == 61


def test_roce_v1() -> None:
    """A RoCEv1 frame's GIDs are its addresses; IPv4-mapped ones read as IPv4."""
    inner = bth(WRITE_MIDDLE, 5, 6, bytes(256))
    grh = struct.pack("!IHBB", 6 << 28, len(inner), 27, 64)
    gids = ip_address("::ffff:10.0.0.1").packed + ip_address("fe80::2").packed
    row = frame_row(ethernet(grh + gids + inner, 0x8915))
    assert ends(row) == ("10.0.0.1", "fe80::2")
    assert (row["queue_pair"], row["payload_bytes"], row["proto"]) == (5, 256, 27)


def test_snapped_roce_header() -> None:
    """A snap length that cuts off the RETH leaves the packet usable and says that the message length lacks."""
    whole = roce_frame(WRITE_FIRST, 1, 2, reth(5000) + bytes(1024))
    row = frame_row(whole, snap=60)
    assert (reason(row), row["header_cut"], row["message_bytes"], row["payload_bytes"]) == ("", 1, 0, 1024)
    assert frame_row(whole, snap=70)["message_bytes"] == 5000


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (ethernet(bytes(28), 0x0806), "not IP (ARP, LLDP, spanning tree and the like)"),
        (ethernet(bytes(40), 0x0026), "not IP (ARP, LLDP, spanning tree and the like)"),
        (INNER[:10], "cut off before the network header"),
        (INNER[:30], "cut off inside the network header"),
        (INNER[:50], "cut off inside the transport header"),
        (roce_frame(WRITE_LAST, 1, 2, bytes(64))[:50], "cut off inside the transport header"),
        (ethernet(b"\x44" + ip(6, SEGMENT)[1:]), "malformed IP header"),
        (ethernet(b"\x65" + ip(6, SEGMENT)[1:]), "malformed IP header"),
        (ethernet(ip(6, SEGMENT[:12] + b"\x10" + SEGMENT[13:])), "malformed transport header"),
        (ethernet(ip(17, struct.pack("!HHHH", 1, 2, 3, 0))), "malformed transport header"),
        (ethernet(ip(47, gre(0x880B, 1) + bytes(20))), "unknown encapsulation"),
        (ethernet(ip(47, gre(0x22EB, 0x1000, bytes(4)) + bytes(5))), "cut off inside an encapsulation header"),
    ],
)
def test_reasons(frame: bytes, why: str) -> None:
    """What cannot be decoded says why."""
    assert reason(frame_row(frame)) == why


def test_unknown_link_type_is_a_reason() -> None:
    """A link type that is not known is not guessed at."""
    assert reason(frame_row(INNER, link=147)) == "unknown link type"


def test_depth_is_bounded() -> None:
    """Encapsulation inside encapsulation ends somewhere."""
    frame = tcp_frame(1, 10)
    for _ in range(3):
        frame = erspan2(frame, "192.0.2.1", 1)
    assert reason(frame_row(frame)) == ""
    for _ in range(3):
        frame = erspan2(frame, "192.0.2.1", 1)
    assert reason(frame_row(frame)) == "encapsulated too deeply"
