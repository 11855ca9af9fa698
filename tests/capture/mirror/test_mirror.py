"""Mirrored packets to flow records: trains, sequence numbers, acknowledgements, control traffic, duplicates."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from capture.reader import read_flows
from datamodel.telemetry.ingest_result import IngestResult
from tests.capture.frames import (
    ACKNOWLEDGE,
    CNP,
    SYN,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    WRITE_ONLY,
    A,
    B,
    aeth,
    erspan2,
    ethernet,
    ip,
    pcap,
    reth,
    roce_frame,
    save,
    tcp_frame,
    udp,
)

US, MS = 1_000, 1_000_000
T = 1_700_000_000 * 10**9


@pytest.fixture
def read(tmp_path: Path) -> "Read":
    """Reads a list of (time after T in ns, frame) as a mirror."""
    return Read(tmp_path)


class Read:
    """See the fixture of this name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, frames: list[tuple[int, bytes]]) -> IngestResult:
        """Write the frames as a capture and read it."""
        return read_flows(save(self.folder, pcap([(T + t, frame) for t, frame in frames])))


def data(reading: IngestResult, *columns: str) -> list[tuple[int, ...]]:
    """Columns of the records that bring new payload, in order of start; times count from T."""
    return _rows(reading, columns, reading.flows.frame["payload_bytes"] > 0)


def control(reading: IngestResult, *columns: str) -> list[tuple[int, ...]]:
    """Columns of the records that bring none."""
    return _rows(reading, columns, reading.flows.frame["payload_bytes"] == 0)


def _rows(reading: IngestResult, columns: tuple[str, ...], mask: npt.NDArray[np.bool_]) -> list[tuple[int, ...]]:
    frame = reading.flows.frame.take(mask).sort("time_flow_start_ns")
    values = [np.where(frame[c] > 0, frame[c] - T, 0) if c.startswith("time_") else frame[c] for c in columns]
    return [tuple(int(v) for v in row) for row in zip(*values, strict=True)]


def test_train_is_one_record(read: Read) -> None:
    """Packets close together are one record with the first packet's start, the last one's end and all their bytes."""
    reading = read([(i * 2 * US, tcp_frame(1 + i * 1000, 1000, tos=3 if i == 1 else 0)) for i in range(5)])
    assert data(reading, "time_flow_start_ns", "time_flow_end_ns", "bytes", "packets", "payload_bytes") == [
        (0, 8 * US, 5 * 1040, 5, 5000)
    ]
    assert data(reading, "src_port", "dst_port", "proto", "tcp_flags", "ecn_ce_packets", "sampling_rate") == [
        (40000, 5000, 6, 0x10, 1, 1)
    ]
    assert reading.flows.addresses == (A, B)
    assert (reading.records, reading.bytes, reading.exporters) == (5, 5 * 1040, ())


def test_pause_ends_a_record(read: Read) -> None:
    """A pause in which more than eight packets would have fit, and at least 20 us, starts another record."""
    fast = [(i * US, tcp_frame(1 + i * 10, 10)) for i in range(10)]
    later = [(t + 40 * US, tcp_frame(101 + i * 10, 10)) for i, (t, _) in enumerate(fast)]
    assert data(read(fast + later), "packets", "payload_bytes") == [(10, 100), (10, 100)]


def test_slow_links_are_learnt(read: Read) -> None:
    """On a slow link, whose packets lie 30 us apart, steady packets become trains once the spacing is known."""
    steady = [(i * 30 * US, tcp_frame(1 + i * 1448, 1448)) for i in range(400)]
    packets = [p for (p,) in data(read(steady), "packets")]
    assert sum(packets) == 400
    assert max(packets) == 64
    assert sum(p >= 32 for p in packets) >= 4
    paused = [(t + (400 * US if i >= 350 else 0), frame) for i, (t, frame) in enumerate(steady)]
    ends = [t for (t,) in data(read(paused), "time_flow_end_ns")]
    assert 349 * 30 * US in ends


def test_records_are_bounded(read: Read) -> None:
    """No record is longer than 64 packets or 5 ms."""
    many = read([(i * 100, tcp_frame(1 + i, 1)) for i in range(200)])
    assert [p for (p,) in data(many, "packets")] == [64, 64, 64, 8]
    long = read([(i * 600 * US, tcp_frame(1 + i, 1)) for i in range(100)])
    spans = data(long, "time_flow_start_ns", "time_flow_end_ns")
    assert max(end - start for start, end in spans) <= 5 * MS


def test_retransmission_adds_no_payload(read: Read) -> None:
    """A packet seen before counts as retransmitted in a control record; a partial overlap counts its new part once."""
    frames = [tcp_frame(1, 100, ident=1), tcp_frame(101, 100, ident=2), tcp_frame(1, 100, ident=3),
              tcp_frame(151, 100, ident=4)]  # fmt: skip
    reading = read([(i * US, frame) for i, frame in enumerate(frames)])
    assert data(reading, "payload_bytes", "packets", "retransmitted_packets") == [(250, 3, 0)]
    assert control(reading, "packets", "retransmitted_packets", "bytes") == [(1, 1, 140)]


def test_keep_alive_is_no_retransmission(read: Read) -> None:
    """TCP's keep-alive repeats the last byte; it is control traffic and nothing was lost."""
    reading = read([(0, tcp_frame(1, 100)), (9 * MS, tcp_frame(100, 1)), (18 * MS, tcp_frame(100, 0))])
    assert control(reading, "packets", "retransmitted_packets") == [(2, 0)]


def test_reordered_packets_are_new(read: Read) -> None:
    """A packet that comes late, also before the first one seen, fills its hole and is no retransmission."""
    order = [2, 1, 3, 5, 4, 7, 6]
    reading = read([(i * US, tcp_frame(1 + n * 100, 100)) for i, n in enumerate(order)])
    assert data(reading, "payload_bytes", "retransmitted_packets") == [(700, 0)]
    assert control(reading) == []


def test_tcp_sequence_numbers_wrap(read: Read) -> None:
    """Bytes on both sides of 2^32 follow one another, and acknowledgements too."""
    start = 2**32 - 1500
    frames = [(i * US, tcp_frame(start + i * 1000, 1000)) for i in range(3)]
    reading = read([*frames, (50 * US, tcp_frame(1, 0, ack=start + 3000, back=True))])
    assert data(reading, "payload_bytes", "time_acknowledged_ns") == [(3000, 50 * US)]


def test_new_connection_on_old_ports(read: Read) -> None:
    """A SYN with another number starts afresh: the new connection's bytes are new, whatever its numbers."""
    first = [(0, tcp_frame(999, 0, flags=SYN)), (US, tcp_frame(1000, 100))]
    second = [(MS, tcp_frame(500, 0, flags=SYN)), (MS + US, tcp_frame(501, 100))]
    reading = read(first + second)
    assert data(reading, "payload_bytes", "retransmitted_packets") == [(100, 0), (100, 0)]
    assert "restarted" in reading.notes.warnings[0]


def test_acknowledgement_time(read: Read) -> None:
    """A record is acknowledged when a packet the other way first covers its last byte."""
    reading = read([
        (0, tcp_frame(1, 100)), (US, tcp_frame(101, 100)),
        (5 * US, tcp_frame(1, 0, ack=101, back=True)),
        (MS, tcp_frame(201, 100)),
        (MS + 7 * US, tcp_frame(1, 0, ack=201, back=True)),
        (MS + 9 * US, tcp_frame(1, 0, ack=301, back=True)), (2 * MS, tcp_frame(1, 0, ack=301, back=True)),
        (3 * MS, tcp_frame(301, 100)),
    ])  # fmt: skip
    assert data(reading, "time_acknowledged_ns") == [(MS + 7 * US,), (MS + 9 * US,), (0,)]


def test_acknowledgement_that_overtakes(read: Read) -> None:
    """Where the mirror shows the answer before the data, the record counts as acknowledged when it was seen."""
    reading = read([
        (0, tcp_frame(1, 100)), (US, tcp_frame(1, 0, ack=201, back=True)), (2 * US, tcp_frame(101, 100)),
    ])  # fmt: skip
    assert data(reading, "payload_bytes", "time_acknowledged_ns") == [(200, 2 * US)]


def test_control_records_are_cut_by_time(read: Read) -> None:
    """Packets without payload gather in records of 100 ms."""
    reading = read([(i * 10 * MS, tcp_frame(1, 0, ack=i, back=True)) for i in range(25)])
    assert control(reading, "packets", "payload_bytes") == [(10, 0), (10, 0), (5, 0)]


def message(qp: int, psn: int, at: int, packets: int = 4) -> list[tuple[int, bytes]]:
    """A RoCE write of 1024-byte packets, 1 us apart."""
    out = [(at, roce_frame(WRITE_FIRST, qp, psn, reth(packets * 1024) + bytes(1024)))]
    for i in range(1, packets):
        opcode = WRITE_LAST if i == packets - 1 else WRITE_MIDDLE
        out.append((at + i * US, roce_frame(opcode, qp, psn + i, bytes(1024))))
    return out


def roce_ack(qp: int, psn: int, at: int, syndrome: int = 0x1F) -> tuple[int, bytes]:
    """An acknowledgement from B to A, which names A's queue pair."""
    return at, roce_frame(ACKNOWLEDGE, qp, psn, aeth(syndrome), back=True, sport=51000)


def test_roce_message_is_one_record(read: Read) -> None:
    """A message's last packet ends the record; numbers, opcodes and the announced length are kept."""
    reading = read(message(7, 100, 0) + message(7, 104, 5 * US))
    columns = ("psn_first", "psn_last", "roce_opcode_first", "roce_opcode_last", "message_bytes", "payload_bytes")
    assert data(reading, *columns) == [(100, 103, 6, 8, 4096, 4096), (104, 107, 6, 8, 4096, 4096)]
    assert data(reading, "dst_qp", "src_qp") == [(7, -1), (7, -1)]


def test_roce_numbers_wrap_and_repeat(read: Read) -> None:
    """Packet numbers wrap at 2^24; go-back-N repeats are retransmissions, bytes count once."""
    first = message(7, 2**24 - 2, 0)
    reading = read(first + [(t + 50 * US, frame) for t, frame in first[1:]] + message(7, 2, 200 * US))
    assert data(reading, "payload_bytes", "retransmitted_packets") == [(4096, 0), (4096, 0)]
    assert control(reading, "packets", "retransmitted_packets") == [(3, 3)]


def test_roce_acknowledgement_finds_its_queue_pair(read: Read) -> None:
    """Which queue pair an ACK answers is learnt from the numbers in flight, and gives both ends' queue pairs."""
    reading = read([
        *message(7, 1000, 0), *message(8, 500_000, 10 * US),
        roce_ack(0x77, 1003, 20 * US), roce_ack(0x88, 500_003, 21 * US),
        *message(7, 1004, 30 * US), roce_ack(0x77, 1007, 45 * US),
    ])  # fmt: skip
    assert data(reading, "dst_qp", "src_qp", "time_acknowledged_ns") == [
        (7, 0x77, 20 * US),
        (8, 0x88, 21 * US),
        (7, 0x77, 45 * US),
    ]
    assert {(a, b) for a, b in control(reading, "dst_qp", "src_qp")} == {(0x77, 7), (0x88, 8)}


def test_ambiguous_roce_acknowledgement_is_unknown(read: Read) -> None:
    """Two queue pairs with the same numbers in flight: the ACK is not guessed to belong to either."""
    reading = read([*message(7, 1000, 0), *message(8, 1000, 10 * US), roce_ack(0x77, 1003, 20 * US)])
    assert data(reading, "src_qp", "time_acknowledged_ns") == [(-1, 0), (-1, 0)]


def test_negative_acknowledgement_covers_what_precedes_it(read: Read) -> None:
    """A NAK counts, and acknowledges the packets before its number only."""
    reading = read([
        *message(7, 1000, 0), roce_ack(0x77, 1003, 10 * US), *message(7, 1004, 20 * US), *message(7, 1008, 30 * US),
        roce_ack(0x77, 1009, 40 * US, 0x60), roce_ack(0x77, 1011, 60 * US, 0x20),
    ])  # fmt: skip
    assert data(reading, "time_acknowledged_ns") == [(10 * US,), (40 * US,), (0,)]
    assert control(reading, "nak_packets", "packets") == [(2, 3)]


def test_congestion_notifications_and_marks(read: Read) -> None:
    """CNPs count in the flow that carries them, marks in the flow that bears them."""
    marked = [(t, frame[:15] + b"\x03" + frame[16:]) for t, frame in message(7, 1, 0)]
    cnp = [(t, roce_frame(CNP, 0x77, 0, bytes(16), back=True)) for t in (10 * US, 60 * US)]
    reading = read(marked + cnp)
    assert data(reading, "ecn_ce_packets", "ip_tos") == [(4, 3)]
    assert control(reading, "cnp_packets", "packets", "dst_qp", "retransmitted_packets") == [(2, 2, 0x77, 0)]


def test_messages_of_one_packet(read: Read) -> None:
    """Every message of one packet is a record."""
    reading = read([(i * US, roce_frame(WRITE_ONLY, 7, i, reth(64) + bytes(64))) for i in range(5)])
    assert data(reading, "message_bytes") == [(64,)] * 5


LEAF, SPINE = "192.0.2.1", "192.0.2.2"


def test_exporters_of_sessions(read: Read) -> None:
    """ERSPAN sessions name their exporter and session in the records."""
    reading = read([(0, erspan2(tcp_frame(1, 100), LEAF, 5)), (MS, erspan2(tcp_frame(101, 100), SPINE, 6))])
    addresses = reading.flows.addresses
    assert data(reading, "sampler_address", "observation_domain_id") == [
        (addresses.index(LEAF), 5),
        (addresses.index(SPINE), 6),
    ]
    assert reading.exporters == (LEAF, SPINE)


@pytest.mark.parametrize("frame", [tcp_frame(1, 100, ident=0), roce_frame(WRITE_ONLY, 7, 9, reth(64) + bytes(64))])
def test_packet_seen_twice_counts_once(read: Read, frame: bytes) -> None:
    """Leaf and spine mirror the same packet: one counts, the other is a duplicate and no retransmission."""
    reading = read([(0, erspan2(frame, LEAF, 1)), (300 * US, erspan2(frame, SPINE, 1))])
    assert data(reading, "packets") == [(1,)]
    assert control(reading) == []
    assert reading.notes.rejected == {"duplicate packets (seen at several places)": 1}
    assert reading.records == 1


def test_retransmission_seen_at_one_place_is_one(read: Read) -> None:
    """The same sequence number again at the same place, with another IP identification, was sent again."""
    again = [erspan2(tcp_frame(1, 100, ident=i), LEAF, 1) for i in (1, 2)]
    reading = read([(0, again[0]), (300 * US, again[1])])
    assert control(reading, "retransmitted_packets") == [(1,)]


def test_both_directions_of_a_port_mirrored(read: Read) -> None:
    """A TCP packet with the same IP identification within a millisecond at one place was mirrored twice."""
    frame = tcp_frame(1, 100, ident=7)
    assert read([(0, frame), (3 * US, frame)]).notes.rejected == {"duplicate packets (seen at several places)": 1}


def test_plain_udp_and_fragments(read: Read) -> None:
    """Datagrams without sequence numbers are all new; later fragments count under port 0 and are told of."""
    reading = read([
        (0, ethernet(ip(17, udp(1, 2, bytes(30))))), (US, ethernet(ip(17, udp(1, 2, bytes(30))))),
        (MS, ethernet(ip(17, bytes(24), fragment=4))),
    ])  # fmt: skip
    assert data(reading, "src_port", "payload_bytes", "retransmitted_packets") == [(1, 60, 0), (0, 24, 0)]
    assert reading.notes.warnings == (
        "1 IP fragments count under port 0, for only the first of a datagram names its ports",
    )


def test_rejects_are_counted_by_reason(read: Read) -> None:
    """What is no IP packet is not a record but a count."""
    reading = read([(0, ethernet(bytes(28), 0x0806)), (1, tcp_frame(1, 1)), (2, tcp_frame(1, 1)[:40])])
    assert reading.notes.rejected == {
        "cut off inside the transport header": 1,
        "not IP (ARP, LLDP, spanning tree and the like)": 1,
    }
    assert reading.records == 1


def test_time_stamps_out_of_order(read: Read) -> None:
    """A packet with an earlier time stamp than the one before it widens the record at its start."""
    reading = read([(5 * US, tcp_frame(1, 10)), (3 * US, tcp_frame(11, 10)), (6 * US, tcp_frame(21, 10))])
    assert data(reading, "time_flow_start_ns", "time_flow_end_ns", "packets") == [(3 * US, 6 * US, 3)]


def test_many_flows(read: Read) -> None:
    """Tables grow: a flow a packet, ten thousand of them, each with its own addresses."""
    frames = [
        (i * US, ethernet(ip(17, udp(i & 0xFFFF, 9, b"x"), f"10.{i >> 8}.{i & 255}.1", f"10.{i >> 8}.{i & 255}.2")))
        for i in range(10_000)
    ]
    reading = read(frames)
    assert len(reading.flows) == 10_000
    assert len(reading.flows.addresses) == 20_000
    book, frame = reading.flows.addresses, reading.flows.frame
    assert all(
        book[s] == f"10.{p >> 8}.{p & 255}.1" and book[d] == f"10.{p >> 8}.{p & 255}.2"
        for s, d, p in zip(frame["src_addr"], frame["dst_addr"], frame["src_port"].astype(int), strict=True)
    )
