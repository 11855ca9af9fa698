"""Flow samples become flow records."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.telemetry.counters import COUNTERS, DROPS
from tests.capture.frames import (
    ACKNOWLEDGE,
    CNP,
    WRITE_ONLY,
    A,
    B,
    aeth,
    ethernet,
    ip,
    ip6,
    reth,
    roce_frame,
    tcp,
    tcp_frame,
    udp,
)
from tests.capture.sflow.wire import (
    AGENT,
    BEGIN_NS,
    DEVICE,
    MS,
    UNKNOWN32,
    counted,
    counters,
    datagram,
    discard,
    expanded,
    fed,
    flow,
    header,
    host_cpu,
    host_memory,
    interface,
    nvidia_gpu,
    tagged,
    words,
)

VXLAN = b"\x08\0\0\0\0\0\x4d\0"
TIMESTAMP, QUEUE, QUEUE_DEPTH = 1043, 1036, 1040


@pytest.mark.parametrize("size", [(1 << 20) + 19, 0xFF00004E, 0xFFFFFFFF])
@pytest.mark.parametrize("version", [4, 6])
def test_a_frame_of_gigabytes_is_not_believed(size: int, version: int) -> None:
    """Where the IP header leaves its length open the frame's would count; no frame is longer than a megabyte."""
    frame = (
        ethernet(ip(6, tcp(1, 2, 3, 4, 16)))
        if version == 4
        else ethernet(ip6(6, tcp(1, 2, 3, 4, 16), "::1", "::2"), 0x86DD)
    )
    empty = frame[:16] + bytes(2) + frame[18:] if version == 4 else frame[:18] + bytes(2) + frame[20:]
    told = fed(datagram(flow(header(empty, size=size)), flow(header(empty, size=60_018))))
    assert [row["bytes"] for row in told.rows()] == [60_000]
    assert told.notes().rejected == {"sFlow sampled header: malformed IP header": 1}


def test_a_roce_write_is_told_whole() -> None:
    """Queue pair, PSN, opcode, message size, marks and IP bytes come out of the sampled header."""
    frame = roce_frame(WRITE_ONLY, 0x1234, 77, reth(1 << 20) + bytes(1024), tos=0x6B)
    row = fed(datagram(flow(header(frame)))).row()
    size = 20 + 8 + 12 + 16 + 1024 + 4
    assert (row["src_addr"], row["dst_addr"], row["src_port"], row["dst_port"], row["proto"]) == (A, B, 50000, 4791, 17)
    assert (row["bytes"], row["packets"], row["sampling_rate"], row["prescaled"]) == (size, 1, 1000, False)
    assert (row["dst_qp"], row["src_qp"], row["psn_first"], row["psn_last"]) == (0x1234, -1, 77, 77)
    assert (row["roce_opcode_first"], row["roce_opcode_last"]) == (WRITE_ONLY, WRITE_ONLY)
    assert (row["message_bytes"], row["ecn_ce_packets"], row["cnp_packets"], row["nak_packets"]) == (1 << 20, 1, 0, 0)
    assert (row["payload_bytes"], row["time_acknowledged_ns"], row["retransmitted_packets"]) == (-1, 0, 0)
    assert (row["sampler_address"], row["observation_domain_id"], row["ip_tos"]) == (AGENT, 0, 0x6B)
    assert (row["in_if"], row["out_if"], row["flow_direction"]) == (3, 7, 0)


def test_notifications_and_refusals_are_counted() -> None:
    """A CNP has no PSN worth keeping; a NAK and a receiver that is not ready are both refusals, an ACK is none."""
    frames = [roce_frame(CNP, 5, 9, bytes(16)), *(roce_frame(ACKNOWLEDGE, 5, 9, aeth(s)) for s in (0x60, 0x21, 0x1F))]
    rows = fed(datagram(*(flow(header(frame)) for frame in frames))).rows()
    assert [row["cnp_packets"] for row in rows] == [1, 0, 0, 0]
    assert [row["psn_first"] for row in rows] == [-1, 9, 9, 9]
    assert [row["nak_packets"] for row in rows] == [0, 1, 1, 0]


def test_tcp_leaves_no_trace_of_the_packet_before() -> None:
    """What a RoCE packet told is not repeated in the next row."""
    rows = fed(datagram(flow(header(roce_frame(WRITE_ONLY, 5, 6, reth(64)))), flow(header(tcp_frame(1, 100))))).rows()
    assert [rows[1][c] for c in ("dst_qp", "psn_first", "roce_opcode_first", "message_bytes")] == [-1, -1, -1, 0]
    assert (rows[1]["tcp_flags"], rows[1]["bytes"], rows[1]["dst_port"]) == (0x10, 140, 5000)


def test_tunnels_are_looked_into() -> None:
    """Inside VXLAN it is the inner packet that counts."""
    frame = ethernet(ip(17, udp(1, 4789, VXLAN + tcp_frame(5, 6)), "192.0.2.1", "192.0.2.2"))
    row = fed(datagram(flow(header(frame)))).row()
    assert (row["src_addr"], row["dst_addr"], row["bytes"]) == (A, B, 46)


@pytest.mark.parametrize(
    ("protocol", "front"),
    [(11, b""), (13, b"\0\x01\x02\x40\0\x01\x01\x40"), (7, b"\xff\x03\0\x21"), (7, b"\0\x21"), (14, b"\x0f\0\x08\0")],
)
def test_headers_of_other_links_are_read(protocol: int, front: bytes) -> None:
    """Bare IP, an MPLS stack, PPP and packets over SONET lead to the same packet."""
    row = fed(datagram(flow(header(front + ip(6, tcp(1, 2, 3, 4, 16)), protocol)))).row()
    assert (row["src_addr"], row["dst_port"], row["bytes"]) == (A, 2, 40)


def test_a_header_of_another_protocol_is_counted() -> None:
    """Token ring is not decoded; neither is a number nobody has given."""
    notes = fed(datagram(flow(header(bytes(64), 3)), flow(header(bytes(64), 99)))).notes()
    assert notes.rejected == {"sFlow sampled header of a protocol that is not decoded": 2}
    assert notes.records == 0


def test_what_is_not_ip_is_counted_by_reason() -> None:
    """An ARP frame is no flow; nothing else of its datagram is lost."""
    told = fed(datagram(flow(header(ethernet(bytes(46), 0x0806))), flow(header(tcp_frame(1, 9)))))
    assert len(told.rows()) == 1
    assert told.notes().rejected == {
        "sFlow sampled header: not IP (ARP, LLDP, spanning tree and the like)": 1,
    }


def test_a_sampled_segment_tells_its_sequence_number() -> None:
    """All 32 bits of it; a RoCE packet, and a header that ends before the number, have none."""
    last = (1 << 32) - 1
    cut = header(tcp_frame(7, 100), snap=14 + 20 + 4)
    rows = fed(
        datagram(flow(header(tcp_frame(last, 100))), flow(header(roce_frame(WRITE_ONLY, 5, 6))), flow(cut))
    ).rows()
    assert [row["tcp_seq_first"] for row in rows] == [last, -1, -1]


def test_a_header_cut_inside_the_transport_still_tells_its_volume() -> None:
    """Who sent how much is known from the IP header; that ports are missing is said."""
    told = fed(datagram(flow(header(roce_frame(WRITE_ONLY, 5, 6, bytes(1024)), snap=14 + 20 + 4))))
    assert (told.row()["bytes"], told.row()["dst_port"], told.notes().rejected) == (20 + 8 + 12 + 1024 + 4, 0, {})
    assert "1 sampled headers end inside the transport header" in told.notes().warnings[0]


def test_sampled_ip_data_serves_where_there_is_no_header() -> None:
    """Agents may send fields instead of bytes; a header that is there goes before them."""
    four = words(1500, 6) + ip_address(A).packed + ip_address(B).packed + words(1, 2, 0x12, 0x68)
    six = words(900, 17) + ip_address("2001:db8::1").packed + ip_address("2001:db8::2").packed + words(3, 4, 0, 1)
    ipv4, ipv6 = tagged(3, four), tagged(4, six)
    rows = fed(datagram(flow(ipv4), flow(ipv6), flow(ipv4, header(tcp_frame(1, 0))))).rows()
    columns = ("src_addr", "dst_addr", "src_port", "dst_port", "proto", "bytes", "tcp_flags", "ip_tos")
    assert [rows[0][c] for c in columns] == [A, B, 1, 2, 6, 1500, 0x12, 0x68]
    assert (rows[0]["tcp_seq_first"], rows[2]["tcp_seq_first"]) == (-1, 1)
    assert [rows[1][c] for c in columns] == ["2001:db8::1", "2001:db8::2", 3, 4, 17, 900, 0, 1]
    assert [rows[2][c] for c in columns] == [A, B, 40000, 5000, 6, 40, 0x10, 0]


def test_ethernet_data_alone_is_no_flow() -> None:
    """MAC addresses do not say who sent to whom."""
    notes = fed(datagram(flow(tagged(2, words(1500) + bytes(16) + words(0x0800))))).notes()
    assert notes.rejected == {"sFlow flow sample without packet header or IP data": 1}


@pytest.mark.parametrize(
    ("source", "in_if", "out_if", "expected"),
    [
        ((0, 3), 3, 7, (3, 7, 0)),
        ((0, 7), 3, 7, (3, 7, 1)),
        ((0, 9), 3, 7, (3, 7, 255)),
        ((1, 3), 3, 7, (3, 7, 255)),  # a VLAN
        ((0, 3), 3, 3, (3, 3, 255)),
        ((0, 3), 0x3FFFFFFF, 3, (0, 3, 1)),
        ((0, 3), 3, 0x3FFFFFFF, (3, 0, 0)),
        ((0, 3), 3, 2 << 30 | 5, (3, 0, 0)),  # to five interfaces
        ((0, 0), 0, 0, (0, 0, 255)),
    ],
)
def test_interfaces_and_direction(
    source: tuple[int, int], in_if: int, out_if: int, expected: tuple[int, int, int]
) -> None:
    """A port samples what comes in or goes out, as its own number says; both forms of the sample agree."""
    compact = flow(header(tcp_frame(1, 0)), source=source[0] << 24 | source[1], in_if=in_if, out_if=out_if)
    ports = [(port >> 30, port & 0x3FFFFFFF) for port in (in_if, out_if)]
    wide = expanded(header(tcp_frame(1, 0)), source=source, in_if=ports[0], out_if=ports[1])
    for row in fed(datagram(compact, wide)).rows():
        assert (row["in_if"], row["out_if"], row["flow_direction"]) == expected


def test_large_interface_numbers_need_the_expanded_form() -> None:
    """Numbers beyond 30 bits come through; all ones mean the device itself."""
    row = fed(datagram(expanded(header(tcp_frame(1, 0)), in_if=(0, 0xFFFFFFFF), out_if=(0, 0xF0000001)))).row()
    assert (row["in_if"], row["out_if"]) == (0, 0xF0000001)


def test_a_discarded_sample_is_a_flow_and_a_drop() -> None:
    """The packet was sent and came this far; the drop stands for as many packets as the rate says."""
    told = fed(datagram(flow(header(tcp_frame(1, 0)), rate=500, out_if=1 << 30 | 259)))
    assert (told.row()["out_if"], told.row()["bytes"]) == (0, 40)
    assert told.row(DROPS) == {
        "time_ns": BEGIN_NS - 500 * MS, "sampler_address": AGENT, "in_if": 3, "out_if": 0, "src_addr": A, "dst_addr": B,
        "reason": 259, "packets": 500,
    }  # fmt: skip


def test_drop_notifications_are_drops_only() -> None:
    """They are not samples: no flow record, one packet each, also where the packet cannot be read."""
    stamp = tagged(TIMESTAMP, struct.pack("!Q", BEGIN_NS - 5))
    told = fed(datagram(discard(header(tcp_frame(1, 0)), stamp, reason=260), discard(reason=258, out_if=0)))
    first, second = told.rows(DROPS)
    assert told.rows() == []
    assert (first["time_ns"], first["src_addr"], first["reason"], first["packets"]) == (BEGIN_NS - 5, A, 260, 1)
    assert (second["src_addr"], second["dst_addr"], second["in_if"], second["out_if"]) == (None, None, 3, 0)
    assert told.notes().rejected == {}


def test_the_agents_own_time_stamp_is_exact() -> None:
    """With it, start and end are its time and nothing is uncertain; one far off the arrival is not believed."""
    near, far = (tagged(TIMESTAMP, struct.pack("!Q", t)) for t in (BEGIN_NS - 400 * MS, 12345))
    told = fed(datagram(flow(header(tcp_frame(1, 0)), near), flow(far, header(tcp_frame(1, 0)))))
    first, second = told.rows()
    assert (first["time_flow_start_ns"], first["time_flow_end_ns"]) == (BEGIN_NS - 400 * MS,) * 2
    assert (first["time_received_ns"], first["time_uncertainty_ns"]) == (BEGIN_NS, 0)
    assert (second["time_flow_start_ns"], second["time_uncertainty_ns"]) == (BEGIN_NS - 250 * MS, 500 * MS)
    assert told.notes().warnings == ("1 timestamps more than 10 s off the arrival; the arrival was taken instead",)


def test_without_a_stamp_the_last_datagram_bounds_the_time() -> None:
    """A sample was taken after the agent's previous datagram left, and no agent may hold it for longer than 1 s.

    The first of a datagram was taken when the previous one left, the others are spread up to the arrival; all of them
    are where nothing left within the second.
    """
    one, four = flow(header(tcp_frame(1, 0))), [flow(header(tcp_frame(1, 0)))] * 4
    times_ns = [BEGIN_NS, BEGIN_NS + 80 * MS, BEGIN_NS + 5000 * MS]
    rows = fed(
        *(datagram(*s, sequence=n) for n, s in enumerate([[one], four, [one, one]], 1)), times_ns=times_ns
    ).rows()
    begun, received, half = (
        np.array([row[f"time_{name}_ns"] for row in rows]) for name in ("flow_start", "received", "uncertainty")
    )
    assert (half // MS).tolist() == [500, *[40] * 4, 500, 500]
    assert ((begun - BEGIN_NS) // MS).tolist() == [-500, 0, 20, 40, 60, 4250, 4750]
    assert (begun <= received).all()


@pytest.mark.parametrize("queue", [tagged(QUEUE, words(3)), tagged(1, words(3), enterprise=4413)])
def test_queue_depth_is_a_counter_row(queue: bytes) -> None:
    """Depth and queue of a sampled packet belong to the interface it left by; Broadcom tells the queue its own way."""
    sample = flow(queue, tagged(QUEUE_DEPTH, words(70_000)), header(tcp_frame(1, 0)))
    row = fed(datagram(sample)).row(COUNTERS)
    assert (row["interface"], row["priority"], row["queue_depth_bytes"]) == (7, 3, 70_000)
    assert (row["in_bytes"], row["sampler_address"], row["time_ns"]) == (-1, AGENT, BEGIN_NS - 500 * MS)


def test_interface_counters() -> None:
    """What a port counted since it came up, by the names of the table; packets of all kinds together."""
    row = fed(datagram(counters(interface(9, 1 << 40, 5)), sub_agent=4)).row(COUNTERS)
    of_device = {name: value for name, value in row.items() if name.startswith(("cpu_", "memory_", "gpu_"))}
    assert {name: row[name] for name in row.keys() - of_device} == {
        "time_ns": BEGIN_NS, "sampler_address": AGENT, "observation_domain_id": 4, "interface": 9,
        "speed_bps": 10**10, "in_bytes": 1 << 40, "out_bytes": 5, "in_packets": 6, "out_packets": 6,
        "in_errors": 5, "out_errors": 8, "in_discards": 4, "out_discards": 7, "priority": -1,
        "pause_in_frames": -1, "pause_out_frames": -1, "queue_depth_bytes": -1,
    }  # fmt: skip
    assert set(of_device.values()) == {-1}


def test_counters_that_an_agent_lacks_are_unknown() -> None:
    """All ones mean not counted; multicast and broadcast not counted apart are among the unicast."""
    ones = 0xFFFFFFFF
    sample = interface(9, 0xFFFFFFFFFFFFFFFF, 5, (100, ones, ones), speed=0xFFFFFFFFFFFFFFFF)
    first, second = fed(datagram(counters(sample), counters(interface(9, 1, 1, (ones, 1, 1))))).rows(COUNTERS)
    assert (first["in_bytes"], first["out_bytes"], first["in_packets"], first["speed_bps"]) == (-1, 5, 100, 0)
    assert second["in_packets"] == -1


def test_pause_counters_join_the_interface() -> None:
    """PFC requests were sent, indications received; without generic counters the data source names the port."""
    pause = tagged(11, words(10, 20, 30, 40, 50))
    first, second = fed(datagram(counters(interface(9), pause), counters(pause, source=4))).rows(COUNTERS)
    assert (first["interface"], first["pause_out_frames"], first["pause_in_frames"]) == (9, 10, 20)
    assert (second["interface"], second["pause_in_frames"], second["in_bytes"]) == (4, 20, -1)


U32, U64 = st.integers(0, UNKNOWN32), st.integers(0, 2**63 - 1)


def known(value: int) -> int:
    """What a 32-bit counter says; all ones: nothing."""
    return -1 if value == UNKNOWN32 else value


@given(
    st.tuples(U32, U32, U32, U32, U32), st.tuples(*[U32] * 8), st.tuples(U64, U64, U64, U64), st.permutations(range(3))
)
def test_device_counters_are_one_row_of_the_host(
    busy: tuple[int, ...], counts: tuple[int, ...], memory: tuple[int, ...], order: list[int]
) -> None:
    """Whatever they count and in whatever order they come; sums of processor times begin again as their parts do."""
    idle, wait, gpus, busy_ms, ecc, energy, temperature, fan = counts
    structures = [
        host_cpu(busy, idle, wait), host_memory(*memory[:2]),
        nvidia_gpu(count=gpus, busy_ms=busy_ms, total=memory[2], free=memory[3], ecc=ecc, energy_mj=energy,
                   temperature_c=temperature, fan_percent=fan),
    ]  # fmt: skip
    row = fed(datagram(counters(*[structures[n] for n in order], source=DEVICE), sub_agent=4)).row(COUNTERS)
    assert (row["interface"], row["observation_domain_id"], row["in_bytes"], row["priority"]) == (-1, 4, -1, -1)
    assert row["cpu_busy_ms"] == (-1 if busy[0] == UNKNOWN32 else sum(busy) % 2**32)
    assert (row["cpu_idle_ms"], row["cpu_wait_ms"]) == (known(idle), known(wait))
    assert (row["memory_total_bytes"], row["memory_free_bytes"]) == memory[:2]
    assert (row["gpu_memory_total_bytes"], row["gpu_memory_free_bytes"]) == memory[2:]
    names = ("count", "busy_ms", "ecc_errors", "energy_mj", "temperature_c", "fan_percent")
    assert [row[f"gpu_{name}"] for name in names] == [known(value) for value in (gpus, *counts[3:])]


def test_device_counters_are_of_the_device_alone() -> None:
    """Those of a virtual machine are no host's; a port keeps its own row; what is cut short is counted."""
    machine, short = counters(host_cpu(), source=3 << 24 | 7), counters(tagged(2003, bytes(64)), source=DEVICE)
    told = fed(datagram(machine, short, counters(interface(9), nvidia_gpu())))
    assert (told.row(COUNTERS)["interface"], told.row(COUNTERS)["gpu_count"]) == (9, -1)
    assert told.notes().rejected == {"sFlow structure too short for its own fields": 1}


def test_pause_counters_of_a_device_are_counted_and_left_out() -> None:
    """They are of no port; the device's row says nothing of them."""
    pause = tagged(11, words(10, 20, 30, 40, 50))
    told = fed(datagram(counters(nvidia_gpu(ecc=2), pause, source=DEVICE)))
    assert (told.row(COUNTERS)["gpu_ecc_errors"], told.row(COUNTERS)["pause_in_frames"]) == (2, -1)
    assert told.notes().rejected == {"sFlow pause counters of what is no interface": 1}


def test_known_structures_are_walked_over_unknown_ones_counted() -> None:
    """Host and GPU counters of a port, and extended structures, make no row; only unknown types are told."""
    gpu = tagged(1, bytes(48), 5703)
    host = tagged(2003, bytes(80))
    extended = [tagged(n, bytes(16)) for n in (1001, 1002, 1012, 1029, 1037, 1039, 1042)]
    strange = [tagged(500, bytes(4)), tagged(1, bytes(4), 9999), tagged(3999, b"")]
    told = fed(datagram(counters(gpu, host, *strange), flow(*extended, *strange, header(tcp_frame(1, 0)))))
    assert len(told.rows()) == 1
    assert told.notes().rejected == {"sFlow structure carried nowhere (unknown type)": 6}


def test_unknown_samples_are_skipped_by_their_length() -> None:
    """What comes behind them is decoded."""
    sample = flow(header(tcp_frame(1, 0)))
    told = fed(datagram(tagged(77, bytes(12)), tagged(1, bytes(5), 4300), sample))
    assert len(told.rows()) == 1
    assert told.notes().rejected == {"sFlow sample of unknown type": 2}


def test_an_ipv6_agent_and_packet() -> None:
    """Addresses of either family, outside and inside."""
    frame = ethernet(ip6(6, tcp(1, 2, 3, 4, 16), "2001:db8::1", "2001:db8::2", tos=3), 0x86DD)
    row = fed(datagram(flow(header(frame)), agent="2001:db8::ffff")).row()
    assert (row["sampler_address"], row["src_addr"], row["ecn_ce_packets"]) == ("2001:db8::ffff", "2001:db8::1", 1)


def test_a_cut_datagram_is_decoded_as_far_as_it_goes() -> None:
    """A capture's snap length takes the end of the last header, not what came before; the rest is counted."""
    whole = datagram(*(flow(header(tcp_frame(n, 0)), sequence=n) for n in range(3)))
    size = len(flow(header(tcp_frame(1, 0))))
    told = fed(whole[: 28 + size + 24 + 32 + 20 + 14 + 20 + 20], cut=True)
    assert len(told.rows()) == 2
    assert told.notes().rejected["sFlow datagram cut by the capture; samples behind the cut are missing"] >= 1


def test_counted_texts_do_not_shift_what_follows() -> None:
    """A structure whose length is no multiple of four is padded, as XDR demands."""
    name = tagged(1038, counted(b"tcp_v4"))
    odd = words(1038, 10) + counted(b"tcp_v4")
    for structure in (name, odd):
        assert len(fed(datagram(flow(structure, header(tcp_frame(1, 0))))).rows()) == 1
