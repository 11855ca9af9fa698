"""pcapng files."""

import struct

import pytest

from capture.ingest_log import IngestLog
from tests.capture.frames import decoded, ip, meaning, tcp, tcp_frame
from tests.capture.pcapng_writer import Writer

TIME_NS = 1_700_000_000_123_456_789


@pytest.mark.parametrize("order", ["<", ">"])
def test_interfaces_have_links_and_clocks_of_their_own(order: str) -> None:
    """Link type, time resolution (powers of ten and of two) and time offset belong to the interface."""
    bare = ip(6, tcp(1, 2, 3, 4, 16, 5))
    ticks_binary = (TIME_NS << 20) // 10**9
    content = (
        Writer(order)
        .section()
        .interface()
        .interface(101, ((9, b"\x09"),))
        .interface(1, ((9, b"\x94"), (14, struct.pack(order + "q", 100))))
        .packet(TIME_NS // 1000, tcp_frame(1, 10))
        .packet(TIME_NS, bare, 1)
        .packet(ticks_binary, tcp_frame(11, 10), 2)
        .out
    )
    rows = decoded(content)
    assert rows["reason"].tolist() == [0, 0, 0]
    assert rows["interface"].tolist() == [0, 1, 2]
    assert rows["time_ns"][:2].tolist() == [TIME_NS // 1000 * 1000, TIME_NS]
    assert abs(int(rows["time_ns"][2]) - 100 * 10**9 - TIME_NS) < 1000
    assert rows["sequence"].tolist() == [1, 3, 11]


def test_finer_than_nanoseconds_is_divided() -> None:
    """Picosecond time stamps lose their last three digits."""
    content = Writer().section().interface(1, ((9, b"\x0c"),)).packet(5_000_123_456, tcp_frame(1, 10)).out
    assert decoded(content)["time_ns"].tolist() == [5_000_123]


def test_sections_may_differ_in_byte_order() -> None:
    """A second section starts anew: its byte order and its interfaces are its own."""
    little = Writer("<").section().interface().packet(1_000, tcp_frame(1, 10)).out
    big = Writer(">").section().interface(101).packet(2_000, ip(6, tcp(1, 2, 3, 4, 16, 5))).out
    rows = decoded(little + big)
    assert rows["sequence"].tolist() == [1, 3]
    assert rows["time_ns"].tolist() == [1_000_000, 2_000_000]


def test_blocks_of_other_kinds_are_passed_over() -> None:
    """Name resolution, statistics and unknown blocks between packets do not disturb."""
    content = (
        Writer().section().interface().block(4, b"names").packet(1, tcp_frame(1, 10))
        .block(5, bytes(20)).block(0x80000BAD, b"x" * 33).packet(2, tcp_frame(11, 10)).out
    )  # fmt: skip
    assert decoded(content)["sequence"].tolist() == [1, 11]


def test_obsolete_packet_block() -> None:
    """The block that enhanced packets replaced is read; its interface number has 16 bits."""
    frame = tcp_frame(9, 10)
    body = struct.pack("<HHIIII", 0, 7, 0, 5_000, len(frame), len(frame)) + frame
    rows = decoded(Writer().section().interface().block(2, body).out)
    assert rows["sequence"].tolist() == [9]
    assert rows["time_ns"].tolist() == [5_000_000]


def test_simple_packet_has_no_time() -> None:
    """A simple packet block carries no time stamp; the packet is rejected for that reason, the next one is read."""
    frame = tcp_frame(9, 10)
    content = Writer().section().interface().block(3, struct.pack("<I", len(frame)) + frame).packet(1, frame).out
    rows = decoded(content)
    assert [bool(r) for r in rows["reason"]] == [True, False]
    assert rows["time_ns"].tolist() == [-1, 1000]


def test_undescribed_interface_is_rejected() -> None:
    """A packet of an interface that was never described has neither link type nor clock."""
    rows = decoded(Writer().section().interface().packet(1, tcp_frame(1, 10), 3).out)
    assert rows["reason"][0] != 0


def test_contradictory_packet_block_is_counted() -> None:
    """A packet longer than its block is passed over and counted."""
    ingest_log = IngestLog()
    bad = struct.pack("<IIIII", 0, 0, 1, 5000, 5000) + bytes(40)
    content = Writer().section().interface().block(6, bad).packet(1, tcp_frame(1, 10)).out
    assert decoded(content, ingest_log)["sequence"].tolist() == [1]
    assert ingest_log.rejected == {"malformed pcapng packet block": 1}


@pytest.mark.parametrize(
    ("tail", "warning"),
    [
        (b"\x06\0\0\0\x0d\0\0\0" + bytes(30), "a block's length is impossible"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0nonsense" + bytes(30), "a section header has no byte-order magic"),
        (b"\x06\0\0\0\x40\0\0\0" + bytes(30), "ends inside a packet"),
        (b"\x01\0\0\0\x0c\0\0\0" + bytes(30), "a block's length is impossible"),
    ],
)
def test_damage_is_told(tail: bytes, warning: str) -> None:
    """What precedes a damaged or cut block is read, and the warning says what is wrong."""
    ingest_log = IngestLog()
    content = Writer().section().interface().packet(1, tcp_frame(1, 10)).out + tail
    assert decoded(content, ingest_log)["sequence"].tolist() == [1]
    assert len(ingest_log.warnings) == 1
    assert warning in ingest_log.warnings[0]


@pytest.mark.parametrize("block", [1, 13, 64])
def test_block_borders_do_not_matter(block: int) -> None:
    """Packets are the same however the file is cut into blocks."""
    writer = Writer().section().interface()
    for i in range(20):
        writer.packet(i, tcp_frame(i, i))
    assert meaning(decoded(writer.out, block=block)) == meaning(decoded(writer.out))
