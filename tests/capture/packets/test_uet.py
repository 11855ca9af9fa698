"""Ultra Ethernet's headers: types, numbers, contexts, messages, and packets that switches trimmed."""

import struct

import pytest

from capture.packets.packet_columns import REASONS
from capture.packets.uet import UET, UET_ENDS
from tests.capture.frames import decoded, ethernet, frame_row, ip, ip6, pcap, roce_frame, udp
from tests.capture.ultra_ethernet import ACK, NACK, RUD, RUD_CC, TSS, answer, request, standard

V6_A, V6_B = "2001:db8::1", "2001:db8::2"


@pytest.mark.parametrize(("kind", "more"), [(RUD, b""), (RUD_CC, bytes(4))])
def test_a_request_tells_number_context_message_and_payload(kind: int, more: bytes) -> None:
    """The first packet of a message of 9000 bytes, 4096 of them in it; the same over IPv6."""
    body = request(kind, 0x12345678, 7, 9, more + standard(9000, starts=True) + bytes(4096))
    for frame in (ethernet(ip(17, udp(50000, 4793, body))), ethernet(ip6(17, udp(1, 4793, body), V6_A, V6_B), 0x86DD)):
        row = frame_row(frame)
        assert REASONS[row["reason"]] == ""
        assert (row["sequence"], row["queue_pair"], row["opcode"]) == (0x345678, 7, UET + kind)
        assert (row["payload_bytes"], row["message_bytes"], row["trimmed"]) == (4096, 9000, 0)


def test_the_last_packet_ends_its_message() -> None:
    """It tells so, and no length: that stands in the first."""
    row = frame_row(ethernet(ip(17, udp(1, 4793, request(RUD, 5, 7, 9, standard(9000, ends=True) + bytes(100))))))
    assert (row["opcode"], row["message_bytes"], row["payload_bytes"]) == (UET_ENDS + RUD, 0, 100)


def test_answers_tell_whose_packets_they_answer() -> None:
    """An acknowledgement up to which number; a negative one that it is negative. Neither carries payload."""
    ack, nack = (frame_row(ethernet(ip(17, udp(1, 4793, answer(kind, 0x01000005, 9, 7))))) for kind in (ACK, NACK))
    assert (ack["opcode"], ack["sequence"], ack["queue_pair"], ack["payload_bytes"]) == (UET + ACK, 5, 7, 0)
    assert (nack["opcode"], nack["queue_pair"], nack["syndrome"] >> 5) == (UET + NACK, 7, 3)


def test_a_mirror_that_cuts_headers_off_leaves_what_it_shows() -> None:
    """Numbers and payload without the semantic header, which is counted as cut; without any header, a reason."""
    frame = ethernet(ip(17, udp(1, 4793, request(RUD, 5, 7, 9, standard(9000, starts=True) + bytes(1000)))))
    row = frame_row(frame, snap=14 + 20 + 8 + 12)
    assert (row["sequence"], row["payload_bytes"], row["message_bytes"], row["header_cut"]) == (5, 1000, 0, 1)
    assert REASONS[frame_row(frame, snap=14 + 20 + 8 + 6)["reason"]] == "cut off inside the transport header"


@pytest.mark.parametrize("body", [struct.pack("!HHI", TSS << 11, 0, 1) + bytes(500), b"\xff" * 500, b""])
def test_what_is_encrypted_or_something_else_is_plain_udp(body: bytes) -> None:
    """Its payload counts; nothing else is read into it."""
    row = frame_row(ethernet(ip(17, udp(1, 4793, body))))
    assert (row["opcode"], row["queue_pair"], row["payload_bytes"]) == (-1, -1, len(body))


@pytest.mark.parametrize("tail", [b"", bytes(64)])
def test_a_trimmed_packet_is_shorter_than_its_udp_header_says(tail: bytes) -> None:
    """IP's length is the one of what is left. A first fragment is shorter too, and was not trimmed."""
    datagram = udp(1, 4793, request(RUD, 5, 7, 9, standard(9000, starts=True) + bytes(4096)))
    left = datagram[: 8 + 12 + len(tail)]
    row, first = (frame_row(ethernet(ip(17, left, tos=44, fragment=more))) for more in (0, 0x2000))
    assert (row["trimmed"], row["sequence"], first["trimmed"]) == (1, 5, 0)
    assert frame_row(roce_frame(0x06, 3, 1, bytes(100)))["trimmed"] == 0


def test_every_length_is_guarded() -> None:
    """Every capture of every beginning of a packet decodes to a row or a reason."""
    frame = ethernet(ip(17, udp(1, 4793, request(RUD_CC, 5, 7, 9, bytes(4) + standard(9000, starts=True) + bytes(9)))))
    rows = decoded(b"".join([pcap([])] + [pcap([(1, frame)], snap=n)[24:] for n in range(1, len(frame))]))
    assert len(rows) == len(frame) - 1
