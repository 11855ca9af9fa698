"""Mirrored packets from a pipe: a pcap or pcapng stream that another program writes while we read it."""

from __future__ import annotations

import select
from collections.abc import Iterator
from itertools import chain
from typing import IO

import numpy as np

from capture.files.capture_file import batches, is_capture
from capture.ingest_log import IngestLog
from capture.packets.packet_columns import PACKET, Packets
from datamodel.errors import InputError

_READ_BYTES = 1 << 16  # what a pipe holds


def pcap_stream(
    file: IO[bytes], ingest_log: IngestLog, name: str = "standard input", idle_s: float | None = None
) -> Iterator[Packets]:
    """The packets of a stream as they come, in batches, some of them empty; each batch overwrites the one before.

    A packet is handed over as soon as the writer has flushed it, however few there are.

    Args:
        file: a pipe, a socket or a file, at its start.
        ingest_log: receives damage and an end inside a packet.
        name: of the stream, for messages.
        idle_s: after so long without bytes an empty batch is yielded, so that the caller can check the clock; None:
            wait for as long as it takes.

    Raises:
        InputError: what comes is no pcap or pcapng stream.
    """
    blocks = _arriving(file, idle_s)
    head = b""
    for block in blocks:
        head += block
        if len(head) >= 4:
            break
        yield np.empty(0, PACKET)
    if not head:
        raise InputError(f"{name}: ended before anything came")
    if not is_capture(head):
        raise InputError(f"{name}: neither a pcap nor a pcapng stream")
    for batch in batches(chain([head], blocks), name, ingest_log):
        yield batch.packets


def _arriving(file: IO[bytes], idle_s: float | None) -> Iterator[bytes]:
    """What `file` delivers, piece by piece, up to its end; an empty piece whenever nothing came for `idle_s`."""
    read = getattr(file, "read1", file.read)  # a buffered file's `read` would wait until it has all it was asked for
    while True:
        if idle_s is not None and not select.select([file], [], [], idle_s)[0]:
            yield b""
        elif piece := read(_READ_BYTES):
            yield piece
        else:
            return
