"""Builds sFlow datagrams byte by byte, without the decoder's own tables, and feeds them to it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import ip_address

import numpy as np

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import SFLOW5, Datagrams
from capture.sflow.sflow_decoder import SflowDecoder
from capture.tables.address_book import AddressBook
from datamodel.frame import Frame, Schema, concat
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import FLOWS
from tests.capture.batches import arrived

AGENT = "10.255.0.1"
BEGIN_NS = 1_700_000_000 * 10**9
MS = 10**6
UNKNOWN32, UNKNOWN64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def words(*values: int) -> bytes:
    """32-bit integers."""
    return struct.pack(f"!{len(values)}I", *(value & 0xFFFFFFFF for value in values))


def address(text: str) -> bytes:
    """An address preceded by its type."""
    parsed = ip_address(text)
    return words(1 if parsed.version == 4 else 2) + parsed.packed


def counted(content: bytes) -> bytes:
    """Bytes after their count, padded to four."""
    return words(len(content)) + content + bytes(-len(content) % 4)


def datagram(
    *samples: bytes, agent: str = AGENT, sub_agent: int = 0, sequence: int = 1, uptime_ms: int = 1000,
    announced: int = -1,
) -> bytes:  # fmt: skip
    """A datagram that announces as many samples as it has, or `announced`."""
    count = len(samples) if announced < 0 else announced
    return words(5) + address(agent) + words(sub_agent, sequence, uptime_ms, count) + b"".join(samples)


def tagged(number: int, content: bytes, enterprise: int = 0) -> bytes:
    """A sample or structure: type, length, content, padding."""
    return words(enterprise << 12 | number, len(content)) + content + bytes(-len(content) % 4)


def flow(
    *structures: bytes, sequence: int = 1, source: int = 3, rate: int = 1000, pool: int = 0, drops: int = 0,
    in_if: int = 3, out_if: int = 7,
) -> bytes:  # fmt: skip
    """A flow sample."""
    fields = words(sequence, source, rate, pool, drops, in_if, out_if, len(structures))
    return tagged(1, fields + b"".join(structures))


def expanded(
    *structures: bytes, sequence: int = 1, source: tuple[int, int] = (0, 3), rate: int = 1000, pool: int = 0,
    in_if: tuple[int, int] = (0, 3), out_if: tuple[int, int] = (0, 7),
) -> bytes:  # fmt: skip
    """An expanded flow sample."""
    fields = words(sequence, *source, rate, pool, 0, *in_if, *out_if, len(structures))
    return tagged(3, fields + b"".join(structures))


def discard(*structures: bytes, reason: int, in_if: int = 3, out_if: int = 7) -> bytes:
    """A discarded packet."""
    return tagged(5, words(1, 0, in_if, 0, in_if, out_if, reason, len(structures)) + b"".join(structures))


DEVICE = 2 << 24 | 1  # the data source of a host: physical entity 1


def counters(*structures: bytes, source: int = 3) -> bytes:
    """A counter sample."""
    return tagged(2, words(1, source, len(structures)) + b"".join(structures))


def header(frame: bytes, protocol: int = 1, *, size: int = -1, snap: int = 128) -> bytes:
    """The structure of a sampled header; `size` is the frame's, with its checksum."""
    held = frame[:snap]
    return tagged(1, words(protocol, len(frame) + 4 if size < 0 else size, 4) + counted(held))


def interface(
    index: int, in_bytes: int = 0, out_bytes: int = 0, packets: tuple[int, int, int] = (1, 2, 3), speed: int = 10**10
) -> bytes:
    """Generic interface counters; both directions count the same packets."""
    inward = struct.pack("!IIQIIQ", index, 6, speed, 1, 3, in_bytes) + words(*packets, 4, 5, 6)
    return tagged(1, inward + struct.pack("!Q", out_bytes) + words(*packets, 7, 8, 0))


def host_cpu(busy: Sequence[int] = (1, 2, 3, 4, 5), idle_ms: int = 6, wait_ms: int = 7) -> bytes:
    """Processor times of a host: user, nice, system, interrupts, soft interrupts; idle; waiting for disks."""
    user, nice, system, interrupts, soft = busy
    before = struct.pack("!3f", 1.0, 2.0, 3.0) + words(5, 900, 64, 2400, 3600)
    return tagged(2003, before + words(user, nice, system, idle_ms, wait_ms, interrupts, soft, 8, 9))


def host_memory(total: int, free: int) -> bytes:
    """Memory of a host."""
    return tagged(2004, struct.pack("!7Q", total, free, 1, 2, 3, 4, 5) + words(1, 2, 3, 4))


def nvidia_gpu(
    *, count: int = 8, busy_ms: int = 1, total: int = 2, free: int = 1, ecc: int = 0, energy_mj: int = 5,
    temperature_c: int = 60, fan_percent: int = 30,
) -> bytes:  # fmt: skip
    """What NVML counts of a host's GPUs."""
    memory = struct.pack("!QQ", total, free)
    content = words(count, 3, busy_ms, 4) + memory + words(ecc, energy_mj, temperature_c, fan_percent)
    return tagged(1, content, enterprise=5703)


def batch(payloads: Sequence[bytes], times_ns: Sequence[int] | None = None, cut: bool = False) -> Datagrams:
    """Datagrams as they would arrive, a millisecond apart where no times are given."""
    received_ns = BEGIN_NS + np.arange(len(payloads)) * MS if times_ns is None else times_ns
    datagrams = arrived(payloads, received_ns, cut=cut)
    datagrams.index["protocol"] = SFLOW5  # whatever damage did to the version
    return datagrams


class Fed:
    """A decoder and all that came out of it."""

    def __init__(self, rates: SamplingRates | None = None) -> None:
        self.book = AddressBook()
        self.decoder = SflowDecoder(self.book, rates or SamplingRates())
        self._frames: list[Frame] = []
        self._counters: list[Frame] = []
        self._drops: list[Frame] = []

    def feed(self, *payloads: bytes, times_ns: Sequence[int] | None = None, cut: bool = False) -> Fed:
        """Decode datagrams."""
        return self.take(batch(payloads, times_ns, cut))

    def take(self, datagrams: Datagrams) -> Fed:
        """Decode a batch."""
        self._frames += self.decoder.feed(datagrams)
        self._counters += self.decoder.take_counters()
        self._drops += self.decoder.take_drops()
        return self

    def frame(self, schema: Schema = FLOWS) -> Frame:
        """All rows of a table."""
        found = {FLOWS.name: self._frames, COUNTERS.name: self._counters, DROPS.name: self._drops}[schema.name]
        return concat(schema, found)

    def rows(self, schema: Schema = FLOWS) -> list[dict[str, object]]:
        """All rows of a table as dicts, address codes as text."""
        frame, book = self.frame(schema), (*self.book.texts(), None)
        columns = {
            name: [book[code] for code in values.tolist()]
            if name in ("src_addr", "dst_addr", "sampler_address")
            else values.tolist()
            for name, values in frame.columns().items()
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def row(self, schema: Schema = FLOWS) -> dict[str, object]:
        """The only row of a table."""
        (row,) = self.rows(schema)
        return row

    def notes(self) -> ExporterStats:
        """The account of the only exporter."""
        (notes,) = self.decoder.exporters()
        return notes


def fed(*payloads: bytes, times_ns: Sequence[int] | None = None, cut: bool = False) -> Fed:
    """A decoder fed with datagrams."""
    return Fed().feed(*payloads, times_ns=times_ns, cut=cut)
