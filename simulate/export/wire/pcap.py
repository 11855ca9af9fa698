"""Datagrams as a capture at the collector: Ethernet, IPv4 and UDP around each, in a pcap file with nanoseconds."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9, SFLOW5, Datagrams
from capture.sflow.sflow_layout import LINK_ETHERNET
from datamodel.telemetry.flows import UDP
from simulate.export.batching import placed
from simulate.export.wire.packet_headers import ETHERNET_BYTES, Rows, internet_checksum
from simulate.network.fabric import EPHEMERAL_PORT

COLLECTOR = 0x0AFD0001  # 10.253.0.1
PORTS = {SFLOW5: 6343, IPFIX: 4739, NETFLOW9: 2055, NETFLOW5: 2055}
_MAGIC, _VERSION, _LONGEST_FRAME = 0xA1B23C4D, (2, 4), 65_535
_RECORD = np.dtype([(n, "<u4") for n in ("seconds", "nanoseconds", "captured", "sent")])
_FRAME = np.dtype(
    [
        ("mac", "u1", (12,)),
        ("ethertype", ">u2"),
        ("version", ">u2"),
        ("ip_bytes", ">u2"),
        ("id", ">u2"),
        ("flags", ">u2"),
        ("life", ">u2"),
        ("ip_checksum", ">u2"),
        ("src", ">u4"),
        ("dst", ">u4"),
        ("src_port", ">u2"),
        ("dst_port", ">u2"),
        ("udp_bytes", ">u2"),
        ("udp_checksum", ">u2"),
    ]
)
_SECOND = 10**9


def pcap_bytes(datagrams: Datagrams) -> bytes:
    """A pcap file of the datagrams, in their order."""
    index = datagrams.index
    size = index["bytes"].astype(np.int64)
    heads = _heads(datagrams)
    width = heads.shape[1]
    start = np.cumsum(size + width) - size - width
    payload = _payload_rows(datagrams)
    parts = [(heads, np.full(len(index), width), start), (payload, size, start + width)]
    header = struct.pack("<IHHiIII", _MAGIC, *_VERSION, 0, 0, _LONGEST_FRAME, LINK_ETHERNET)
    return header + placed(parts, int((size + width).sum())).tobytes()


def write_pcap(path: Path, datagrams: Datagrams) -> None:
    """Write them to a pcap file compressed with gzip; equal datagrams give equal bytes.

    Raises:
        OSError: it cannot be written.
    """
    path.write_bytes(gzip.compress(pcap_bytes(datagrams), compresslevel=3, mtime=0))


def _payload_rows(datagrams: Datagrams) -> Rows:
    """(n, longest) payloads, what stands behind a shorter one of no meaning."""
    index = datagrams.index
    if not len(index):
        return np.zeros((0, 0), np.uint8)
    longest = int(index["bytes"].max())
    data = np.concatenate([datagrams.data, np.zeros(longest, np.uint8)])
    rows: Rows = np.lib.stride_tricks.sliding_window_view(data, longest)[index["offset"]]
    return rows


def _heads(datagrams: Datagrams) -> Rows:
    """Record, Ethernet, IPv4 and UDP headers."""
    index = datagrams.index
    size = index["bytes"].astype(np.int64)
    record, frame = np.zeros(len(index), _RECORD), np.zeros(len(index), _FRAME)
    record["seconds"], record["nanoseconds"] = np.divmod(index["time_ns"], _SECOND)
    record["captured"] = record["sent"] = size + _FRAME.itemsize
    frame["mac"][:, [0, 6]] = 2
    frame["mac"][:, 7:12] = _bytes_of(index["source_low"] & 0xFFFFFFFF)
    frame["ethertype"], frame["version"], frame["flags"], frame["life"] = 0x0800, 0x4500, 0x4000, 64 << 8 | UDP
    frame["ip_bytes"], frame["udp_bytes"] = size + _FRAME.itemsize - ETHERNET_BYTES, size + 8
    frame["src"], frame["dst"] = index["source_low"] & 0xFFFFFFFF, COLLECTOR
    frame["src_port"], frame["dst_port"] = index["source_port"], index["destination_port"]
    rows = frame.view(np.uint8).reshape(len(frame), _FRAME.itemsize)
    frame["ip_checksum"] = internet_checksum(rows[:, ETHERNET_BYTES : ETHERNET_BYTES + 20])
    return np.concatenate([record.view(np.uint8).reshape(len(record), _RECORD.itemsize), rows], axis=1)


def _bytes_of(address: np.ndarray) -> Rows:
    """(n, 5) an address' bytes behind a zero."""
    return np.stack([(address >> shift & 0xFF).astype(np.uint8) for shift in (32, 24, 16, 8, 0)], axis=1)


def source_port(switch: np.ndarray) -> np.ndarray:
    """UDP port that each switch sends from."""
    return EPHEMERAL_PORT + switch
