"""Captures of export datagrams are told from mirrors, and their datagrams picked out of the packets."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from capture.exporters.datagram import NETFLOW5, SFLOW5
from capture.files.input_file import MirrorFile, open_input, read_datagrams
from capture.ingest_log import IngestLog
from tests.capture.export_bytes import flow_sample, netflow5, record5, sflow
from tests.capture.frames import ethernet, ip, pcap, save, tcp, udp
from tests.capture.pcapng_writer import Writer

SFLOW = sflow((flow_sample(ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100)))),))
SFLOW_PACKET = ethernet(ip(17, udp(40000, 6343, SFLOW), "10.255.0.1", "10.9.9.9"))
NETFLOW_PACKET = ethernet(ip(17, udp(40000, 9996, netflow5((record5(),))), "10.255.0.2", "10.9.9.9"))
TCP_PACKET = ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100)))


def test_datagrams_are_found_on_any_port(tmp_path: Path) -> None:
    """What a payload is built like decides, not the port; source and time come from the packet around it."""
    path = save(tmp_path, pcap([(7, SFLOW_PACKET), (8, NETFLOW_PACKET), (9, TCP_PACKET)]))
    batch = next(read_datagrams(path, IngestLog()))
    assert batch.index["protocol"].tolist() == [SFLOW5, NETFLOW5]
    first = batch.index[0]
    assert batch.data[first["offset"] : first["offset"] + first["bytes"]].tobytes() == SFLOW
    assert (int(first["source_low"]) & 0xFFFFFFFF, int(first["source_port"])) == (0x0AFF0001, 40000)
    assert (int(first["destination_port"]), batch.index["time_ns"].tolist()) == (6343, [7, 8])


IP_PACKET = SFLOW_PACKET[14:]
FRAMINGS = {
    "two VLAN tags": (1, ethernet(IP_PACKET, tags=((0x88A8, 5), (0x8100, 6)))),
    "MPLS": (1, ethernet(b"\0\1\1\x40" + IP_PACKET, 0x8847)),
    "BSD loopback": (0, b"\2\0\0\0" + IP_PACKET),
    "OpenBSD loopback": (108, b"\0\0\0\2" + IP_PACKET),
    "bare IP": (101, IP_PACKET),
    "bare IPv4": (228, IP_PACKET),
    "cooked": (113, b"\0\0\0\1\0\6" + bytes(8) + b"\x08\0" + IP_PACKET),
    "cooked, version 2": (276, b"\x08\0" + bytes(18) + IP_PACKET),
}


@pytest.mark.parametrize("name", FRAMINGS)
def test_datagrams_are_found_in_any_framing(name: str, tmp_path: Path) -> None:
    """Whatever machine captured, and with whatever tags."""
    link, frame = FRAMINGS[name]
    batch = next(read_datagrams(save(tmp_path, pcap([(7, frame)], link=link)), IngestLog()))
    (row,) = batch.index
    assert batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes() == SFLOW


def test_interfaces_of_other_links_and_clocks(tmp_path: Path) -> None:
    """One pcapng file of a port in nanoseconds, a cooked interface in microseconds, and one that no one can read."""
    file = Writer().section().interface(1, ((9, b"\x09"),)).interface(113).interface(147)
    for ticks, (link, frame) in ((5_000, FRAMINGS["two VLAN tags"]), (7, FRAMINGS["cooked"]), (9, (147, b"?" * 60))):
        file.packet(ticks, frame, {1: 0, 113: 1, 147: 2}[link])
    ingest_log = IngestLog()
    (times,) = [
        batch.index["time_ns"].tolist() for batch in read_datagrams(save(tmp_path, file.out), ingest_log) if len(batch)
    ]
    assert times == [5_000, 7_000]
    assert ingest_log.rejected == {"unknown link type": 1}


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (struct.pack("!II", 4, 1) + bytes(100), "sFlow version 4"),
        (struct.pack("!II", 2, 2) + bytes(100), "sFlow version 2"),
        (struct.pack("!HH", 7, 2) + bytes(20 + 104), "NetFlow version 7"),
        (struct.pack("!HH", 1, 1) + bytes(12 + 52), "NetFlow version 1"),
    ],
)
def test_protocols_that_are_not_decoded_are_named(payload: bytes, name: str, tmp_path: Path) -> None:
    """A capture of them is no mirror to be understood, which is said."""
    frames = [ethernet(ip(17, udp(1, 9995, content))) for content in (payload, payload, payload + b"?", b"short")]
    if name.startswith("sFlow"):
        del frames[2]  # its samples may have any length
    ingest_log = IngestLog()
    open_input(save(tmp_path, pcap([(1, frame) for frame in frames])), ingest_log, None)
    assert ingest_log.warnings == [
        f"mirror.pcap: 2 of the first {len(frames)} packets are {name}, which is not decoded"
    ]


def test_packets_beside_them_are_counted(tmp_path: Path) -> None:
    """A capture at a collector holds other sessions too; they are told of, not taken for fabric traffic."""
    ingest_log = IngestLog()
    path = save(tmp_path, pcap([(1, SFLOW_PACKET), (2, TCP_PACKET), (3, TCP_PACKET)]))
    assert sum(len(batch) for batch in read_datagrams(path, ingest_log)) == 1
    assert ingest_log.rejected == {"packet that carries no export datagram": 2}


def test_a_mirror_that_holds_some_exports_stays_a_mirror(tmp_path: Path) -> None:
    """Exports of a fabric's own switches on their way through it do not hide the fabric's traffic."""
    file = open_input(save(tmp_path, pcap([(1, SFLOW_PACKET)] + [(2, TCP_PACKET)] * 50)), IngestLog(), None)
    assert isinstance(file, MirrorFile)
    assert sum(len(part.packets) for part in file.packets) == 51


def test_a_datagram_cut_by_the_snap_length_says_so(tmp_path: Path) -> None:
    """A capture may hold less of a datagram than was sent."""
    cut = pcap([(1, SFLOW_PACKET), (2, SFLOW_PACKET)], snap=100)
    batch = next(read_datagrams(save(tmp_path, cut), IngestLog()))
    assert batch.index["cut"].tolist() == [1, 1]
    assert np.all(batch.index["bytes"] == 100 - 42)
