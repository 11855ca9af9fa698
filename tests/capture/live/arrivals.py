"""What came: packet rows gathered from a source that is still receiving, and what they should have been."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

import numpy as np

from capture.files.decompression import read_blocks
from capture.files.pcap import MAGICS, Pcap
from capture.files.pcapng import Pcapng
from capture.ingest_log import IngestLog
from capture.mirror.mirror import Mirror
from capture.packets.packet_columns import PACKET, Packets
from capture.tables.frame_index import INDEX
from capture.tables.read_buffer import as_array
from datamodel.telemetry.flows import Flows
from tests.capture.frames import decoded, pcap

CAPTURES = Path(__file__).parents[2] / "data" / "capture"
NAMES = ("roce-write-and-ack.pcap", "tcp-burst-and-ack.pcap.gz", "erspan-leaf-and-spine.pcapng")
_DIFFERENT = ("time_ns", "interface", "payload_at")  # where and when a packet was seen, not what it is


class Source(Protocol):
    """What the tests need of a receiver."""

    def poll(self, timeout_s: float) -> Packets | None:
        """The next packets, or None after `timeout_s` without any."""


def gathered(source: Source, count: int, patience_s: float = 60.0) -> Packets:
    """The next `count` packets, and any that come with them; fewer where they do not come in time."""
    parts, until = [np.empty(0, PACKET)], time.monotonic() + patience_s
    while sum(map(len, parts)) < count and time.monotonic() < until:
        if (batch := source.poll(0.1)) is not None:
            parts.append(batch.copy())
    return np.concatenate(parts)


def frames_of(name: str) -> list[bytes]:
    """The frames of one of the captures in tests/data, as they stand in the file."""
    content = b"".join(read_blocks(CAPTURES / name, IngestLog()))
    container = Pcap() if content[:4] in MAGICS else Pcapng(IngestLog())
    index = np.zeros(1000, INDEX)
    count, _ = container.scan(as_array(content), 0, len(content), index)
    ends = zip(index["offset"][:count], index["captured_bytes"][:count], strict=True)
    return [content[at : at + length] for at, length in ends]


def rows_of(name: str) -> Packets:
    """The packet rows of one of the captures, read as a file."""
    return decoded(b"".join(read_blocks(CAPTURES / name, IngestLog())))


def rows_from(frames: list[bytes]) -> Packets:
    """The packet rows of whole frames, read as a file."""
    return decoded(pcap([(1, frame) for frame in frames]))


def seen_like(rows: Packets, expected: Packets) -> Packets:
    """`expected` at the times and places at which `rows` were seen."""
    out = expected.copy()
    for column in _DIFFERENT:
        out[column] = rows[column]
    return out


def flows_of(rows: Packets) -> Flows:
    """The flow records of packet rows."""
    mirror = Mirror()
    mirror.feed(rows)
    return mirror.flows()


def same_flows(left: Flows, right: Flows) -> bool:
    """Whether two sets of flow records are one and the same, column by column."""
    columns = left.frame.columns()
    other = right.frame.columns()
    return left.addresses == right.addresses and all(np.array_equal(columns[c], other[c]) for c in columns)
