"""Rings to put datagrams into and take them out of again."""

from __future__ import annotations

import numpy as np

from capture.exporters.datagram import DATAGRAM, Datagrams
from capture.receive.ring import Ring, publish, put, written
from capture.receive.ring_header import HEADER_ROOM_BYTES, create
from capture.tables.read_buffer import as_array


def small_ring(room_bytes: int = 1 << 16) -> Ring:
    """A ring of a few pages."""
    size = HEADER_ROOM_BYTES + room_bytes
    return Ring(create(size), size)


def place(ring: Ring, payload: bytes, source_port: int = 7) -> bool:
    """Put one datagram in; False where there is no room."""
    row = np.zeros(1, DATAGRAM)
    row["source_port"] = source_port
    data = as_array(payload or b"\0")
    number = int(written(ring.shared))
    if not put(ring.header, ring.index, ring.data, number, data, 0, len(payload), row):
        return False
    publish(ring.shared, number + 1)
    return True


def payloads(batch: Datagrams) -> list[bytes]:
    """The payloads of a batch."""
    return [bytes(batch.data[row["offset"] : row["offset"] + row["bytes"]]) for row in batch.index]


def everything(ring: Ring, start: int = 0) -> list[bytes]:
    """All payloads from number `start` on that are still in the ring."""
    found: list[bytes] = []
    end = int(written(ring.shared))
    while start < end:
        batch = ring.batch(start, end, 1 << 20)
        found += payloads(batch)
        start += len(batch)
    return found
