"""What the export datagrams in tests/data/collectors say, read by a plain walk that shares nothing with capture."""

import struct
from collections import Counter
from ipaddress import ip_address
from pathlib import Path

import dpkt

from datamodel.telemetry.flows import Flows

FOLDER = Path(__file__).parents[1] / "data" / "collectors"
Key = tuple[str, str, int, int]  # source, destination, ports


def payloads(name: str) -> list[bytes]:
    """UDP payloads of a capture."""
    with (FOLDER / f"{name}.pcap").open("rb") as file:
        return [bytes(dpkt.ethernet.Ethernet(frame).data.data.data) for _, frame in dpkt.pcap.Reader(file)]


def netflow5() -> dict[Key, tuple[int, int, int, int]]:
    """Records of NetFlow v5: bytes, packets, first and last packet in ms since 1970."""
    found: dict[Key, tuple[int, int, int, int]] = {}
    for payload in payloads("netflow5"):
        _, count, uptime_ms, seconds, nanoseconds = struct.unpack_from(">HHIII", payload)
        boot_ms = seconds * 1000 + nanoseconds // 10**6 - uptime_ms
        for i in range(count):
            fields = struct.unpack_from(">4s4s4sHHIIIIHH", payload, 24 + 48 * i)
            source, destination, _, _, _, packets, size, first, last, *ports = fields
            key = (str(ip_address(source)), str(ip_address(destination)), ports[0], ports[1])
            found[key] = (size, packets, boot_ms + first, boot_ms + last)
    return found


def sflow_sums() -> dict[Key, tuple[int, int]]:
    """Flow samples of sFlow v5 (compact form, raw headers): frame bytes and packets per flow, not scaled."""
    total: Counter[Key] = Counter()
    count: Counter[Key] = Counter()
    for payload in payloads("sflow"):
        at, samples = 28, struct.unpack_from(">I", payload, 24)[0]
        for _ in range(samples):
            kind, length = struct.unpack_from(">II", payload, at)
            if kind == 1:
                size, frame = raw_header(payload[at + 8 : at + 8 + length])
                packet = dpkt.ethernet.Ethernet(frame).data
                key = (str(ip_address(packet.src)), str(ip_address(packet.dst)), packet.data.sport, packet.data.dport)
                total[key] += size
                count[key] += 1
            at += 8 + length
    return {key: (total[key], count[key]) for key in total}


def raw_header(sample: bytes) -> tuple[int, bytes]:
    """Frame length and header bytes of a flow sample's raw packet header."""
    at, records = 32, struct.unpack_from(">I", sample, 28)[0]
    for _ in range(records):
        kind, length = struct.unpack_from(">II", sample, at)
        if kind == 1:
            _, size, _, held = struct.unpack_from(">IIII", sample, at + 8)
            return size, sample[at + 24 : at + 24 + held]
        at += 8 + length
    raise AssertionError("no raw packet header in this sample")


def sums(flows: Flows) -> dict[Key, tuple[int, int]]:
    """Bytes and packets per flow of records."""
    book, frame = flows.addresses, flows.frame
    total: Counter[Key] = Counter()
    count: Counter[Key] = Counter()
    names = ("src_addr", "dst_addr", "src_port", "dst_port", "bytes", "packets")
    for source, destination, sport, dport, size, packets in zip(*(frame[n].tolist() for n in names), strict=True):
        total[book[source], book[destination], sport, dport] += size
        count[book[source], book[destination], sport, dport] += packets
    return {key: (total[key], count[key]) for key in total}
