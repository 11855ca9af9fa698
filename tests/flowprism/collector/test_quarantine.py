"""Datagrams that are set aside can be read again, by us and by others."""

from __future__ import annotations

from pathlib import Path

import dpkt
import pytest

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from flowprism.collector import quarantine
from flowprism.collector.quarantine import quarantine_packet, udp_packet

NETFLOW5 = b"\0\5\0\1" + bytes(20 + 48)


def test_our_own_reader_reads_it(tmp_path: Path) -> None:
    """The file is a capture of one export datagram, with its source, ports and time."""
    name = quarantine_packet(
        tmp_path, "a-w0-7.pcap", udp_packet("192.0.2.9", 40000, 2055, NETFLOW5), 1_700_000_000_123_456_789
    )
    (batch,) = (part for part in read_datagrams(tmp_path / "quarantine" / name, IngestLog()) if len(part))
    (row,) = batch.index
    assert bytes(batch.data[row["offset"] : row["offset"] + row["bytes"]]) == NETFLOW5
    assert row["source_low"] == 0xFFFF00000000 | 0xC0000209
    assert (row["source_port"], row["destination_port"], row["time_ns"]) == (40000, 2055, 1_700_000_000_123_456_789)


@pytest.mark.parametrize("payload", [b"", b"odd", NETFLOW5, bytes(65_507)])
def test_others_read_it(payload: bytes) -> None:
    """Lengths and checksums are right, in both families."""
    four, six = (
        dpkt.ip.IP(udp_packet("192.0.2.9", 1, 2, payload)),
        dpkt.ip6.IP6(udp_packet("2001:db8::9", 1, 2, payload)),
    )
    for packet in (four, six):
        assert (packet.data.sport, packet.data.dport, bytes(packet.data.data)) == (1, 2, payload)
    assert four.sum == dpkt.in_cksum(bytes(four)[:10] + b"\0\0" + bytes(four)[12:20])
    pseudo = six.src + six.dst + len(six.data).to_bytes(4, "big") + (17).to_bytes(4, "big")
    assert dpkt.in_cksum(pseudo + bytes(six.data)) == 0


def test_a_flood_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit nothing is kept; a file that is there already is replaced, not counted again."""
    monkeypatch.setattr(quarantine, "MOST_FILES", 2)
    packet = udp_packet("192.0.2.9", 1, 2, b"x")
    names = [quarantine_packet(tmp_path, name, packet, 0) for name in ("a.pcap", "b.pcap", "c.pcap", "b.pcap")]
    assert names == ["a.pcap", "b.pcap", "", "b.pcap"]
