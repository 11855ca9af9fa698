"""Capture files to packets: finds the container's frames and decodes them, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from capture.files.pcap import MAGICS, Pcap
from capture.files.pcapng import MAGIC, Pcapng
from capture.ingest_log import IngestLog
from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET, Packets
from capture.tables.frame_index import INDEX, Container, Index
from capture.tables.read_buffer import Bytes, ReadBuffer

BATCH_FRAMES = 2048  # packets of one batch stay in the processor's cache between decoding and following


def is_capture(head: bytes) -> bool:
    """Whether a file that begins with `head` is a pcap or pcapng file."""
    return head[:4] in MAGICS or head[:4] == MAGIC


@dataclass(frozen=True, slots=True)
class Batch:
    """Some packets of a capture, in the order of the file, and where in `data` the frame of each lies."""

    data: Bytes
    index: Index
    packets: Packets


def batches(blocks: Iterable[bytes], name: str, ingest_log: IngestLog) -> Iterator[Batch]:
    """The packets of a capture, in the order of the file; each batch overwrites the one before.

    Args:
        blocks: the file's decompressed content; `is_capture` of it holds.
        name: of the file, for warnings.
        ingest_log: receives damage and a truncated last packet.
    """
    window, index, batch = ReadBuffer(), np.zeros(BATCH_FRAMES, INDEX), np.zeros(BATCH_FRAMES, PACKET)
    container: Container | None = None
    for block in blocks:
        window.append(block)
        if container is None and window.end - window.start < 4:
            continue
        container = container or _container(bytes(window.data[window.start : window.start + 4]), ingest_log)
        count = len(index)
        while count == len(index) and not container.damage:
            count, window.start = container.scan(window.data, window.start, window.end, index)
            decode(window.data, index[:count], batch[:count])
            yield Batch(window.data, index[:count], batch[:count])
        if container.damage:
            ingest_log.warn(f"{name}: {container.damage}; what follows it was not read")
            return
    if window.start < window.end:
        ingest_log.warn(f"{name}: ends inside a packet (truncated file); all packets before it were read")


def _container(magic: bytes, ingest_log: IngestLog) -> Container:
    return Pcap() if magic in MAGICS else Pcapng(ingest_log)
