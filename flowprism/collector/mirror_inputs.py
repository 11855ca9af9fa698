"""The three ways in which mirrored packets come, as one: packets, what was lost of them, and whether more can come."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from capture.files.capture_file import BATCH_FRAMES
from capture.ingest_log import IngestLog
from capture.live.erspan import ErspanSessions
from capture.live.packet_ring import PacketRing
from capture.live.pcap_stream import pcap_stream
from capture.packets.packet_columns import Packets
from flowprism.collector.sources import MirrorKind

_IDLE_S = 0.05  # how often a stream without bytes lets us look at the clock
_MOST_SESSIONS_REPORTED = 1000


class MirrorInput(Protocol):
    """What a mirror's process needs of its source.

    Attributes:
        ended: nothing more can come.
    """

    ended: bool

    def poll(self, timeout_s: float) -> Packets | None:
        """The next packets, None where there are none for so long; the next call overwrites them."""

    def account(self, ingest_log: IngestLog) -> None:
        """Report losses and doubts since the source was opened."""

    def losses(self) -> tuple[int, int]:
        """Packets that the kernel had no room for, and packets lost on their way to this machine."""

    def details(self) -> dict[str, Any]:
        """Return further statistics of it, JSON-able."""


class RingInput:
    """An interface of this machine."""

    def __init__(self, interface: str) -> None:
        """Start receiving; InputError where that cannot be."""
        self.ended = False
        self._ring = PacketRing(interface)
        self.poll, self.account = self._ring.poll, self._ring.account

    def losses(self) -> tuple[int, int]:
        """Packets dropped by the kernel; what was lost before is not known."""
        return self._ring.losses().dropped, 0

    def details(self) -> dict[str, Any]:
        """How often the ring ran full, and frames whose VLAN tag is gone."""
        return {"freezes": self._ring.losses().freezes, "stripped_tags": self._ring.stripped_tags}


class ErspanInput:
    """ERSPAN sessions that end at an address of this machine."""

    def __init__(self, address: str, allow: Sequence[str]) -> None:
        """Start receiving; InputError where that cannot be."""
        self.ended = False
        self._sessions = ErspanSessions(address, allow)
        self.poll, self.account = self._sessions.poll, self._sessions.account

    def losses(self) -> tuple[int, int]:
        """Packets dropped by the kernel, and packets missing by the sessions' sequence numbers."""
        lost = sum(session.lost + session.missing for session in self._sessions.sessions())
        return self._sessions.losses().dropped, lost

    def details(self) -> dict[str, Any]:
        """The account of each session, and how many packets came from sources that are not allowed."""
        sessions = [asdict(session) for session in self._sessions.sessions()[:_MOST_SESSIONS_REPORTED]]
        return {"sessions": sessions, "refused": self._sessions.losses().refused}


class StreamInput:
    """A pcap or pcapng stream."""

    def __init__(self, descriptor: int) -> None:
        """Begin to read an open file; where it is no such stream, a later `poll` is an InputError."""
        self.ended = False
        self._ledger = IngestLog()
        self._file = os.fdopen(descriptor, "rb", buffering=0)
        self._batches = pcap_stream(self._file, self._ledger, idle_s=_IDLE_S)
        self._more = False  # packets that were read already and not handed over

    def poll(self, timeout_s: float) -> Packets | None:
        """The next packets; None where there are none for so long, or ever again."""
        # A stream that stands between two packets gives no empty batch, whatever its `idle_s`: it is asked only where
        # it has something to give.
        if not self._more and not select.select([self._file], [], [], timeout_s)[0]:
            return None
        batch = next(self._batches, None)
        self.ended = batch is None
        self._more = batch is not None and len(batch) == BATCH_FRAMES
        return batch

    def account(self, ingest_log: IngestLog) -> None:
        """Report damage."""
        for reason, count in self._ledger.rejected.items():
            ingest_log.reject(reason, count)
        for warning in self._ledger.warnings:
            ingest_log.warn(warning)

    def losses(self) -> tuple[int, int]:
        """Only the writer of the stream knows."""
        return 0, 0

    def details(self) -> dict[str, Any]:
        """Whether the stream is over."""
        return {"ended": self.ended}


def open_input(kind: MirrorKind, name: str, descriptor: int, allow: Sequence[str]) -> MirrorInput:
    """Start receiving.

    Args:
        kind: how packets come.
        name: the interface or address.
        descriptor: of the open stream, where it is one.
        allow: networks from which ERSPAN sessions may come; empty for all.

    Raises:
        InputError: there is no such interface or address, or receiving from it is not permitted.
    """
    if kind is MirrorKind.STREAM:
        return StreamInput(descriptor)
    return RingInput(name) if kind is MirrorKind.INTERFACE else ErspanInput(name, allow)
