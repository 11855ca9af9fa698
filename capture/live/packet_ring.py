"""Mirrored packets from an interface of this machine, through a ring that Linux fills (AF_PACKET, TPACKET_V3)."""

from __future__ import annotations

import mmap
import select
import socket
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from capture.files.capture_file import BATCH_FRAMES
from capture.ingest_log import IngestLog
from capture.live.receive_errors import refusal
from capture.live.ring_block import (
    BROKEN,
    FIRST_AT,
    MARKS,
    MERGED,
    PACKETS_AT,
    STATUS_AT,
    TAGS_STRIPPED,
    USER_OWNS,
    give_back,
    index_block,
)
from capture.live.ring_socket import BLOCK_BYTES, check, counted, link_type, open_socket
from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET, Packets
from capture.tables.frame_index import INDEX

RING_BYTES = 64 << 20
SNAP_BYTES = 192  # holds a RETH behind Ethernet, IP, ERSPAN III and IPv6 inside it
_COUNT_EVERY_BLOCKS = 1 << 12  # the kernel counts in 32 bits; this is long before they are used up


@dataclass(frozen=True, slots=True)
class RingLosses:
    """What became of the frames that came in since the ring was opened.

    Attributes:
        received: frames put into the ring.
        dropped: frames lost because the ring was full.
        freezes: times it ran full.
    """

    received: int
    dropped: int
    freezes: int


class PacketRing:
    """Receives what comes in on one interface, until it is closed; a context manager.

    Memory is `ring_bytes`, whatever arrives: what does not fit is dropped by the kernel and counted. Several rings,
    each in a process of its own, share an interface where they name the same `fanout` group: both directions of a
    flow between two ports go to the same one.
    """

    def __init__(
        self, interface: str, ring_bytes: int = RING_BYTES, snap_bytes: int = SNAP_BYTES, fanout: int | None = None
    ) -> None:
        """Start receiving.

        Args:
            interface: its name; it must be up.
            ring_bytes: memory shared with the kernel; rounded down to whole blocks of 512 KiB, two at least.
            snap_bytes: how much of every frame is kept.
            fanout: the number of the group (0 to 65,535) this ring shares the interface with.

        Raises:
            InputError: not Linux, no such interface, interface down, a number out of its range, or CAP_NET_RAW is
                missing.
        """
        blocks = max(2, ring_bytes // BLOCK_BYTES)
        self.interface = interface
        self._socket = open_socket(interface, blocks, snap_bytes, fanout)
        try:
            self._link, self._number = link_type(self._socket), socket.if_nametoindex(interface)
            self._memory = mmap.mmap(self._socket.fileno(), blocks * BLOCK_BYTES)
        except OSError as error:
            self._socket.close()
            raise refusal(interface, error) from None
        self._ring = np.frombuffer(self._memory, np.uint8)
        self._heads = self._ring.view(np.uint32).reshape(blocks, BLOCK_BYTES // 4)
        self._poller = select.poll()
        self._poller.register(self._socket, select.POLLIN)
        self._block, self._block_end, self._at, self._left = 0, 0, 0, 0
        self._until_count = _COUNT_EVERY_BLOCKS
        self._index, self._batch = np.zeros(BATCH_FRAMES, INDEX), np.zeros(BATCH_FRAMES, PACKET)
        self._marks = np.zeros(MARKS, np.int64)
        self._losses = RingLosses(0, 0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop receiving and give the memory back; what came in last stays counted."""
        if self._socket.fileno() < 0:
            return
        self.losses()
        del self._ring, self._heads  # a mapping with views into it cannot be closed
        self._memory.close()
        self._socket.close()

    def poll(self, timeout_s: float) -> Packets | None:
        """The next packets, in the order they came; the next call overwrites them.

        Packets are handed over when a block of the ring is full or 50 ms after its first one.

        Args:
            timeout_s: how long to wait for some.

        Raises:
            InputError: the interface was removed. One that goes down and up again is only silent meanwhile.
        """
        if not self._block_ready():
            self._wait(timeout_s)
            if not self._block_ready():
                return None
        count, self._at, self._left = index_block(
            self._ring, self._at, self._block_end, self._left, self._link, self._number, self._index, self._marks
        )
        packets = self._batch[:count]
        decode(self._ring, self._index[:count], packets)
        if self._left == 0:
            self._release_block()
        return packets if count else None

    def losses(self) -> RingLosses:
        """Frames received, dropped and times the ring ran full, since it was opened."""
        if self._socket.fileno() >= 0:
            received, dropped, freezes = counted(self._socket)
            before = self._losses
            self._losses = RingLosses(before.received + received, before.dropped + dropped, before.freezes + freezes)
        return self._losses

    def account(self, ingest_log: IngestLog) -> None:
        """Report losses and doubtful packets since the ring was opened to `ingest_log`."""
        losses = self.losses()
        ingest_log.reject("dropped by the kernel (receive ring full)", losses.dropped)
        ingest_log.reject("malformed block of a receive ring", int(self._marks[BROKEN]))
        if self._marks[MERGED]:
            ingest_log.warn(
                f"{self.interface}: {self._marks[MERGED]} frames are TCP packets that receive offload merged, so that "
                f"there were more than are counted; switch it off: ethtool -K {self.interface} gro off lro off"
            )

    @property
    def stripped_tags(self) -> int:
        """Frames whose VLAN tag the interface or the kernel had removed; no column holds it."""
        return int(self._marks[TAGS_STRIPPED])

    def _block_ready(self) -> bool:
        """Whether the current block holds packets for us; takes it over where the kernel has just handed it over."""
        if self._left:
            return True
        head = self._heads[self._block]
        if not head[STATUS_AT // 4] & USER_OWNS:
            return False
        self._at = self._block * BLOCK_BYTES + int(head[FIRST_AT // 4])
        self._block_end = (self._block + 1) * BLOCK_BYTES
        self._left = int(head[PACKETS_AT // 4])
        if self._left == 0:
            self._release_block()
        return self._left > 0

    def _wait(self, timeout_s: float) -> None:
        for _, event in self._poller.poll(max(0, round(timeout_s * 1000))):
            if event & ~select.POLLIN:
                check(self._socket, self.interface)

    def _release_block(self) -> None:
        give_back(self._heads, self._block)
        self._block = (self._block + 1) % len(self._heads)
        self._until_count -= 1
        if self._until_count == 0:
            self._until_count = _COUNT_EVERY_BLOCKS
            self.losses()
