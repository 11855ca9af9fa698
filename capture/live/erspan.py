"""ERSPAN sessions that end at an address of this machine: mirrored packets from a raw socket of GRE (Linux raw(7))."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import numpy as np

from capture.ingest_log import IngestLog
from capture.live.admission import admit
from capture.live.message_batch import MessageBatch
from capture.live.receive_errors import refusal, require_linux
from capture.live.session_sequence import NOT_FOLLOWED, no_sessions, note_sequences
from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET, Packets
from capture.receive.sockets import TIME_STAMPS, backlog, buffer_bytes_of
from capture.receive.source_filter import networks
from capture.tables.addresses import from_words
from capture.tables.frame_index import Index
from datamodel.errors import InputError

BUFFER_BYTES = 64 << 20
SNAP_BYTES = 192
_OUTER_BYTES = 104  # IP header with all options, GRE with all fields, ERSPAN III with its subheader
_GRE = 47
_RAW_LINK = 101  # LINKTYPE_RAW: a raw socket delivers the IP header too
_FORCE_BUFFER = 33  # SO_RCVBUFFORCE


@dataclass(frozen=True, slots=True)
class SessionLosses:
    """What became of the packets of one numbered session (ERSPAN II or III), by their GRE sequence numbers.

    Attributes:
        source: address the session comes from.
        session: its number.
        received: packets that came, each once.
        lost: packets that never came.
        missing: packets that have not come yet; lost if 1,024 later ones come without them.
        late: packets that came after later ones.
        repeated: packets that came again.
        stray: packets whose number fits nothing.
        restarts: times the source restarted its count.
    """

    source: str
    session: int
    received: int
    lost: int
    missing: int
    late: int
    repeated: int
    stray: int
    restarts: int


@dataclass(frozen=True, slots=True)
class SocketLosses:
    """What became of the packets that reached this machine.

    Attributes:
        received: packets taken from the socket.
        refused: those of them that came from sources that are not allowed.
        dropped: packets lost because its buffer was full.
    """

    received: int
    refused: int
    dropped: int


class ErspanSessions:
    """Ends every ERSPAN session (types I, II and III) that is sent to one local address; a context manager.

    As a socket owns the address's GRE packets, the kernel does not answer them with `protocol unreachable`.
    """

    def __init__(
        self, address: str, allow: Iterable[str] = (), buffer_bytes: int = BUFFER_BYTES, snap_bytes: int = SNAP_BYTES
    ) -> None:
        """Start receiving.

        Args:
            address: a local IPv4 address, the destination that the switches were given.
            allow: networks from which sessions are accepted; with none, from all.
            buffer_bytes: of the socket. Without CAP_NET_ADMIN the kernel's limit (net.core.rmem_max) is what counts.
            snap_bytes: how much of every mirrored frame is kept.

        Raises:
            InputError: not Linux, no local IPv4 address, no network, or CAP_NET_RAW is missing.
        """
        require_linux(address)
        self.address, self._allowed = address, networks(allow)
        self._socket = _open(address, buffer_bytes)
        self._poller = select.poll()
        self._poller.register(self._socket, select.POLLIN)
        self._messages = MessageBatch(_OUTER_BYTES + snap_bytes)
        self._batch = np.zeros(len(self._messages.index), PACKET)
        self._sessions, self._totals = no_sessions()
        self._received = self._refused = self._dropped = 0
        self._buffer_shortfall = max(0, buffer_bytes - buffer_bytes_of(self._socket))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop receiving; what was lost until now stays counted."""
        if self._socket.fileno() >= 0:
            self.losses()
            self._socket.close()

    def poll(self, timeout_s: float) -> Packets | None:
        """The next mirrored packets, in the order they came; the next call overwrites them.

        Args:
            timeout_s: how long to wait for some.
        """
        count = self._messages.receive(self._socket, _RAW_LINK)
        if count == 0:
            self._poller.poll(max(0, round(timeout_s * 1000)))
            count = self._messages.receive(self._socket, _RAW_LINK)
        if count == 0:
            return None
        self._received += count
        index = self._let_in(self._messages.index[:count])
        packets = self._batch[: len(index)]
        note_sequences(self._messages.data, index, self._sessions, self._totals)
        decode(self._messages.data, index, packets)
        return packets

    def _let_in(self, index: Index) -> Index:
        """The rows of packets from allowed sources."""
        if not len(self._allowed):
            return index
        admitted = admit(self._messages.data, index, self._allowed)
        self._refused += len(index) - admitted
        return index[:admitted]

    def losses(self) -> SocketLosses:
        """Packets received, refused, and dropped for want of buffer, since the socket was opened."""
        if self._socket.fileno() >= 0:
            _, dropped = backlog(self._socket)
            self._dropped += (dropped - self._dropped) & 0xFFFFFFFF  # the kernel counts in 32 bits
        return SocketLosses(self._received, self._refused, self._dropped)

    def sessions(self) -> tuple[SessionLosses, ...]:
        """The numbered sessions seen, by source and number."""
        rows = self._sessions[self._sessions["used"] != 0]
        counts = ("session", "received", "lost", "missing", "late", "repeated", "stray", "restarts")
        listed = [
            SessionLosses(from_words(int(row["source_high"]), int(row["source_low"])), *(int(row[c]) for c in counts))
            for row in rows
        ]
        return tuple(sorted(listed, key=lambda each: (each.source, each.session)))

    def account(self, ingest_log: IngestLog) -> None:
        """Report losses since the socket was opened, and where, to `ingest_log`."""
        ingest_log.reject("dropped by the kernel (socket buffer full)", self.losses().dropped)
        ingest_log.reject("GRE packet of a source that is not allowed", self._refused)
        sessions = self.sessions()
        ingest_log.reject("lost between an ERSPAN source and here", sum(each.lost + each.missing for each in sessions))
        ingest_log.reject("ERSPAN packet whose sequence number fits nothing", sum(each.stray for each in sessions))
        if self._totals[NOT_FOLLOWED]:
            ingest_log.warn(
                f"{self.address}: {self._totals[NOT_FOLLOWED]} packets of too many ERSPAN sessions to follow"
            )
        if self._buffer_shortfall:
            ingest_log.warn(
                f"{self.address}: the socket's buffer is {self._buffer_shortfall} bytes smaller than asked for; "
                f"raise net.core.rmem_max or grant CAP_NET_ADMIN"
            )


def _open(address: str, buffer_bytes: int) -> socket.socket:
    try:
        if ip_address(address).version != 4 or ip_address(address).is_unspecified:
            raise InputError(f"{address}: ERSPAN sessions end at one local IPv4 address; this is none")
    except ValueError:
        raise InputError(f"{address}: not an IP address") from None
    with ExitStack() as undo:
        try:
            sock = undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_RAW, _GRE))
            sock.setsockopt(socket.SOL_SOCKET, TIME_STAMPS, 1)
            _enlarge(sock, buffer_bytes)
            sock.bind((address, 0))
        except OSError as error:
            raise refusal(address, error) from None
        undo.pop_all()
    return sock


def _enlarge(sock: socket.socket, buffer_bytes: int) -> None:
    try:
        sock.setsockopt(socket.SOL_SOCKET, _FORCE_BUFFER, buffer_bytes)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
