"""Data records of all forms become rows."""

import struct
from ipaddress import ip_address

import numpy as np

from capture.tables.row_blocks import BLOCK_ROWS
from tests.capture.export_bytes import netflow5, record5
from tests.capture.frames import CNP, WRITE_MIDDLE, roce_frame
from tests.capture.netflow.sender import (
    FLOW,
    NOW_NS,
    REVERSE,
    UNIX_S,
    VARIABLE,
    Collector,
    Field,
    Row,
    flow,
    ipfix,
    netflow9,
    one_set,
    template,
)

A, B = ip_address("10.0.0.1").packed, ip_address("10.0.0.2").packed
ENDS: tuple[Field, ...] = ((8, 4), (12, 4))


def decoded(fields: tuple[Field, ...], *records: bytes, padding: int = 0) -> tuple[list[Row], Collector]:
    """Rows of an IPFIX message with one template and one set of records."""
    collector = Collector()
    message = ipfix(one_set(2, template(256, fields)), one_set(256, *records, padding=padding))
    return collector.rows(message), collector


def test_netflow5() -> None:
    """Every field of a v5 record has its column; the header's engine is the domain."""
    collector = Collector()
    (row,) = collector.rows(netflow5((record5(size=9000, first_ms=50_000, last_ms=59_000),)))
    expected = {
        "src_addr": "10.0.0.1", "dst_addr": "10.0.0.2", "src_port": 1000, "dst_port": 2000, "proto": 6, "bytes": 9000,
        "packets": 9, "in_if": 3, "out_if": 4, "tcp_flags": 0x10, "sampler_address": "192.0.2.1", "sampling_rate": 0,
        "observation_domain_id": 1, "time_flow_start_ns": NOW_NS + 500 - 10_000_000_000,
        "time_flow_end_ns": NOW_NS + 500 - 1_000_000_000, "time_received_ns": NOW_NS, "flow_direction": 255,
        "payload_bytes": -1, "dst_qp": -1,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert collector.account().lost_unit == "records"


def test_netflow5_announces_more_than_it_holds() -> None:
    """The whole records are decoded, the missing ones counted; two of three are there and a bit."""
    collector = Collector()
    records = (record5(size=1), record5(size=2), record5(size=3))
    rows = collector.rows(netflow5(records)[:-20])
    assert [row["bytes"] for row in rows] == [1, 2]
    assert collector.rejected() == {"NetFlow v5 record that its datagram announces but does not hold": 1}


def test_netflow5_sampling_rate() -> None:
    """The lower 14 bits of the header's sampling field are the rate; the upper two its mode."""
    payload = bytearray(netflow5((record5(),)))
    payload[22:24] = struct.pack("!H", 1 << 14 | 512)
    (row,) = Collector().rows(bytes(payload))
    assert row["sampling_rate"] == 512


def test_counters_behind_the_exporter_serve_where_it_counted_nothing_before() -> None:
    """IN_BYTES and OUT_BYTES in either order: the first unless it is zero, per record and per counter."""
    values = ((1500, 3, 0, 0), (0, 0, 900, 2), (1500, 3, 1400, 3), (0, 5, 700, 5), (0, 0, 0, 0))
    collector = Collector()
    rows = []
    for number, order in ((256, (0, 1, 2, 3)), (257, (2, 3, 0, 1))):
        counters = ((1, 4), (2, 4), (23, 4), (24, 4))
        fields: tuple[Field, ...] = (*ENDS, *(counters[k] for k in order))
        records = [A + B + struct.pack("!IIII", *(each[k] for k in order)) for each in values]
        rows.append(collector.rows(netflow9(one_set(0, template(number, fields)), one_set(number, *records))))
    for each in rows:
        assert [(row["bytes"], row["packets"]) for row in each] == [(1500, 3), (900, 2), (1500, 3), (700, 5), (0, 0)]


def test_what_a_tunnel_carries_is_the_flow() -> None:
    """VMware tells a VXLAN tunnel's ends by the standard elements and those of its content by its own, IPv6 too."""
    vmware, outer = (
        6876,
        struct.pack("!4s4sHHB", ip_address("192.0.2.7").packed, ip_address("192.0.2.8").packed, 9, 4789, 17),
    )
    inner = ((881, 4, vmware), (882, 4, vmware), (886, 2, vmware), (887, 2, vmware), (880, 1, vmware))
    fields: tuple[Field, ...] = (*ENDS, (7, 2), (11, 2), (4, 1), *inner, (1, 4))
    (row,), _ = decoded(fields, outer + struct.pack("!4s4sHHBI", A, B, 4000, 80, 6, 1234))
    told = [row[name] for name in ("src_addr", "dst_addr", "src_port", "dst_port", "proto", "bytes")]
    assert told == ["10.0.0.1", "10.0.0.2", 4000, 80, 6, 1234]
    six = ip_address("2001:db8::1").packed, ip_address("2001:db8::2").packed
    (row,), _ = decoded(((883, 16, vmware), (884, 16, vmware), *ENDS, (1, 4)), b"".join(six) + outer[:8] + bytes(4))
    assert (row["src_addr"], row["dst_addr"]) == ("2001:db8::1", "2001:db8::2")


def test_netflow9() -> None:
    """A template and its data in one datagram; both of one-byte and two-byte TCP flags."""
    fields: tuple[Field, ...] = (
        *ENDS, (7, 2), (11, 2), (4, 1), (5, 1), (6, 1), (10, 2), (14, 2), (1, 4), (2, 4), (22, 4), (21, 4), (61, 1)
    )  # fmt: skip
    record = struct.pack("!4s4sHHBBBHHIIIIB", A, B, 1, 2, 17, 0xB8, 0x1B, 7, 8, 4321, 5, 10_000, 20_000, 1)
    collector = Collector()
    (row,) = collector.rows(netflow9(one_set(0, template(256, fields)), one_set(256, record)))
    expected = {"bytes": 4321, "packets": 5, "ip_tos": 0xB8, "tcp_flags": 0x1B, "in_if": 7, "out_if": 8, "proto": 17,
                "src_port": 1, "dst_port": 2, "flow_direction": 1}  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["time_flow_end_ns"] - row["time_flow_start_ns"] == 10_000_000_000


def test_ipv6() -> None:
    """IPv6 addresses, and the ports of elements 182 and 183."""
    fields: tuple[Field, ...] = ((27, 16), (28, 16), (182, 2), (183, 2), (1, 8))
    src, dst = ip_address("2001:db8::1"), ip_address("2001:db8::2")
    (row,), _ = decoded(fields, src.packed + dst.packed + struct.pack("!HHQ", 5, 6, 7))
    assert (row["src_addr"], row["dst_addr"], row["src_port"], row["dst_port"]) == (str(src), str(dst), 5, 6)


def test_both_address_families() -> None:
    """A template with IPv4 and IPv6 addresses: those that are not zero count, record by record."""
    fields: tuple[Field, ...] = (*ENDS, (27, 16), (28, 16), (1, 4))
    six = ip_address("2001:db8::1").packed + ip_address("2001:db8::2").packed
    rows, _ = decoded(fields, A + B + bytes(32) + struct.pack("!I", 1), bytes(8) + six + struct.pack("!I", 2))
    assert [row["src_addr"] for row in rows] == ["10.0.0.1", "2001:db8::1"]


def test_ports_by_protocol() -> None:
    """Of UDP's and TCP's port elements in one template the one that is not zero counts, whichever comes first."""
    fields: tuple[Field, ...] = (*ENDS, (180, 2), (182, 2), (183, 2), (181, 2), (1, 4))
    rows, _ = decoded(
        fields, A + B + struct.pack("!HHHHI", 5, 0, 0, 6, 1), A + B + struct.pack("!HHHHI", 0, 7, 8, 0, 1)
    )
    assert [(row["src_port"], row["dst_port"]) for row in rows] == [(5, 6), (7, 8)]


def test_reduced_size() -> None:
    """Integers of any length up to eight bytes are read (RFC 7011 section 6.2)."""
    for length in range(1, 9):
        (row,), _ = decoded(
            (*ENDS, (1, length)), A + B + (0x0102030405060708 >> 8 * (8 - length)).to_bytes(length, "big")
        )
        assert row["bytes"] == 0x0102030405060708 >> 8 * (8 - length)


def test_zero_length_fields_are_absent() -> None:
    """A field of no bytes tells nothing; the others stay where they are."""
    (row,), _ = decoded((*ENDS, (7, 0), (1, 4), (10, 0)), A + B + struct.pack("!I", 77))
    assert (row["bytes"], row["src_port"], row["in_if"]) == (77, 0, 0)


def test_variable_length() -> None:
    """Fields of variable length are walked over, in the short and in the long form (RFC 7011 section 7)."""
    fields: tuple[Field, ...] = ((8, 4), (96, VARIABLE), (12, 4), (371, VARIABLE), (1, 4))
    short = A + b"\x03abc" + B + b"\x00" + struct.pack("!I", 1)
    long = A + b"\xff\x01\x00" + bytes(256) + B + b"\x01x" + struct.pack("!I", 2)
    rows, collector = decoded(fields, short, long, short)
    assert [(row["src_addr"], row["dst_addr"], row["bytes"]) for row in rows] == [
        ("10.0.0.1", "10.0.0.2", 1), ("10.0.0.1", "10.0.0.2", 2), ("10.0.0.1", "10.0.0.2", 1)
    ]  # fmt: skip
    assert collector.rejected() == {}


def test_lists_are_walked_over() -> None:
    """A basicList between two fields is skipped by its length (RFC 6313)."""
    fields: tuple[Field, ...] = (*ENDS, (291, VARIABLE), (1, 4))
    (row,), _ = decoded(fields, A + B + b"\x09" + bytes(9) + struct.pack("!I", 5))
    assert row["bytes"] == 5


def test_record_longer_than_its_set() -> None:
    """A variable length that lies ends its set; the records before it count, and so does the loss of the rest."""
    fields: tuple[Field, ...] = (*ENDS, (96, VARIABLE), (1, 4))
    good = A + B + b"\x01x" + struct.pack("!I", 5)
    rows, collector = decoded(fields, good, A + B + b"\xf0" + bytes(8))
    assert len(rows) == 1
    assert collector.rejected() == {"record longer than its set": 1}


def test_padding() -> None:
    """Fewer bytes than a record at the end of a set are padding."""
    rows, collector = decoded(FLOW, flow(1), flow(2), padding=3)
    assert [row["bytes"] for row in rows] == [1, 2]
    assert collector.rejected() == {}


def test_biflow() -> None:
    """Both directions of a biflow (RFC 5103) are rows, next to each other; nothing sent back is no row."""
    forward: tuple[Field, ...] = (*ENDS, (7, 2), (11, 2), (10, 4), (14, 4), (1, 4), (2, 4), (152, 8), (153, 8))
    fields = (*forward, (1, 4, REVERSE), (2, 4, REVERSE), (152, 8, REVERSE), (153, 8, REVERSE))
    t = UNIX_S * 1000
    both = A + B + struct.pack("!HHIIIIQQIIQQ", 1, 2, 10, 20, 100, 1, t, t + 9, 200, 2, t + 1, t + 8)
    one_way = A + B + struct.pack("!HHIIIIQQIIQQ", 1, 2, 10, 20, 300, 3, t, t + 9, 0, 0, 0, 0)
    rows, collector = decoded(fields, both, one_way)
    shown = [(r["src_addr"], r["src_port"], r["dst_port"], r["in_if"], r["bytes"], r["packets"]) for r in rows]
    assert shown == [
        ("10.0.0.1", 1, 2, 10, 100, 1), ("10.0.0.2", 2, 1, 20, 200, 2), ("10.0.0.1", 1, 2, 10, 300, 3)
    ]  # fmt: skip
    assert [row["time_flow_start_ns"] - NOW_NS for row in rows] == [0, 1_000_000, 0]
    assert [row["time_flow_end_ns"] - NOW_NS for row in rows] == [9_000_000, 8_000_000, 9_000_000]
    assert collector.account().records == 3


def test_firewall_events() -> None:
    """ASA's initiator and responder bytes are both directions; events without any are counted, not rows."""
    fields: tuple[Field, ...] = (*ENDS, (233, 1), (231, 4), (232, 4))
    records = [A + B + struct.pack("!BII", event, *sizes) for event, sizes in ((1, (0, 0)), (2, (50, 60)), (3, (0, 0)))]
    rows, collector = decoded(fields, *records)
    assert [(row["src_addr"], row["bytes"]) for row in rows] == [("10.0.0.1", 50), ("10.0.0.2", 60)]
    assert collector.rejected() == {"events that are no flows (created, denied, translated: nothing counted)": 2}


def test_records_without_addresses_or_counters() -> None:
    """Records that are no flows are counted as what they are."""
    collector = Collector()
    templates = one_set(2, template(256, ((1, 4), (2, 4))), template(257, ENDS))
    collector.rows(ipfix(templates, one_set(256, bytes(8), bytes(8)), one_set(257, bytes(8))))
    assert collector.rejected() == {
        "records that are no flows (without addresses)": 2,
        "records that are no flows (without byte or packet counters)": 1,
    }


def test_layer2_and_total_counts_are_told() -> None:
    """Layer-2 octets and totals stand in where nothing better is there, and a warning says so."""
    (row,), collector = decoded((*ENDS, (352, 4), (86, 4)), A + B + struct.pack("!II", 100, 2))
    assert (row["bytes"], row["packets"]) == (100, 2)
    assert any("layer-2" in text for text in collector.account().warnings)
    assert any("since their flow began" in text for text in collector.account().warnings)


def test_named_exporter() -> None:
    """exporterIPv4Address says who exported; zero says nothing."""
    rows, _ = decoded((*ENDS, (130, 4), (1, 4)), A + B + bytes([192, 0, 2, 99]) + bytes(4), A + B + bytes(8))
    assert [row["sampler_address"] for row in rows] == ["192.0.2.99", "192.0.2.1"]


def test_physical_interfaces() -> None:
    """Physical interfaces stand in where the logical ones are missing."""
    (row,), _ = decoded((*ENDS, (252, 4), (253, 4), (1, 4)), A + B + struct.pack("!III", 5, 6, 7))
    assert (row["in_if"], row["out_if"]) == (5, 6)


def test_packet_sections() -> None:
    """A sampled frame goes through packet decoding: RoCEv2 headers come out, and later rows do not inherit them."""
    collector = Collector()
    frame = roce_frame(WRITE_MIDDLE, 0x77, 42, bytes(1024), tos=3)
    cnp = roce_frame(CNP, 0x78, 0, bytes(16))
    section = one_set(2, template(256, ((312, 2), (315, VARIABLE))))
    records = [struct.pack("!H", len(f)) + bytes([min(len(f), 100)]) + f[:100] for f in (frame, cnp)]
    first, second = collector.rows(ipfix(section, one_set(256, *records)))
    assert (first["src_addr"], first["dst_port"], first["proto"]) == ("10.0.0.1", 4791, 17)
    assert (first["bytes"], first["packets"]) == (len(frame) - 14, 1)
    assert (first["dst_qp"], first["psn_first"], first["psn_last"]) == (0x77, 42, 42)
    assert (first["roce_opcode_first"], first["ecn_ce_packets"]) == (WRITE_MIDDLE, 1)
    assert (second["cnp_packets"], second["dst_qp"]) == (1, 0x78)
    (plain,) = collector.rows(ipfix(one_set(2, template(257, FLOW)), one_set(257, flow())))
    assert (plain["dst_qp"], plain["psn_first"], plain["cnp_packets"]) == (-1, -1, 0)


def test_bad_packet_section() -> None:
    """A section that holds no IP packet is left out, with its reason."""
    collector = Collector()
    section = one_set(2, template(256, ((315, 14),)))
    collector.rows(ipfix(section, one_set(256, bytes(12) + b"\x08\x06")))
    assert collector.rejected() == {
        "exported packet section: not IP (ARP, LLDP, spanning tree and the like)": 1,
    }


def test_more_records_than_a_block_holds() -> None:
    """A set of any size comes out whole and in the order of the wire."""
    count = BLOCK_ROWS + 5000
    collector = Collector()
    fields = (*ENDS, (1, 2), (2, 2))
    parts = [A + B + struct.pack("!HH", i & 0xFFFF, 1) for i in range(count)]
    datagrams = [ipfix(one_set(2, template(256, fields)))]
    datagrams += [ipfix(one_set(256, *parts[i : i + 5000]), sequence=i) for i in range(0, count, 5000)]
    rows = collector.rows(*datagrams)
    assert np.array_equal([row["bytes"] for row in rows], np.arange(count) & 0xFFFF)
    assert collector.account().lost == 0


def test_huge_counters() -> None:
    """A counter that no column can hold is set to 0 and told."""
    (row,), collector = decoded((*ENDS, (1, 8)), A + B + b"\xff" * 8)
    assert row["bytes"] == 0
    assert any("2^63" in text for text in collector.account().warnings)
