"""Captures of export datagrams are told from mirrors, and their datagrams picked out of the packets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capture.datagram import NETFLOW5, SFLOW5
from capture.input_file import MirrorFile, opened, read_datagrams
from capture.ledger import Ledger
from tests.capture.export_bytes import flow_sample, netflow5, record5, sflow
from tests.capture.frames import ethernet, ip, pcap, save, tcp, udp

SFLOW = sflow((flow_sample(ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100)))),))
SFLOW_PACKET = ethernet(ip(17, udp(40000, 6343, SFLOW), "10.255.0.1", "10.9.9.9"))
NETFLOW_PACKET = ethernet(ip(17, udp(40000, 9996, netflow5((record5(),))), "10.255.0.2", "10.9.9.9"))
TCP_PACKET = ethernet(ip(6, tcp(1, 2, 3, 4, 16, 100)))


def test_datagrams_are_found_on_any_port(tmp_path: Path) -> None:
    """What a payload is built like decides, not the port; source and time come from the packet around it."""
    path = save(tmp_path, pcap([(7, SFLOW_PACKET), (8, NETFLOW_PACKET), (9, TCP_PACKET)]))
    batch = next(read_datagrams(path, Ledger()))
    assert batch.index["protocol"].tolist() == [SFLOW5, NETFLOW5]
    first = batch.index[0]
    assert batch.data[first["offset"] : first["offset"] + first["bytes"]].tobytes() == SFLOW
    assert (int(first["source_low"]) & 0xFFFFFFFF, int(first["source_port"])) == (0x0AFF0001, 40000)
    assert (int(first["destination_port"]), batch.index["time_ns"].tolist()) == (6343, [7, 8])


def test_packets_beside_them_are_counted(tmp_path: Path) -> None:
    """A capture at a collector holds other sessions too; they are told of, not taken for fabric traffic."""
    ledger = Ledger()
    path = save(tmp_path, pcap([(1, SFLOW_PACKET), (2, TCP_PACKET), (3, TCP_PACKET)]))
    assert sum(len(batch) for batch in read_datagrams(path, ledger)) == 1
    assert ledger.rejected == {"packet that carries no export datagram": 2}


def test_a_mirror_that_holds_some_exports_stays_a_mirror(tmp_path: Path) -> None:
    """Exports of a fabric's own switches on their way through it do not hide the fabric's traffic."""
    file = opened(save(tmp_path, pcap([(1, SFLOW_PACKET)] + [(2, TCP_PACKET)] * 50)), Ledger(), None)
    assert isinstance(file, MirrorFile)
    assert sum(len(part.packets) for part in file.packets) == 51


def test_a_datagram_cut_by_the_snap_length_says_so(tmp_path: Path) -> None:
    """A capture may hold less of a datagram than was sent."""
    cut = pcap([(1, SFLOW_PACKET), (2, SFLOW_PACKET)], snap=100)
    batch = next(read_datagrams(save(tmp_path, cut), Ledger()))
    assert batch.index["cut"].tolist() == [1, 1]
    assert np.all(batch.index["bytes"] == 100 - 42)
